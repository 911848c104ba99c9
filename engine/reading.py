"""The engine: operations prepared once, plans kept by the shape of their variables, statements asked of Postgres."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from graphql import (
    DocumentNode,
    FragmentDefinitionNode,
    GraphQLError,
    GraphQLInputType,
    GraphQLObjectType,
    GraphQLSchema,
    OperationDefinitionNode,
    type_from_ast,
)
from graphql.execution.collect_fields import FragmentDetails
from graphql.execution.values import VariableValues
from sqlalchemy import ColumnElement

from engine.collect import TYPENAME, Operation, Selected
from engine.errors import InvalidArgument
from engine.limits import Budget, Limits
from engine.plans import Recent, Statement, compiled
from engine.references import BETWEEN, Ref, apart, given_key, given_keys, referred, several, single
from engine.select import Selection
from engine.sources import NodeById, NodesByIds, Relation
from engine.values import Parameters, Values, filled, outline, shape

# Caches hold so many characters of the documents that their entries are made of: a short operation costs little to
# keep, and nobody fills the memory with long ones.
OPERATIONS = 500_000
PLANS = 1_000_000
STATEMENTS_OF_A_PLAN = 64


class Context(Protocol):
    """What a request brings: a connection, or a pool of them."""

    async def fetch(self, sql: str, arguments: Sequence[Any]) -> str | None:
        """The only value of the only row, as text. Called concurrently where several fields are read at once."""
        ...


@dataclass
class Counters:
    statements: int = 0
    compiled: int = 0
    lean: int = 0
    fell_back: int = 0
    """Queries with a root field that no rows are behind, introspection aside."""


@dataclass
class Plan:
    """One operation for one shape of its variables; statements are added as they are needed."""

    operation: Operation
    limits: Limits
    counters: Counters
    statements: Recent[Hashable, Statement] = field(default_factory=lambda: Recent(STATEMENTS_OF_A_PLAN))

    def __post_init__(self) -> None:
        self.roots = {root.key: root for root in self.operation.roots()}
        self.is_backed = all(root.name == TYPENAME or is_read(root) for root in self.roots.values())
        self.falls_back = any(not root.name.startswith("__") and not is_read(root) for root in self.roots.values())

    def statement(self, key: Hashable, make: Callable[[Selection], ColumnElement[Any]]) -> Statement:
        kept = self.statements.get(key)
        if kept is not None:
            return kept
        self.counters.compiled += 1
        parameters, budget = Parameters(), Budget(self.limits)
        selection = Selection(self.operation, parameters, budget)
        made = make(selection)
        return self.statements.keep(key, compiled(made, parameters, budget, selection.guards))


def is_read(root: Selected) -> bool:
    return hasattr(root.declaration, "source")


class Prepared:
    """An operation of a document, whatever its variables hold."""

    def __init__(
        self,
        schema: GraphQLSchema,
        fragments: dict[str, FragmentDetails],
        definition: OperationDefinitionNode,
        limits: Limits,
        counters: Counters,
        plans: Recent[tuple[int, Hashable], Plan],
    ) -> None:
        self.schema = schema
        self.fragments = fragments
        self.definition = definition
        self.limits = limits
        self.counters = counters
        self.plans = plans
        self.types: dict[str, GraphQLInputType] = {
            each.variable.name.value: type_from_ast(schema, each.type)  # type: ignore[misc]
            for each in definition.variable_definitions or ()
        }

    def plan(self, variables: VariableValues) -> Plan:
        outlined = {name: outline(self.types[name], value, (name,)) for name, value in variables.coerced.items()}
        # A plan keeps the syntax tree, so no other tree can have this id while it is kept.
        key = id(self.definition), shape(outlined)
        kept = self.plans.get(key)
        if kept is not None:
            return kept
        symbolic = VariableValues(variables.sources, outlined)
        operation = Operation(self.schema, self.fragments, self.definition, symbolic)
        return self.plans.keep(key, Plan(operation, self.limits, self.counters), length(self.definition))


def length(definition: OperationDefinitionNode) -> int:
    """How many characters the document around an operation has."""
    return len(definition.loc.source.body) if definition.loc else 0


class Engine:
    def __init__(self, schema: GraphQLSchema, limits: Limits) -> None:
        self.schema = schema
        self.limits = limits
        self.counters = Counters()
        self._prepared: Recent[int, Prepared] = Recent(OPERATIONS)
        self._plans: Recent[tuple[int, Hashable], Plan] = Recent(PLANS)

    def prepared(self, definition: OperationDefinitionNode, fragments: dict[str, FragmentDetails]) -> Prepared:
        # Comparing syntax trees costs more than executing them; what is kept here keeps its tree, and so its id.
        kept = self._prepared.get(id(definition))
        if kept is not None:
            return kept
        made = Prepared(self.schema, fragments, definition, self.limits, self.counters, self._plans)
        return self._prepared.keep(id(definition), made, length(definition))

    async def root(self, plan: Plan, root: Selected, values: Values, context: Context) -> str | None:
        """The JSON of a root field."""
        match root.declaration.source:
            case NodeById():
                path = (*root.path, "id")
                id_ = filled(root.arguments["id"], values)
                return await self.one(plan, root, referred(self.schema, id_, path), values, context)
            case NodesByIds():
                return await self.all(plan, root, self._referred(root, values), values, context)
            case Relation() as relation:
                statement = plan.statement(root.path, lambda selection: selection.relation(root, relation, None))
                return await self._ask(statement, values, context)
        raise LookupError(f"{root.name} is no root field that can be read")

    def _referred(self, root: Selected, values: Values) -> list[Ref]:
        ids = filled(root.arguments["ids"], values)
        path = (*root.path, "ids")
        if len(ids) > self.limits.ids:
            raise InvalidArgument(f"at most {self.limits.ids} ids can be asked for at once, not {len(ids)}", path)
        return [referred(self.schema, id_, (*path, place)) for place, id_ in enumerate(ids)]

    async def one(self, plan: Plan, place: Selected, reference: Ref, values: Values, context: Context) -> str | None:
        """The JSON of one referred row, as it is selected at that place."""
        type_ = self._type(reference)
        statement = plan.statement(
            (single, *place.selects, type_.name), lambda selection: single(selection, place, type_)
        )
        return await self._ask(statement, {**values, **given_key(reference)}, context)

    async def all(
        self, plan: Plan, place: Selected, references: Sequence[Ref | None], values: Values, context: Context
    ) -> str | None:
        """The JSON of a list of referred rows, in one statement."""
        named = self._named(references)
        if not named:
            return f"[{','.join('null' for _ in references)}]"
        statement = plan.statement(
            (several, *place.selects, *named), lambda selection: several(selection, place, named.values())
        )
        return await self._ask(statement, {**values, **given_keys(references)}, context)

    async def each(
        self, plan: Plan, place: Selected, references: Sequence[Ref], values: Values, context: Context
    ) -> list[str | None]:
        """The JSON of each referred row, in one statement for all of them."""
        if len(references) == 1:
            return [await self.one(plan, place, references[0], values, context)]
        named = self._named(references)
        statement = plan.statement(
            (apart, *place.selects, *named), lambda selection: apart(selection, place, named.values())
        )
        texts = await self._ask(statement, {**values, **given_keys(references)}, context)
        return [text or None for text in (texts or "").split(BETWEEN)]

    def _named(self, references: Iterable[Ref | None]) -> dict[str, GraphQLObjectType]:
        """The types that are referred to, by their names, in one order."""
        named = {reference.type_name: self._type(reference) for reference in references if reference is not None}
        return dict(sorted(named.items()))

    def _type(self, reference: Ref) -> GraphQLObjectType:
        type_ = self.schema.get_type(reference.type_name)
        assert isinstance(type_, GraphQLObjectType)
        return type_

    async def _ask(self, statement: Statement, values: Values, context: Context) -> str | None:
        for guard in statement.guards:
            guard(context)
        arguments = statement.arguments(values)
        self.counters.statements += 1
        return await context.fetch(statement.sql, arguments)


class Document:
    """A parsed document and what validation said about it."""

    def __init__(self, tree: DocumentNode, errors: list[GraphQLError]) -> None:
        self.tree = tree
        self.errors = errors
        self.fragments = fragments_of(tree)
        self.operations = sum(isinstance(each, OperationDefinitionNode) for each in tree.definitions)

    def require_choice(self, operation_name: str | None) -> None:
        """Strawberry would take the first operation where none is named."""
        if self.operations > 1 and operation_name is None:
            raise GraphQLError("Must provide operation name if query contains multiple operations.")


def fragments_of(document: DocumentNode) -> dict[str, FragmentDetails]:
    definitions = (each for each in document.definitions if isinstance(each, FragmentDefinitionNode))
    return {each.name.value: FragmentDetails(each) for each in definitions}
