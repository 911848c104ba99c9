"""Structured answers: what is asked for, and whether an answer is that."""

import json
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, PlainValidator, ValidationError, WithJsonSchema, create_model
from pydantic import Field as Declared

from models.base import FieldType
from resolvers.values import WANTED, fits, is_storable
from runs.calls import Field

FENCE = "```"
MOST_WORDS = 200

SCHEMAS: dict[FieldType, dict[str, Any]] = {
    FieldType.STRING: {"type": "string"},
    FieldType.NUMBER: {"type": "number"},
    FieldType.BOOLEAN: {"type": "boolean"},
    # Not every provider knows the format.
    FieldType.DATE: {"type": "string", "format": "date", "description": "YYYY-MM-DD"},
    FieldType.LIST: {"type": "array", "items": {}},
    FieldType.OBJECT: {"type": "object", "additionalProperties": True},
}


class Misfit(Exception):
    """An answer that is not what was asked for. The reason is for users."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def wanted_fields(fields: Sequence[Field]) -> type[BaseModel]:
    """Every field may be left out or null; there are no others."""
    # Names of fields are anyone's words: as attributes they could hide the model's own.
    declared: dict[str, Any] = {f"field_{place}": _declared(field) for place, field in enumerate(fields)}
    return create_model("Fields", __config__=ConfigDict(extra="forbid"), **declared)


def _declared(field: Field) -> tuple[Any, Any]:
    def checked(value: Any) -> Any:
        if not fits(value, field.type):
            raise ValueError(f"takes {WANTED[field.type]} or null")
        if not is_storable(value):
            raise ValueError("cannot hold NUL, half of a surrogate pair, infinity, or so many levels")
        return value

    schema = {"anyOf": [SCHEMAS[field.type], {"type": "null"}]}
    type_ = Annotated[Any, PlainValidator(checked), WithJsonSchema(schema)]
    return type_, Declared(None, alias=field.name, description=field.description, json_schema_extra=_without_default)


def _without_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)
    schema.pop("title", None)


def read(text: str, wanted: type[BaseModel]) -> dict[str, Any]:
    """The values that an answer gives; those that it leaves out are left out. Raises Misfit.

    An answer is JSON, or one fenced block of JSON; words around it are a fault.
    """
    values = _parsed(_unfenced(text))
    if not isinstance(values, dict):
        raise Misfit("The answer is no JSON object.")
    try:
        found = wanted.model_validate(values, strict=True)
    except ValidationError as error:
        raise Misfit(_reason(error)) from None
    return found.model_dump(by_alias=True, exclude_unset=True)


def _unfenced(text: str) -> str:
    stripped = text.strip()
    if not stripped.startswith(FENCE):
        return stripped
    opening, _, rest = stripped.partition("\n")
    if opening.strip().lower() not in (FENCE, f"{FENCE}json") or not rest.endswith(FENCE):
        raise Misfit("The answer is no single block of JSON.")
    return rest.removesuffix(FENCE)


def _parsed(text: str) -> Any:
    if not text:
        raise Misfit("The answer is blank.")
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise Misfit(f"The answer is no JSON: {error.msg}, line {error.lineno}, column {error.colno}.") from None
    except (ValueError, RecursionError):
        raise Misfit("The answer is JSON with numbers too long or levels too many.") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise Misfit(f"The answer says {_short(name)} twice.")
        found[name] = value
    return found


def _refuse(constant: str) -> Any:
    raise Misfit(f"The answer holds {constant}, which is no JSON.")


def _reason(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = _short(".".join(str(part) for part in fault["loc"]))
    match fault["type"]:
        case "extra_forbidden":
            return f"The answer has {place}, which was not asked for."
        case "missing":
            return f"The answer lacks {place}."
        case "value_error":
            return f"The answer's {place} does not fit: it {fault['msg'].removeprefix('Value error, ')}."
        case _:
            return f"The answer's {place} does not fit: {fault['msg']}."


def _short(name: str) -> str:
    shown = json.dumps(name, ensure_ascii=False).encode(errors="backslashreplace").decode()
    return shown if len(shown) <= MOST_WORDS else f"{shown[:MOST_WORDS]}…"
