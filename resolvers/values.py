"""Values of fields: their types, and the text that stands for them in the database."""

import json
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from math import isfinite
from typing import Any

from models.base import FieldType
from resolvers.forms import storable_text

DEEPEST = 100
# Money beyond these is a mistake, and could not be kept.
MOST_MONEY = Decimal(10) ** 12
MOST_DECIMALS = 30
MONEY = f"0 or more, less than {MOST_MONEY:,}, with at most {MOST_DECIMALS} decimals"


def fits(value: Any, type_: FieldType) -> bool:
    """Whether a value can stand in a field of that type; null can in each."""
    if value is None:
        return True
    match type_:
        case FieldType.STRING:
            return isinstance(value, str)
        case FieldType.NUMBER:
            return isinstance(value, int | float) and not isinstance(value, bool)
        case FieldType.BOOLEAN:
            return isinstance(value, bool)
        case FieldType.DATE:
            return _is_date(value)
        case FieldType.LIST:
            return isinstance(value, list)
        case FieldType.OBJECT:
            return isinstance(value, dict)


def _is_date(value: Any) -> bool:
    try:
        return isinstance(value, str) and date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


def fault_of(values: Mapping[str, Any], fields: Mapping[str, FieldType]) -> tuple[str, str] | None:
    """The first name that is no field or whose value does not fit, and what would be right."""
    for name, value in values.items():
        if name not in fields:
            return name, f"The benchmark has no field {name}."
        if not fits(value, fields[name]):
            return name, f"The field {name} takes {WANTED[fields[name]]} or null."
        if not is_storable(value):
            return name, f"The field {name} cannot hold NUL, half of a surrogate pair, infinity, or so many levels."
    return None


def is_storable(value: Any, levels: int = DEEPEST) -> bool:
    """Whether Postgres can keep a value as JSON, and take it apart again."""
    match value:
        case str():
            return storable_text(value) is not None
        case float():
            return isfinite(value)
        case list():
            return levels > 0 and all(is_storable(each, levels - 1) for each in value)
        case dict():
            return levels > 0 and all(is_storable(key) and is_storable(each, levels - 1) for key, each in value.items())
        case _:
            return True


WANTED = {
    FieldType.STRING: "text",
    FieldType.NUMBER: "a number",
    FieldType.BOOLEAN: "true or false",
    FieldType.DATE: "a date such as 2026-10-02",
    FieldType.LIST: "a list",
    FieldType.OBJECT: "an object",
}


def is_money(value: Decimal) -> bool:
    return 0 <= value < MOST_MONEY and int(value.as_tuple().exponent) >= -MOST_DECIMALS


def written(value: Any) -> str:
    """JSON text in one line, keys in the order they came in."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
