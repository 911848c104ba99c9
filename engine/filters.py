"""`where`, as a condition on a row. A comparison with null is false, and `not` of it is true."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from graphql import GraphQLInputObjectType, GraphQLInputType, get_named_type
from sqlalchemy import (
    ColumnElement,
    FromClause,
    Text,
    and_,
    any_,
    exists,
    false,
    func,
    or_,
    true,
)
from sqlalchemy.types import TypeEngine

from engine.errors import InvalidArgument
from engine.inputs import target_of
from engine.limits import Budget
from engine.naming import filter_entry, link, names_one, names_rows_of_one
from engine.paging import bindable
from engine.rows import Found, bound, related
from engine.sources import Backing, Filter, Relation, Value, backing_of
from engine.values import Parameters, text

Condition = ColumnElement[bool]
Path = tuple[str | int, ...]
DEEPEST = 12


@dataclass(frozen=True)
class Operand:
    """What one operator of a leaf filter compares: a value of the row with a value of the request."""

    value: ColumnElement[Any]
    type: GraphQLInputType
    template: Any
    path: Path
    of: str | None
    key: TypeEngine[Any] | None

    def bind(self, parameters: Parameters) -> Any:
        if isinstance(self.template, bool):
            return true() if self.template else false()
        return bound(parameters, self.type, self.template, self.path, of=self.of, key=self.key)

    def pattern(self, parameters: Parameters, affixed: Callable[[str], str]) -> Condition:
        given = parameters.bind(self.template, Text(), lambda value: affixed(_literally(text(value, self.path))))
        return func.lower(self.value).like(func.lower(given))


Operator = Callable[[Operand, Parameters], Condition]

OPERATORS: Mapping[str, Operator] = {
    "eq": lambda operand, parameters: operand.value == operand.bind(parameters),
    "ne": lambda operand, parameters: operand.value.is_distinct_from(operand.bind(parameters)),
    "in": lambda operand, parameters: operand.value == any_(operand.bind(parameters)),
    "gt": lambda operand, parameters: operand.value > operand.bind(parameters),
    "gte": lambda operand, parameters: operand.value >= operand.bind(parameters),
    "lt": lambda operand, parameters: operand.value < operand.bind(parameters),
    "lte": lambda operand, parameters: operand.value <= operand.bind(parameters),
    "contains": lambda operand, parameters: operand.pattern(parameters, lambda value: f"%{value}%"),
    "startsWith": lambda operand, parameters: operand.pattern(parameters, lambda value: f"{value}%"),
}


def _literally(value: str) -> str:
    """Text in which no character means more than itself to LIKE."""
    return value.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


class Where:
    """Reads the filter of one list."""

    def __init__(self, parameters: Parameters, budget: Budget) -> None:
        self.parameters = parameters
        self.budget = budget

    def condition(
        self,
        backing: Backing,
        row: FromClause,
        type_: GraphQLInputObjectType,
        where: Mapping[str, Any] | None,
        path: Path,
        depth: int = 0,
    ) -> Condition | None:
        """None where nothing is asked."""
        if depth > DEEPEST:
            raise InvalidArgument(f"a filter is at most {DEEPEST} deep", path)
        self.budget.filter(max(1, len(where or ())))

        def nested(part: Mapping[str, Any] | None, *place: str | int) -> Condition | None:
            return self.condition(backing, row, type_, part, (*path, *place), depth + 1)

        parts: list[Condition | None] = []
        for name, asked in (where or {}).items():
            if asked is None:
                continue
            if name == "and":
                parts.extend(nested(part, name, index) for index, part in enumerate(asked))
            elif name == "or":
                parts.append(_any([nested(part, name, index) for index, part in enumerate(asked)]))
            elif name == "not":
                parts.append(_not(nested(asked, name)))
            else:
                parts.append(self._by(backing, row, type_, name, asked, path, depth))
        return _all(parts)

    def _by(
        self,
        backing: Backing,
        row: FromClause,
        type_: GraphQLInputObjectType,
        name: str,
        asked: Mapping[str, Any],
        path: Path,
        depth: int,
    ) -> Condition | None:
        place = (*path, name)
        field_type = get_named_type(type_.fields[name].type)
        assert isinstance(field_type, GraphQLInputObjectType)
        entry = filter_entry(backing, name)
        if isinstance(entry, Filter):
            return self._leaf(entry.expression(row), field_type, asked, place, of=entry.of)
        field = backing.field(entry)
        if backing.is_global_id(entry):
            return self._leaf(row.c[backing.key], field_type, asked, place, of=backing.name)
        match field.source:
            case Value(expression=expression):
                return self._leaf(expression(row), field_type, asked, place)
            case Relation(shape="one" | "list") as relation:
                return self._related(relation, target_of(field), row, field_type, asked, place, depth)
        raise LookupError(f"{backing.name}.{entry} is nothing to filter by")

    def _leaf(
        self,
        value: ColumnElement[Any],
        type_: GraphQLInputObjectType,
        asked: Mapping[str, Any],
        path: Path,
        *,
        of: str | None = None,
    ) -> Condition | None:
        key = bindable(value.type) if of is not None else None
        parts: list[Condition | None] = []
        for name, template in asked.items():
            if name == "isNull":
                parts.append(_is_null(value, template))
            elif template is None:
                raise InvalidArgument("nothing equals null; isNull asks that", (*path, name))
            else:
                operand = Operand(value, type_.fields[name].type, template, (*path, name), of, key)
                parts.append(OPERATORS[name](operand, self.parameters))
        return _all(parts)

    def _related(
        self,
        relation: Relation,
        target: type,
        row: FromClause,
        type_: GraphQLInputObjectType,
        asked: Mapping[str, Any],
        path: Path,
        depth: int,
    ) -> Condition | None:
        backing = backing_of(target)
        assert backing is not None
        found = related(relation, backing, row, {})
        condition = self.condition(backing, found.row, type_, asked, path, depth + 1)
        if condition is None:
            return None
        if (linked := link(found)) is None:
            return exists(found.narrowed(condition).selecting(true()))
        ours, theirs = linked
        others = Found(found.row, (condition,)).selecting(theirs).scalar_subquery()
        # What is named is looked up once and first, so that an index on our side finds the rows, and in their order.
        if names_one(backing, asked):
            return ours == others
        if names_rows_of_one(backing, asked):
            return ours == any_(func.array(others))
        return exists(found.narrowed(condition).selecting(true()))


def _is_null(value: ColumnElement[Any], asked: bool | None) -> Condition | None:
    if asked is None:
        return None
    return value.is_(None) if asked else value.is_not(None)


def _all(parts: list[Condition | None]) -> Condition | None:
    asked = [part for part in parts if part is not None]
    return and_(*asked) if asked else None


def _any(parts: list[Condition | None]) -> Condition | None:
    """An empty alternative lets everything through, and so does a choice of none."""
    asked = [part for part in parts if part is not None]
    return or_(*asked) if asked and len(asked) == len(parts) else None


def _not(part: Condition | None) -> Condition | None:
    # A comparison with null is neither true nor false in SQL, and false here.
    return None if part is None else part.is_not(true())
