"""From a selection set to one statement whose only value is the finished JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

from graphql import GraphQLInputObjectType, GraphQLObjectType, get_named_type
from sqlalchemy import ColumnElement, FromClause, case, func, null, select
from sqlalchemy.dialects.postgresql import aggregate_order_by
from sqlalchemy.types import TypeEngine
from strawberry.types.base import StrawberryObjectDefinition
from strawberry.utils.str_converters import to_camel_case

from engine.collect import BACKREF, TYPENAME, Operation, Selected
from engine.encode import constant, empty_list, global_id, json_object, leaf
from engine.filters import Where
from engine.limits import Budget, Sizes
from engine.pages import Page, Shown, order_of_list
from engine.paging import bindable
from engine.rows import Found, given, related
from engine.sources import Backing, Embedded, Expression, Guard, Relation, Value, backing_of
from engine.values import Parameters

COLLATION = "collation"
"""Under this name a schema says by which collation text is sorted, where not by the database's own."""

UNPAGED = 10
"""What a list without pages counts for; it cannot grow."""


def backing_behind(type_: Any) -> Backing:
    definition: StrawberryObjectDefinition = type_.extensions[BACKREF]
    backing = backing_of(definition.origin)
    if backing is None:
        raise LookupError(f"{type_} is not backed")
    return backing


def node_type(connection: Any) -> GraphQLObjectType:
    type_ = get_named_type(connection.fields["nodes"].type)
    assert isinstance(type_, GraphQLObjectType)
    return type_


class Selection:
    """Builds one statement. Every list and object within it is a subquery that sees the row around it."""

    def __init__(self, operation: Operation, parameters: Parameters, budget: Budget) -> None:
        self.operation = operation
        self.parameters = parameters
        self.budget = budget
        self.guards: dict[Guard, None] = {}

    def relation(
        self, field: Selected, relation: Relation, parent: FromClause | None, around: Sizes = ()
    ) -> ColumnElement[Any]:
        """The JSON of whatever a field leads to."""
        type_ = field.type
        assert isinstance(type_, GraphQLObjectType)
        if relation.shape == "connection":
            return self._connection(field, relation, type_, parent, around)
        backing = backing_behind(type_)
        found = related(relation, backing, parent, self._given(field, relation))
        if relation.shape == "one":
            return found.selecting(self.object(field, type_, found.row, around)).scalar_subquery()
        return self._list(field, relation, type_, found, around)

    def object(
        self,
        field: Selected,
        type_: GraphQLObjectType,
        row: FromClause,
        around: Sizes,
        values: Mapping[str, Expression] | None = None,
    ) -> ColumnElement[Any]:
        """One object over one row; `values` stand in for what the type declares."""
        backing = self._guarded(type_)
        fields = self._within(field, type_)
        return json_object([(each.key, self._member(backing, each, row, around, values or {})) for each in fields])

    def _guarded(self, type_: GraphQLObjectType) -> Backing:
        backing = backing_behind(type_)
        if backing.guard is not None:
            self.guards[backing.guard] = None
        return backing

    def _member(
        self, backing: Backing, field: Selected, row: FromClause, around: Sizes, values: Mapping[str, Expression]
    ) -> ColumnElement[Any]:
        if field.name == TYPENAME:
            return constant(backing.name)
        name = field.declaration.python_name
        assert field.definition is not None
        if name in values:
            return leaf(field.definition.type, values[name](row))
        if backing.is_global_id(name):
            return global_id(backing.name, row.c[backing.key])
        match field.declaration.source:
            case Value() as value:
                given = (self._given(field, value),) if value.arguments else ()
                return leaf(field.definition.type, value.expression(row, *given))
            case Embedded() as embedded:
                return self._embedded(field, embedded, row, around)
            case Relation() as relation:
                return self.relation(field, relation, row, around)
        raise LookupError(f"{backing.name}.{name} is not backed")

    def _embedded(self, field: Selected, embedded: Embedded, row: FromClause, around: Sizes) -> ColumnElement[Any]:
        assert isinstance(field.type, GraphQLObjectType)
        made = self.object(field, field.type, row, around, embedded.values)
        return made if embedded.when is None else case((embedded.when(row), made), else_=null())

    def _list(
        self, field: Selected, relation: Relation, type_: GraphQLObjectType, found: Found, around: Sizes
    ) -> ColumnElement[Any]:
        around = self.budget.page(around, UNPAGED)
        made: Any = self.object(field, type_, found.row, around)
        order = self._list_order(backing_behind(type_), relation, found.row)
        gathered = func.json_agg(aggregate_order_by(made, *order) if order else made)
        return found.selecting(func.coalesce(gathered, empty_list())).scalar_subquery()

    @staticmethod
    def _list_order(backing: Backing, relation: Relation, row: FromClause) -> Sequence[ColumnElement[Any]]:
        if relation.order_by:
            return [ordering(row) for ordering in relation.order_by]
        return [row.c[name] for name in (*backing.position, backing.key) if name in row.c]

    def _connection(
        self,
        field: Selected,
        relation: Relation,
        type_: GraphQLObjectType,
        parent: FromClause | None,
        around: Sizes,
    ) -> ColumnElement[Any]:
        target = node_type(type_)
        backing = self._guarded(target)
        found = self._listed(field, backing, related(relation, backing, parent, self._given(field, relation)))
        collation = self.operation.schema.extensions.get(COLLATION)
        order = order_of_list(backing, relation.order_by, field.arguments.get("orderBy"), found.row, collation)
        page = Page(field, found, order, self.parameters)
        around = self.budget.page(around, page.size)
        fields = self._within(field, type_)
        names = {each.name for each in fields}
        if not names & {"nodes", "edges", "pageInfo"}:
            return json_object([(each.key, self._about(each, type_, found)) for each in fields])
        edges = [each for one in fields if one.name == "edges" for each in self._subfields(one)]
        numbered = page.backward or "pageInfo" in names
        with_cursors = "pageInfo" in names or any(each.name == "cursor" for each in edges)
        shown = Shown(page, numbered=numbered, with_cursors=with_cursors)
        members = [(each.key, self._part(each, type_, target, found, shown, around)) for each in fields]
        statement = select(json_object(members)).select_from(shown.rows).correlate_except(shown.rows)
        if not names & {"nodes", "edges"}:
            # What gathers no rows may say nothing that is an aggregate; there is one answer all the same.
            statement = statement.having(func.count() >= 0)
        return statement.scalar_subquery()

    def _listed(self, field: Selected, backing: Backing, found: Found) -> Found:
        """The rows that the filter lets through, without the retired ones unless they are asked for."""
        conditions: list[ColumnElement[bool] | None] = []
        assert field.definition is not None
        if "where" in field.definition.args:
            type_ = get_named_type(field.definition.args["where"].type)
            assert isinstance(type_, GraphQLInputObjectType)
            where, path = field.arguments.get("where"), (*field.path, "where")
            conditions.append(Where(self.parameters, self.budget).condition(backing, found.row, type_, where, path))
        if backing.visible is not None and not field.arguments.get("includeRetired"):
            conditions.append(backing.visible(found.row))
        return found.narrowed(*conditions)

    def _about(self, field: Selected, type_: GraphQLObjectType, found: Found) -> ColumnElement[Any]:
        """What can be said of a list without looking at a page of it."""
        if field.name == TYPENAME:
            return constant(type_.name)
        return found.selecting(func.count()).scalar_subquery()

    def _part(
        self,
        field: Selected,
        type_: GraphQLObjectType,
        target: GraphQLObjectType,
        found: Found,
        shown: Shown,
        around: Sizes,
    ) -> ColumnElement[Any]:
        match field.name:
            case "nodes":
                return shown.gathered(self.object(field, target, shown.rows, around))
            case "edges":
                members = [
                    (each.key, self._edge(each, field, target, shown, around)) for each in self._subfields(field)
                ]
                return shown.gathered(json_object(members))
            case "pageInfo":
                return json_object([(each.key, self._page_info(each, field, shown)) for each in self._subfields(field)])
            case _:
                return self._about(field, type_, found)

    def _edge(
        self, field: Selected, edges: Selected, target: GraphQLObjectType, shown: Shown, around: Sizes
    ) -> ColumnElement[Any]:
        match field.name:
            case "node":
                return self.object(field, target, shown.rows, around)
            case "cursor":
                return shown.cursor
            case _:
                return constant(edges.type.name)

    def _page_info(self, field: Selected, page_info: Selected, shown: Shown) -> ColumnElement[Any]:
        match field.name:
            case "hasNextPage":
                return shown.has_more(backward=False)
            case "hasPreviousPage":
                return shown.has_more(backward=True)
            case "startCursor":
                return shown.edge_cursor(start=True)
            case "endCursor":
                return shown.edge_cursor(start=False)
            case _:
                return constant(page_info.type.name)

    def _given(self, field: Selected, source: Relation | Value) -> dict[str, Any]:
        assert field.definition is not None
        bound = {}
        for name, argument in source.arguments.items():
            key = to_camel_case(name)
            type_, template, path = field.definition.args[key].type, field.arguments.get(key), (*field.path, key)
            bound[name] = given(argument, type_, template, self.parameters, path, self._key_type(argument.of))
        return bound

    def _key_type(self, type_name: str | None) -> TypeEngine[Any] | None:
        if type_name is None:
            return None
        backing = backing_behind(self.operation.schema.get_type(type_name))
        assert isinstance(backing.rows, FromClause)
        return bindable(backing.rows.c[backing.key].type)

    def _subfields(self, field: Selected) -> list[Selected]:
        assert isinstance(field.type, GraphQLObjectType)
        return self._within(field, field.type)

    def _within(self, field: Selected, type_: GraphQLObjectType) -> list[Selected]:
        fields = self.operation.within(field, type_)
        self.budget.select(fields, len(field.path) + 1)
        return fields
