"""Words that SQLAlchemy lacks."""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import ARRAY, BindParameter, ColumnElement, all_, any_, literal


def among(column: ColumnElement[Any], values: Iterable[Any]) -> ColumnElement[bool]:
    """One of these values, sent as one array: the statement stays the same however many there are."""
    return column == any_(_array(column, values))


def not_among(column: ColumnElement[Any], values: Iterable[Any]) -> ColumnElement[bool]:
    return column != all_(_array(column, values))


def _array(column: ColumnElement[Any], values: Iterable[Any]) -> BindParameter[Any]:
    return literal(list(values), ARRAY(column.type))
