"""How values become JSON within Postgres."""

import base64
import binascii
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from graphql import GraphQLList, GraphQLNonNull, GraphQLOutputType, get_named_type
from sqlalchemy import JSON, ColumnElement, Double, Float, Integer, Numeric, Text, cast, func, literal
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from engine.errors import InvalidArgument

Encoder = Callable[[ColumnElement[Any]], ColumnElement[Any]]
Member = tuple[str, ColumnElement[Any]]

PAIRS_OF_A_CALL = 50
CHARACTERS_OF_A_LINE = 57
"""As many bytes become 76 characters of base64, where Postgres breaks the line."""


class json_object(FunctionElement[Any]):
    """A JSON object with these members, in their order."""

    type = JSON()
    inherit_cache = False

    def __init__(self, members: Iterable[Member]) -> None:
        super().__init__(*(part for key, value in members for part in (constant(key), value)))


@compiles(json_object)
def _json_object(element: json_object, compiler: SQLCompiler, **options: Any) -> str:
    parts = [compiler.process(clause, **options) for clause in element.clauses]
    if len(parts) <= 2 * PAIRS_OF_A_CALL:
        return f"json_build_object({', '.join(parts)})"
    # A function takes at most a hundred arguments; the standard's constructor is no function.
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return f"JSON_OBJECT({', '.join(f'{key} VALUE {value}' for key, value in pairs)} RETURNING json)"


def constant(text: str) -> ColumnElement[str]:
    """Text that belongs to the statement itself, not to its parameters."""
    return literal(text, Text(), literal_execute=True)


def empty_list() -> ColumnElement[Any]:
    return cast(constant("[]"), JSON())


def instant(value: ColumnElement[Any]) -> ColumnElement[Any]:
    """RFC 3339 in UTC, with microseconds where there are any: what datetime.isoformat() writes, with a Z."""
    written = func.to_char(func.timezone(constant("UTC"), value), constant('YYYY-MM-DD"T"HH24:MI:SS.US'))
    return func.replace(written, constant(".000000"), constant("")).op("||")(constant("Z"))


def number(value: ColumnElement[Any]) -> ColumnElement[Any]:
    is_exact = isinstance(value.type, Numeric) and not isinstance(value.type, Float)
    return cast(value, Double()) if is_exact else value


def document(value: ColumnElement[Any]) -> ColumnElement[Any]:
    """JSON as it was stored. `json` keeps the text it was given, so numbers and escapes are not respelled."""
    return value if isinstance(value.type, JSON) else cast(value, JSON())


def as_text(value: ColumnElement[Any]) -> ColumnElement[Any]:
    return cast(value, Text())


ENCODERS: Mapping[str, Encoder] = {
    "DateTime": instant,
    "Decimal": as_text,
    "Float": number,
    "ID": as_text,
    "JSON": document,
}


def leaf(type_: GraphQLOutputType, value: ColumnElement[Any]) -> ColumnElement[Any]:
    """The value as JSON. Arrays go out as they are."""
    nullable = type_.of_type if isinstance(type_, GraphQLNonNull) else type_
    if isinstance(nullable, GraphQLList):
        return value
    encoder = ENCODERS.get(get_named_type(type_).name)
    return encoder(value) if encoder else value


def encoded(text: ColumnElement[Any], *, short: bool = False) -> ColumnElement[Any]:
    """Base64 in one line."""
    written = func.encode(func.convert_to(text, constant("UTF8")), constant("base64"))
    return written if short else func.replace(written, constant("\n"), constant(""))


def decoded(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):
        raise ValueError("not base64 of text") from None


def global_id(type_name: str, key: ColumnElement[Any]) -> ColumnElement[Any]:
    longest_number = len("-9223372036854775808")
    short = isinstance(key.type, Integer) and len(type_name) + 1 + longest_number <= CHARACTERS_OF_A_LINE
    return encoded(constant(f"{type_name}:").op("||")(as_text(key)), short=short)


def read_global_id(id_: str, path: tuple[str | int, ...]) -> tuple[str, str]:
    """The type's name and the key of an id that this server made."""
    try:
        type_name, separator, key = decoded(id_).partition(":")
    except ValueError:
        separator = ""
    if not separator:
        raise InvalidArgument("this is not an id that this server gave out", path)
    return type_name, key


def write_global_id(type_name: str, key: int | str) -> str:
    return base64.b64encode(f"{type_name}:{key}".encode()).decode()
