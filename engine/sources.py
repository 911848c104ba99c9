"""What a type or a field is made of in the database: the vocabulary that declarations are written in."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import strawberry
from sqlalchemy import ColumnElement, FromClause, Select
from strawberry.types.base import StrawberryObjectDefinition
from strawberry.types.unset import UNSET
from strawberry.utils.str_converters import to_camel_case

Expression: TypeAlias = Callable[..., ColumnElement[Any]]
"""(row) or (row, arguments)."""

Arguments: TypeAlias = Mapping[str, Any]
"""A field's own arguments by Python name: bound values, True/False/enum members as they are, None where not given."""

Condition: TypeAlias = Callable[..., ColumnElement[bool]]
"""(parent row, row) or (parent row, row, arguments); the parent of a root field is None."""

Rows: TypeAlias = Callable[..., Select[Any]]
"""(parent row) or (parent row, arguments) to the rows that belong to it."""

Finder: TypeAlias = Callable[[FromClause, ColumnElement[Any]], ColumnElement[bool]]
"""(row, key) to whether it is the row with that key."""

Ordering: TypeAlias = Callable[[FromClause], ColumnElement[Any]]

Guard: TypeAlias = Callable[[Any], None]
"""Takes a request's context and raises where that request may not see such rows."""


@dataclass(frozen=True)
class Argument:
    """An argument of one field; `of` names the type whose global ids it takes, and turns them into keys."""

    annotation: Any
    of: str | None = None
    default: Any = UNSET
    description: str | None = None


@dataclass(frozen=True)
class Filter:
    """A filter by something that is no field of the type itself."""

    name: str
    annotation: Any
    expression: Expression
    of: str | None = None


@dataclass(frozen=True)
class Value:
    """A leaf: an expression over the row, and over the field's own arguments where it has some."""

    expression: Expression
    arguments: Mapping[str, Argument] = field(default_factory=dict)


@dataclass(frozen=True)
class Embedded:
    """An object on the same row; null where `when` does not hold."""

    values: Mapping[str, Expression]
    when: Expression | None


@dataclass(frozen=True)
class Relation:
    """Rows of another type that belong to this row: `one` of them, a `list`, or a `connection` of pages."""

    shape: str
    on: Condition | None = None
    rows: Rows | None = None
    order_by: tuple[Ordering, ...] = ()
    arguments: Mapping[str, Argument] = field(default_factory=dict)


@dataclass(frozen=True)
class NodeById:
    """The root field `node`."""


@dataclass(frozen=True)
class NodesByIds:
    """The root field `nodes`."""


Source: TypeAlias = Value | Embedded | Relation | NodeById | NodesByIds


@dataclass(frozen=True, eq=False)
class Backing:
    """What stands behind a GraphQL type."""

    origin: type
    rows: FromClause | Rows | None
    key: str
    position: tuple[str, ...]
    filters: tuple[str | Filter, ...]
    orders: tuple[str, ...]
    visible: Expression | None
    find: "Finder | None"
    guard: Guard | None

    def found_by(self, row: FromClause, key: ColumnElement[Any]) -> ColumnElement[bool]:
        """Whether a row is the one with that key."""
        return row.c[self.key] == key if self.find is None else self.find(row, key)

    @property
    def name(self) -> str:
        return definition_of(self.origin).name

    @cached_property
    def fields(self) -> dict[str, Any]:
        """The Strawberry fields by their GraphQL names."""
        return {graphql_name(field): field for field in definition_of(self.origin).fields}

    def field(self, python_name: str) -> Any:
        fields = (field for field in self.fields.values() if field.python_name == python_name)
        if (found := next(fields, None)) is None:
            raise LookupError(f"{self.name} declares no field {python_name!r}")
        return found

    def is_global_id(self, python_name: str) -> bool:
        return python_name == "id" and self.field("id").type is strawberry.ID


def definition_of(origin: type) -> StrawberryObjectDefinition:
    definition: StrawberryObjectDefinition = vars(origin)["__strawberry_definition__"]
    return definition


def backing_of(origin: type) -> Backing | None:
    backing: Backing | None = vars(origin).get("__backing__")
    return backing


def graphql_name(field: Any) -> str:
    return field.graphql_name or to_camel_case(field.python_name)
