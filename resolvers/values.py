"""Values of fields: their types, and the text that stands for them in the database."""

import json
from collections.abc import Mapping
from datetime import date
from typing import Any

from models.base import FieldType


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
    return None


WANTED = {
    FieldType.STRING: "text",
    FieldType.NUMBER: "a number",
    FieldType.BOOLEAN: "true or false",
    FieldType.DATE: "a date such as 2026-10-02",
    FieldType.LIST: "a list",
    FieldType.OBJECT: "an object",
}


def written(value: Any) -> str:
    """JSON text in one line, keys in the order they came in."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
