"""JSON and TOML of other programs, decoded strictly and in the spelling that digests depend on."""

import json
import re
import tomllib
from collections.abc import Iterator
from math import isinf
from typing import Any, NoReturn

import orjson

from interchange.reading import Place
from models.base import ReasonCode
from resolvers.canonical import spelled

# The records of other programs have any shape; readers check each field that they use.
Object = dict[str, Any]

_SURROGATE = re.compile("[\ud800-\udfff]")
# Reading a dotted key takes the square of its length: one of 20,000 parts a minute.
_DEEP_KEY = re.compile(r"""(?:\.[ \t]*(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*){100}""")
_SPACE = re.compile(r"[ \t\n\r]*")


class Undecodable(ValueError):
    """Not a sound document; the message says why without showing what it holds."""

    # Where in the text of a list.
    at = 0


def _unique(pairs: list[tuple[str, Any]]) -> Object:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Undecodable("has an object with a key twice")
    return found


class _Spelled(float):
    """A float that Python prints with an exponent; faster encoders would spell it otherwise, but refuse a subclass."""


def _finite(digits: str) -> float:
    number = float(digits)
    if 1e-4 <= abs(number) < 1e16 or number == 0:
        return number
    if isinf(number):
        raise Undecodable("has a number beyond every finite one")
    return _Spelled(number)


def _constant(_: str) -> NoReturn:
    raise Undecodable("has NaN or Infinity")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_float=_finite, parse_constant=_constant)


def load_json(data: bytes) -> Any:
    text = _text(data)
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        raise _undecodable(error) from error


def load_object(data: bytes) -> Object:
    value = load_json(data)
    if not isinstance(value, dict):
        raise Undecodable("must be one JSON object")
    return value


def object_at(place: Place, data: bytes) -> Object:
    try:
        return load_object(data)
    except Undecodable as error:
        raise place.fault(ReasonCode.INVALID_JSON, str(error)) from error


def iterate_list(data: bytes) -> Iterator[Any]:
    """The elements of a JSON list one by one, so that a long one never stands in memory as objects."""
    text = _text(data)
    del data
    yield from (value for _, value in iterate_placed(text))


def iterate_placed(text: str) -> Iterator[tuple[int, Any]]:
    """The elements of a JSON list, each with the place where its text begins."""
    try:
        yield from _elements(text)
    except (ValueError, RecursionError) as error:
        raise _undecodable(error) from error


def load_toml(data: bytes) -> Object:
    text = _text(data)
    if _DEEP_KEY.search(text):
        raise Undecodable("has a key of too many parts")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise Undecodable("is not sound TOML") from error


def canonical(value: Any) -> str:
    """Keys sorted, no spaces, numbers as Python prints them; lone surrogates stay."""
    try:
        return spelled(value)
    except RecursionError as error:
        raise Undecodable("is nested too deeply") from error


def canonical_decoded(value: Any) -> str:
    """The same text for what this module decoded, several times as fast."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError:
        # A float with an exponent, an integer beyond 64 bits, a lone surrogate, or deep nesting.
        return canonical(value)


def storable(text: str) -> str:
    """JSON text with lone surrogates escaped, as UTF-8 cannot hold them."""
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise Undecodable("is not UTF-8") from error


def _undecodable(error: Exception) -> Undecodable:
    if isinstance(error, Undecodable):
        return error
    if isinstance(error, json.JSONDecodeError):
        fault = Undecodable(f"is not JSON at line {error.lineno}, column {error.colno}")
        fault.at = error.pos
        return fault
    if isinstance(error, RecursionError):
        return Undecodable("is nested too deeply")
    return Undecodable("has a number with too many digits")


def _elements(text: str) -> Iterator[tuple[int, Any]]:
    at = _past_space(text, 0)
    if text[at : at + 1] != "[":
        raise Undecodable("must be one JSON list")
    at = _past_space(text, at + 1)
    if text[at : at + 1] == "]":
        _require_end(text, at + 1)
        return
    while True:
        begin = at
        try:
            value, at = _DECODER.raw_decode(text, begin)
        except (ValueError, RecursionError) as error:
            fault = _undecodable(error)
            fault.at = fault.at or begin
            raise fault from error
        yield begin, value
        at = _past_space(text, at)
        separator = text[at : at + 1]
        at = _past_space(text, at + 1)
        if separator == "]":
            return _require_end(text, at)
        if separator != ",":
            raise json.JSONDecodeError("Expecting ',' delimiter", text, at)


def _past_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _require_end(text: str, at: int) -> None:
    if _past_space(text, at) != len(text):
        raise json.JSONDecodeError("Extra data", text, at)
