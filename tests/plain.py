"""What the engine must equal: the same declarations, resolved field by field in Python by graphql-core alone.

Every relation is a query of its own, and filters, orders and pages are made of lists in memory.
"""

import asyncio
import base64
import functools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any, get_args

import graphql
from graphql import GraphQLError, GraphQLScalarType, build_schema, get_named_type
from sqlalchemy import ARRAY, ColumnElement, FromClause, Select, Text, UnaryExpression, cast, literal, select, true
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.sql import operators
from sqlalchemy.types import TypeEngine
from strawberry.utils.str_converters import to_camel_case

from engine.execute import Schema
from engine.inputs import filter_entries, target_of, unwrapped
from engine.sources import Backing, Embedded, Expression, Filter, NodeById, NodesByIds, Relation, Value, backing_of

SCALARS = ("coerce_output_value", "coerce_input_value", "coerce_input_literal", "serialize", "parse_value")

CONTAINS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda value, asked: bool(value == asked),
    "in": lambda value, asked: value in asked,
    "gt": lambda value, asked: bool(value > asked),
    "gte": lambda value, asked: bool(value >= asked),
    "lt": lambda value, asked: bool(value < asked),
    "lte": lambda value, asked: bool(value <= asked),
    "contains": lambda value, asked: asked.lower() in value.lower(),
    "startsWith": lambda value, asked: value.lower().startswith(asked.lower()),
}


@dataclass(frozen=True)
class Term:
    """One thing to sort by; nulls are last either way."""

    name: str
    read: Callable[["Thing"], Any]
    descending: bool = False


def is_enum(type_: Any) -> bool:
    return isinstance(type_, type) and issubclass(type_, Enum)


@dataclass
class Thing:
    """One row of a type: its leaves, and a table of this row alone for what is asked from it."""

    backing: Backing
    source: FromClause | None
    leaves: Mapping[str, Any] = field(default_factory=dict)
    key: Any = None
    visible: bool = True
    order: tuple[Any, ...] = ()

    @property
    def type_name(self) -> str:
        return self.backing.name


def named(value: Any) -> Any:
    return value.name if isinstance(value, Enum) else value


def decoded(id_: str, type_name: str | None = None) -> str:
    try:
        found, _, key = base64.b64decode(id_, validate=True).decode().partition(":")
    except ValueError:
        raise GraphQLError("no id") from None
    if type_name not in (None, found):
        raise GraphQLError("another type's id")
    return f"{found}:{key}" if type_name is None else key


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def portable(value: Any) -> Any:
    if isinstance(value, datetime):
        return re.sub(r"(\.\d*?)0+(?=[+-])", r"\1", value.isoformat())
    return value if value is None or isinstance(value, int) else str(named(value))


def compared(left: Any, right: Any, *, descending: bool) -> int:
    if left is None or right is None:
        return (left is None) - (right is None)
    smaller, greater = (left < right), (left > right)
    result = int(greater) - int(smaller)
    return -result if descending else result


class Plain:
    """A schema of graphql-core's own, made of what Strawberry prints."""

    def __init__(self, schema: Schema, connection: AsyncConnection) -> None:
        self.schema = schema
        self.connection = connection
        self.turn = asyncio.Lock()
        self.plain = build_schema(schema.as_str())
        for name, scalar in self.plain.type_map.items():
            made = schema._schema.type_map[name]
            if isinstance(scalar, GraphQLScalarType) and isinstance(made, GraphQLScalarType):
                for part in SCALARS:
                    setattr(scalar, part, getattr(made, part))

    async def execute(self, text: str, variables: dict[str, Any] | None = None) -> graphql.ExecutionResult:
        result = graphql.execute(
            self.plain,
            graphql.parse(text),
            variable_values=variables,
            field_resolver=self.resolve,
            type_resolver=lambda thing, *_: thing.type_name,
        )
        return result if isinstance(result, graphql.ExecutionResult) else await result

    def resolve(self, parent: Any, info: Any, **arguments: Any) -> Any:
        if isinstance(parent, dict):
            return parent[info.field_name]
        return self.field(parent, info, arguments)

    async def field(self, parent: Thing | None, info: Any, arguments: dict[str, Any]) -> Any:
        definition: Any = self.schema.get_type_by_name(info.parent_type.name)
        declared = next(each for each in definition.fields if to_camel_case(each.python_name) == info.field_name)
        if parent is not None and parent.backing.is_global_id(declared.python_name):
            return encoded(f"{parent.type_name}:{parent.key}")
        if parent is not None and declared.python_name in parent.leaves:
            return parent.leaves[declared.python_name]
        match declared.source:
            case NodeById():
                return await self.node(arguments["id"])
            case NodesByIds():
                return [await self.node(id_) for id_ in arguments["ids"]]
            case Embedded(values=values, when=when):
                assert parent is not None
                return await self.embedded(parent, unwrapped(declared.type), values, when)
            case Relation() as relation:
                return await self.related(parent, relation, declared, arguments)
            case Value() as value:
                return await self.computed(parent, value, arguments)
        raise AssertionError(f"nothing reads {info.parent_type.name}.{info.field_name}")

    async def node(self, id_: str) -> Thing | None:
        name, _, key = decoded(id_).partition(":")
        definition: Any = self.schema.get_type_by_name(name)
        backing = backing_of(definition.origin)
        assert backing is not None
        things = await self.things(None, Relation("list"), backing, {})
        return next((thing for thing in things if str(thing.key) == key), None)

    async def embedded(
        self, parent: Thing, target: type, values: Mapping[str, Expression], when: Expression | None
    ) -> Thing | None:
        backing = backing_of(target)
        assert backing is not None
        assert parent.source is not None
        leaves = self.expressions(backing, parent.source, values)
        (row,) = await self.rows(select(*leaves.values(), *([when(parent.source)] if when else [])))
        if when is not None and not row[-1]:
            return None
        return Thing(backing, parent.source, self.read(backing, leaves, row))

    async def computed(self, parent: Thing | None, value: Value, arguments: dict[str, Any]) -> Any:
        assert parent is not None
        ((found,),) = await self.rows(select(value.expression(parent.source, self.given(value, arguments))))
        return found

    async def related(self, parent: Thing | None, relation: Relation, declared: Any, arguments: dict[str, Any]) -> Any:
        backing = backing_of(target_of(declared))
        assert backing is not None
        things = await self.things(parent, relation, backing, self.given(relation, arguments))
        if relation.shape == "one":
            assert len(things) <= 1
            return things[0] if things else None
        terms = self.declared_terms(relation, backing)
        if relation.shape == "list":
            return ordered(things, terms)
        listed = [thing for thing in things if thing.visible or arguments.get("includeRetired")]
        listed = [thing for thing in listed if await self.matches(thing, arguments.get("where") or {})]
        terms = self.asked_terms(backing, arguments.get("orderBy") or ()) or terms
        return connection(
            ordered(listed, terms), [*terms, Term(backing.key, lambda thing: thing.key)], backing, arguments
        )

    def given(self, source: Relation | Value, arguments: Mapping[str, Any]) -> dict[str, Any]:
        given: dict[str, Any] = {}
        for name, argument in source.arguments.items():
            value = arguments.get(to_camel_case(name))
            if argument.of is not None and value is not None:
                keys = [decoded(id_, argument.of) for id_ in ([value] if isinstance(value, str) else value)]
                type_ = self.key_type(argument.of)
                typed = [type_.python_type(key) for key in keys]
                value = typed[0] if isinstance(value, str) else literal(typed, ARRAY(type_))
            words = next(
                (each for each in (argument.annotation, *get_args(argument.annotation)) if is_enum(each)), None
            )
            if words is not None and value is not None:
                value = words[value]
            given[name] = value if isinstance(value, ColumnElement | Enum | bool | None) else literal(value)
        return given

    def key_type(self, type_name: str) -> TypeEngine[Any]:
        definition: Any = self.schema.get_type_by_name(type_name)
        backing = backing_of(definition.origin)
        assert backing is not None
        assert isinstance(backing.rows, FromClause)
        return backing.rows.c[backing.key].type

    async def things(
        self, parent: Thing | None, relation: Relation, backing: Backing, given: Mapping[str, Any]
    ) -> list[Thing]:
        source = None if parent is None else parent.source
        arguments = (given,) if relation.arguments else ()
        rows = relation.rows if relation.rows is not None else backing.rows
        if isinstance(rows, FromClause):
            row: FromClause = rows.alias()
        else:
            assert rows is not None
            made = rows(source, *(arguments if relation.rows is not None else ()))
            row = made.subquery() if source is None else made.correlate(source).lateral()
        around: FromClause = row if source is None else source.join(row, true())
        condition = true() if relation.on is None else relation.on(source, row, *arguments)
        return await self.listed(backing, row, select().select_from(around).where(condition), relation)

    async def listed(
        self, backing: Backing, row: FromClause, statement: Select[Any], relation: Relation
    ) -> list[Thing]:
        leaves = self.expressions(backing, row, {})
        key = row.c[backing.key] if backing.key in row.c else literal(None)
        visible = backing.visible(row) if backing.visible is not None else true()
        position = [row.c[name] for name in backing.position if name in row.c]
        order = [_undirected(ordering(row)) for ordering in relation.order_by] or position
        found = await self.rows(statement.add_columns(*leaves.values(), key, visible, *order))
        things = []
        for each in found:
            key_value, is_visible, *places = each[len(leaves) :]
            alone = statement.add_columns(*row.c)
            alone = alone if key_value is None else alone.where(key == key_value)
            if order is position:
                same = (column.is_not_distinct_from(value) for column, value in zip(position, places, strict=True))
                alone = alone.where(*same)
            read = self.read(backing, leaves, each)
            things.append(Thing(backing, alone.subquery(), read, key_value, is_visible, tuple(map(named, places))))
        return things

    def expressions(
        self, backing: Backing, row: FromClause, values: Mapping[str, Expression]
    ) -> dict[str, ColumnElement[Any]]:
        """The leaves of a type over a row."""
        found: dict[str, ColumnElement[Any]] = {}
        for declared in backing.fields.values():
            expression = values.get(declared.python_name)
            source = getattr(declared, "source", None)
            if expression is None and isinstance(source, Value) and not source.arguments:
                expression = source.expression
            if expression is not None:
                value = expression(row)
                read = cast(value, Text) if self.is_json(backing, declared) else value
                found[declared.python_name] = read.label(declared.python_name)
        return found

    def is_json(self, backing: Backing, declared: Any) -> bool:
        type_: Any = self.plain.type_map[backing.name]
        return bool(get_named_type(type_.fields[to_camel_case(declared.python_name)].type).name == "JSON")

    def read(self, backing: Backing, leaves: Mapping[str, Any], row: Sequence[Any]) -> dict[str, Any]:
        read = {}
        for (name, _), value in zip(leaves.items(), row, strict=False):
            is_json = value is not None and self.is_json(backing, backing.field(name))
            read[name] = json.loads(value) if is_json else named(value)
        return read

    async def rows(self, statement: Select[Any]) -> list[Any]:
        # graphql-core cancels what an error makes needless, and a connection does not survive that.
        return await asyncio.shield(self._rows(statement))

    async def _rows(self, statement: Select[Any]) -> list[Any]:
        async with self.turn:
            return list((await self.connection.execute(statement)).all())

    def declared_terms(self, relation: Relation, backing: Backing) -> list[Term]:
        def at(place: int) -> Callable[[Thing], Any]:
            return lambda thing: thing.order[place]

        orderings = relation.order_by
        if not orderings:
            return [Term(name, at(place)) for place, name in enumerate(backing.position)]
        return [Term(str(place), at(place), _is_descending(each)) for place, each in enumerate(orderings)]

    def asked_terms(self, backing: Backing, asked: Sequence[Mapping[str, str]]) -> list[Term]:
        terms: dict[str, Term] = {}
        for each in asked:
            name = each["field"].lower()
            terms.setdefault(name, Term(name, _leaf(name), each.get("direction") == "DESC"))
        return list(terms.values())

    async def matches(self, thing: Thing, where: Mapping[str, Any]) -> bool:
        for name, asked in where.items():
            if asked is not None and not await self.holds(thing, name, asked):
                return False
        return True

    async def holds(self, thing: Thing, name: str, asked: Any) -> bool:
        if name == "and":
            return all([await self.matches(thing, part) for part in asked])
        if name == "or":
            return not asked or any([await self.matches(thing, part) for part in asked])
        if name == "not":
            return is_empty(asked) or not await self.matches(thing, asked)
        entry = next(each for key, each in filter_entries(thing.backing).items() if to_camel_case(key) == name)
        if isinstance(entry, Filter):
            assert thing.source is not None
            ((value,),) = await self.rows(select(entry.expression(thing.source)))
            is_key = entry.of is not None and value is not None
            return leaf_holds(encoded(f"{entry.of}:{value}") if is_key else named(value), asked)
        if thing.backing.is_global_id(entry):
            return leaf_holds(encoded(f"{thing.type_name}:{thing.key}"), asked)
        if entry in thing.leaves:
            return leaf_holds(thing.leaves[entry], asked)
        declared = thing.backing.field(entry)
        other = await self.related(thing, declared.source, declared, {})
        return is_empty(asked) or (other is not None and await self.matches(other, asked))


def leaf_holds(value: Any, asked: Mapping[str, Any]) -> bool:
    for name, operand in asked.items():
        if name == "isNull":
            if operand is not None and (value is None) is not operand:
                return False
        elif operand is None:
            raise GraphQLError("isNull asks that")
        elif name == "ne":
            if value is not None and value == operand:
                return False
        elif value is None or not CONTAINS[name](value, operand):
            return False
    return True


def is_empty(where: Any) -> bool:
    """Whether a filter asks nothing, so that there is nothing to negate."""
    if not isinstance(where, Mapping):
        return where is None
    return all(
        asked is None
        or (name == "and" and all(map(is_empty, asked)))
        or (name == "or" and (not asked or any(map(is_empty, asked))))
        or (name not in ("and", "or") and isinstance(asked, Mapping) and is_empty(asked))
        for name, asked in where.items()
    )


def _leaf(name: str) -> Callable[[Thing], Any]:
    return lambda thing: thing.leaves[name]


def _undirected(ordering: ColumnElement[Any]) -> ColumnElement[Any]:
    return ordering.element if isinstance(ordering, UnaryExpression) and ordering.modifier else ordering


def _is_descending(ordering: Expression) -> bool:
    class Columns:
        def __getitem__(self, name: str) -> ColumnElement[Any]:
            return literal(None).label(name)

        __getattr__ = __getitem__

    class AnyRow:
        c = Columns()

    made: Any = ordering(AnyRow())
    return isinstance(made, UnaryExpression) and made.modifier is operators.desc_op


def ordered(things: list[Thing], terms: Sequence[Term]) -> list[Thing]:
    things = sorted(things, key=lambda thing: (thing.key is None, thing.key))
    for term in reversed(terms):
        compare = functools.partial(compared, descending=term.descending)
        key = functools.cmp_to_key(compare)
        things = sorted(things, key=lambda thing, term=term, key=key: key(term.read(thing)))  # type: ignore[misc]
    return things


def connection(things: list[Thing], terms: list[Term], backing: Backing, arguments: Mapping[str, Any]) -> Any:
    first, last = arguments.get("first"), arguments.get("last")
    size = first if first is not None else last if last is not None else 50
    if (first is not None and last is not None) or not 0 <= size <= 500:
        raise GraphQLError("no page")
    signature = f"{backing.name} {' '.join(('-' if term.descending else '') + term.name for term in terms)}"
    places = [_cursor(signature, terms, thing) for thing in things]
    low = _position(things, terms, signature, arguments.get("after"))
    high = _position(things, terms, signature, arguments.get("before"))
    start = 0 if low is None else low[1]
    stop = len(things) if high is None else high[0]
    window = list(range(start, max(start, stop)))
    page = (window[-size:] if size else []) if last is not None else window[:size]
    overflows = len(window) > size
    edges = [{"cursor": places[at], "node": things[at]} for at in page]
    return {
        "edges": edges,
        "nodes": [things[at] for at in page],
        "totalCount": len(things),
        "pageInfo": {
            "hasNextPage": (last is None and overflows) or (high is not None and high[0] < len(things)),
            "hasPreviousPage": (last is not None and overflows) or (low is not None and low[1] > 0),
            "startCursor": edges[0]["cursor"] if edges else None,
            "endCursor": edges[-1]["cursor"] if edges else None,
        },
    }


def _cursor(signature: str, terms: Sequence[Term], thing: Thing) -> str:
    parts = [portable(term.read(thing)) for term in terms]
    return encoded(json.dumps([signature, *parts], ensure_ascii=False))


def _position(things: list[Thing], terms: Sequence[Term], signature: str, cursor: str | None) -> tuple[int, int] | None:
    """How many come before the cursor's place, and how many up to it."""
    if cursor is None:
        return None
    try:
        found, *parts = json.loads(base64.b64decode(cursor, validate=True))
    except ValueError:
        raise GraphQLError("no cursor") from None
    if found != signature:
        raise GraphQLError("another list's cursor")

    def against(thing: Thing) -> int:
        for term, part in zip(terms, parts, strict=True):
            value = term.read(thing)
            limit = datetime.fromisoformat(part) if isinstance(value, datetime) and part is not None else part
            if isinstance(value, float) and part is not None:
                limit = float(part)
            if result := compared(value, limit, descending=term.descending):
                return result
        return 0

    results = [against(thing) for thing in things]
    return sum(result < 0 for result in results), sum(result <= 0 for result in results)
