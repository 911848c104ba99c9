"""The rows that a field leads to, before any of them is shown."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphql import GraphQLInputType, GraphQLList, GraphQLNonNull, get_named_type
from sqlalchemy import (
    ARRAY,
    TIMESTAMP,
    BigInteger,
    ColumnElement,
    Double,
    FromClause,
    Integer,
    Numeric,
    Select,
    Text,
    select,
)
from sqlalchemy.types import TypeEngine

from engine.encode import read_global_id
from engine.errors import InvalidArgument
from engine.paging import big_integer
from engine.sources import Argument, Backing, Relation, Rows
from engine.values import Parameters, is_structural, text

SQL_TYPES: Mapping[str, TypeEngine[Any]] = {
    "Int": BigInteger(),
    "BigInt": BigInteger(),
    "Float": Double(),
    "Decimal": Numeric(),
    "DateTime": TIMESTAMP(timezone=True),
}


@dataclass(frozen=True)
class Found:
    """Rows, and what holds for those that are meant."""

    row: FromClause
    conditions: tuple[ColumnElement[bool], ...]

    def selecting(self, *columns: Any) -> Select[Any]:
        """A statement over these rows alone: every other row it names belongs to the statement around it."""
        return select(*columns).select_from(self.row).where(*self.conditions).correlate_except(self.row)

    def narrowed(self, *conditions: ColumnElement[bool] | None) -> "Found":
        return Found(self.row, (*self.conditions, *(each for each in conditions if each is not None)))


def source_of(rows: FromClause | Rows, parent: FromClause | None, *arguments: Any) -> FromClause:
    if isinstance(rows, FromClause):
        return rows.alias()
    made = rows(parent, *arguments)
    return (made if parent is None else made.correlate(parent)).subquery()


def related(relation: Relation, target: Backing, parent: FromClause | None, given: Mapping[str, Any]) -> Found:
    """The rows of a relation, seen from one row of its parent."""
    arguments = (given,) if relation.arguments else ()
    if relation.rows is not None:
        row = source_of(relation.rows, parent, *arguments)
    elif target.rows is not None:
        row = source_of(target.rows, parent)
    else:
        raise LookupError(f"{target.name} has no rows of its own, and the field that leads to it brings none")
    return Found(row, () if relation.on is None else (relation.on(parent, row, *arguments),))


def given(
    argument: Argument,
    type_: GraphQLInputType,
    template: Any,
    parameters: Parameters,
    path: tuple[str, ...],
    key: TypeEngine[Any] | None,
) -> Any:
    """A field's own argument as its declaration sees it: bound, and None where nothing was given."""
    if template is None or (is_structural(get_named_type(type_)) and not isinstance(template, list)):
        return template
    return bound(parameters, type_, template, path, of=argument.of, key=key)


def bound(
    parameters: Parameters,
    type_: GraphQLInputType,
    template: Any,
    path: tuple[str | int, ...],
    *,
    of: str | None = None,
    key: TypeEngine[Any] | None = None,
) -> Any:
    """An argument's value as a parameter; ids of type `of` become keys."""
    nullable = type_.of_type if isinstance(type_, GraphQLNonNull) else type_
    sql_type = key if key is not None else SQL_TYPES.get(get_named_type(type_).name, Text())

    def one(value: Any) -> Any:
        if of is not None:
            return key_of(of, sql_type, value, path)
        return text(value, path)

    if isinstance(nullable, GraphQLList):
        return parameters.bind(template, ARRAY(sql_type), lambda values: [one(value) for value in values])
    return parameters.bind(template, sql_type, one)


def key_of(type_name: str, sql_type: TypeEngine[Any], id_: str, path: tuple[str | int, ...]) -> int | str:
    found, key = read_global_id(id_, path)
    if found != type_name:
        raise InvalidArgument(f"this is the id of another type than {type_name}", path)
    return typed_key(sql_type, key, path)


def typed_key(sql_type: TypeEngine[Any], key: str, path: tuple[str | int, ...]) -> int | str:
    if not isinstance(sql_type, Integer):
        return str(text(key, path))
    try:
        return big_integer(int(key))
    except ValueError:
        raise InvalidArgument("this is not an id that this server gave out", path) from None
