"""The engine within Strawberry: what it reads is spliced into the answer as the text that Postgres gave."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

import orjson
from graphql import (
    GraphQLNonNull,
    GraphQLOutputType,
    GraphQLResolveInfo,
    OperationDefinitionNode,
    OperationType,
    get_operation_ast,
    parse,
)
from graphql.execution.collect_fields import FieldDetailsList
from graphql.execution.values import get_variable_values
from graphql.pyutils import Path
from strawberry.extensions import SchemaExtension
from strawberry.schema.schema import Schema as StrawberrySchema
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext, validate_document
from strawberry.types import ExecutionResult

from engine.collect import TYPENAME, Selected
from engine.limits import Limits, require_few_roots
from engine.mapping import ASKED
from engine.plans import Recent
from engine.reading import Context, Document, Engine, Plan
from engine.references import Ref

DOCUMENTS = 1_000
LONGEST_KEPT = 32_768
"""A longer document is parsed each time, so that the cache stays small whatever is sent."""


class Executor(StrawberryGraphQLCoreExecutionContext):
    """graphql-core's executor, which leaves finished JSON alone and has the engine read what refers to rows."""

    _plan: Plan | None = None

    def complete_value(
        self,
        return_type: GraphQLOutputType,
        field_details_list: FieldDetailsList,
        info: GraphQLResolveInfo[Any],
        path: Path,
        result: Any,
        position_context: Any,
    ) -> Any:
        if isinstance(result, orjson.Fragment):
            return result
        if result is ASKED:
            return self._root(return_type, info, path)
        if isinstance(result, Ref):
            return self._one(return_type, field_details_list, info, path, result)
        if isinstance(result, list) and any(isinstance(item, Ref) for item in result):
            return self._all(return_type, field_details_list, info, path, result)
        return super().complete_value(return_type, field_details_list, info, path, result, position_context)

    @property
    def engine(self) -> Engine:
        schema: Schema = self.schema._strawberry_schema  # type: ignore[attr-defined]
        return schema.engine

    @property
    def plan(self) -> Plan:
        if self._plan is None:
            self._plan = self.engine.prepared(self.operation, self.fragments).plan(self.variable_values)
        return self._plan

    async def _root(self, return_type: GraphQLOutputType, info: GraphQLResolveInfo[Any], path: Path) -> Any:
        root = self.plan.roots[str(path.key)]
        values = self.variable_values.coerced
        return spliced(await self.engine.root(self.plan, root, values, self.context_value), return_type, _named(info))

    async def _one(
        self,
        return_type: GraphQLOutputType,
        details: FieldDetailsList,
        info: GraphQLResolveInfo[Any],
        path: Path,
        reference: Ref,
    ) -> Any:
        place, values = self._place(details, info, path), self.variable_values.coerced
        return spliced(
            await self.engine.one(self.plan, place, reference, values, self.context_value), return_type, _named(info)
        )

    async def _all(
        self,
        return_type: GraphQLOutputType,
        details: FieldDetailsList,
        info: GraphQLResolveInfo[Any],
        path: Path,
        references: list[Ref | None],
    ) -> Any:
        place, values = self._place(details, info, path), self.variable_values.coerced
        return spliced(
            await self.engine.all(self.plan, place, references, values, self.context_value), return_type, _named(info)
        )

    def _place(self, details: FieldDetailsList, info: GraphQLResolveInfo[Any], path: Path) -> Selected:
        keys = tuple(key for key in path.as_list() if isinstance(key, str))
        definition = info.parent_type.fields[info.field_name]
        return Selected(keys[-1], info.field_name, keys, details, definition, {})


def spliced(text: str | None, return_type: GraphQLOutputType, field: str) -> orjson.Fragment | None:
    if text is not None:
        return orjson.Fragment(text)
    if isinstance(return_type, GraphQLNonNull):
        raise TypeError(f"Cannot return null for non-nullable field {field}.")
    return None


def _named(info: GraphQLResolveInfo[Any]) -> str:
    return f"{info.parent_type}.{info.field_name}"


class Reading(SchemaExtension):
    """Spares a known document its parsing and validation, and a query of nothing but rows graphql-core's execution."""

    def __init__(self, schema: "Schema") -> None:
        self.schema = schema
        self.document: Document | None = None

    def on_operation(self) -> Any:
        context = self.execution_context
        if context.query and context.graphql_document is None:
            self.document = self.schema.document(context.query, context.validation_rules)
            self.document.require_choice(context._provided_operation_name)
            context.graphql_document = self.document.tree
            context.pre_execution_errors = self.document.errors
        yield

    async def on_execute(self) -> AsyncIterator[None]:
        context = self.execution_context
        if self.document is not None:
            definition = get_operation_ast(self.document.tree, context.operation_name)
            if definition is not None and definition.operation is OperationType.QUERY:
                context.result = await self.schema.answer(
                    self.document, definition, context.variables or {}, context.context
                )
        yield


class Schema(StrawberrySchema):
    """A Strawberry schema whose backed types are read by the engine. `lean` only makes it faster."""

    def __init__(
        self,
        query: type,
        *,
        limits: Limits | None = None,
        lean: bool = True,
        extensions: Iterable[type[SchemaExtension] | Callable[[], SchemaExtension]] = (),
        **options: Any,
    ) -> None:
        super().__init__(
            query,
            extensions=[*extensions, lambda: Reading(self)],
            execution_context_class=Executor,
            **options,
        )
        self.limits = limits or Limits()
        self.lean = lean
        self.engine = Engine(self._schema, self.limits)
        self._documents: Recent[str, Document] = Recent(DOCUMENTS)

    def document(self, text: str, rules: Any) -> Document:
        kept = self._documents.get(text)
        if kept is not None:
            return kept
        tree = parse(text, max_tokens=self.limits.tokens)
        errors = validate_document(self._schema, tree, rules) or require_few_roots(tree, self.limits)
        document = Document(tree, errors)
        return document if errors or len(text) > LONGEST_KEPT else self._documents.keep(text, document)

    async def answer(
        self, document: Document, definition: OperationDefinitionNode, variables: dict[str, Any], context: Context
    ) -> ExecutionResult | None:
        """The answer to a query that is backed throughout; None where graphql-core has to execute it.

        Whatever goes wrong is left to graphql-core, which asks again and puts each error in its place: so the answer
        is the same with and without this. Root fields are asked at once, each for itself: an answer of several of
        them is no snapshot.
        """
        values = get_variable_values(self._schema, definition.variable_definitions or (), variables)
        if isinstance(values, list):
            return None
        try:
            plan = self.engine.prepared(definition, document.fragments).plan(values)
            if plan.falls_back:
                self.engine.counters.fell_back += 1
            if plan.is_backed and self.lean:
                return ExecutionResult(data=await self._read(plan, values.coerced, context), errors=None)
        except Exception:
            return None
        return None

    async def _read(self, plan: Plan, values: dict[str, Any], context: Context) -> dict[str, Any]:
        reads = [self._member(plan, root, values, context) for root in plan.roots.values()]
        members = [await reads[0]] if len(reads) == 1 else await asyncio.gather(*reads)
        self.engine.counters.lean += 1
        return dict(zip(plan.roots, members, strict=True))

    async def _member(self, plan: Plan, root: Selected, values: dict[str, Any], context: Context) -> Any:
        if root.name == TYPENAME:
            return plan.operation.root_type.name
        assert root.definition is not None
        return spliced(await self.engine.root(plan, root, values, context), root.definition.type, root.name)
