"""Which rows a filter names, where it need not look at all of them to find out."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import BinaryExpression, ColumnElement, Table
from sqlalchemy.sql import operators
from strawberry.utils.str_converters import to_camel_case

from engine.inputs import filter_entries, target_of
from engine.rows import Found
from engine.sources import Backing, Filter, Relation, backing_of


def link(found: Found) -> tuple[ColumnElement[Any], ColumnElement[Any]] | None:
    """Our column and theirs, where a relation is nothing but their being equal."""
    on = found.conditions[0] if len(found.conditions) == 1 else None
    if not isinstance(on, BinaryExpression) or on.operator is not operators.eq:
        return None
    sides = ((on.right, on.left), (on.left, on.right))
    return next(((ours, theirs) for ours, theirs in sides if theirs in set(found.row.c)), None)


def names_one(backing: Backing, asked: Mapping[str, Any]) -> bool:
    """Whether no more than one row can be what is asked for: a unique column equals something."""
    return any(_is_unique(backing, name) and asked[name] and asked[name].get("eq") is not None for name in asked)


def names_rows_of_one(backing: Backing, asked: Mapping[str, Any]) -> bool:
    """Whether all that is asked for belongs to one other row, so that there is no more of it than that row has."""
    owners = {name: owner for name in asked if (owner := _owner(backing, name)) is not None}
    return any(asked[name] and names_one(owner, asked[name]) for name, owner in owners.items())


def _owner(backing: Backing, graphql_name: str) -> Backing | None:
    """What a row refers to by this name, if it is one other row."""
    if graphql_name in ("and", "or", "not"):
        return None
    found = filter_entry(backing, graphql_name)
    field = None if isinstance(found, Filter) else backing.field(found)
    if field is None or not isinstance(field.source, Relation) or field.source.shape != "one":
        return None
    return backing_of(target_of(field))


def _is_unique(backing: Backing, graphql_name: str) -> bool:
    if graphql_name in ("and", "or", "not") or not isinstance(backing.rows, Table):
        return False
    found = filter_entry(backing, graphql_name)
    column = backing.rows.c.get(found) if isinstance(found, str) else None
    return column is not None and (bool(column.unique) or list(backing.rows.primary_key) == [column])


def filter_entry(backing: Backing, graphql_name: str) -> str | Filter:
    return next(entry for name, entry in filter_entries(backing).items() if to_camel_case(name) == graphql_name)
