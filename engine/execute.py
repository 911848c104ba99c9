"""The engine within Strawberry: what it reads is spliced into the answer as the text that Postgres gave."""

import asyncio
import functools
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterable, Sequence
from typing import Any

import orjson
from graphql import (
    GraphQLError,
    GraphQLNonNull,
    GraphQLOutputType,
    GraphQLResolveInfo,
    OperationDefinitionNode,
    get_operation_ast,
    parse,
    specified_rules,
)
from graphql.execution.collect_fields import FieldDetailsList
from graphql.execution.values import get_variable_values
from graphql.language import OperationType as Kind
from graphql.pyutils import Path
from strawberry.extensions import SchemaExtension
from strawberry.schema.schema import Schema as StrawberrySchema
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext, validate_document
from strawberry.types import ExecutionResult
from strawberry.types.execution import PreExecutionError
from strawberry.types.graphql import OperationType

from engine.collect import TYPENAME, Selected
from engine.limits import Limits, require_few_roots
from engine.mapping import ASKED
from engine.plans import Recent
from engine.reading import Context, Document, Engine, Plan
from engine.references import Present, Ref
from engine.select import COLLATION

DOCUMENTS = 500_000
"""In characters: what is kept of a document grows with its length."""
LONGEST_KEPT = 32_768
"""A longer document is parsed each time, so that the cache stays small whatever is sent."""


class Batch:
    """References at one place of the selection, which are read together once the first of them is waited for."""

    def __init__(self, read: Callable[[Sequence[Ref]], Coroutine[Any, Any, list[str | None]]]) -> None:
        self._read = read
        self._references: list[Ref] = []
        self._texts: asyncio.Future[list[str | None]] | None = None
        self._waiting = 0

    @property
    def is_read(self) -> bool:
        return self._texts is not None

    def add(self, reference: Ref) -> Awaitable[str | None]:
        self._references.append(reference)
        self._waiting += 1
        return self._text(len(self._references) - 1)

    async def _text(self, place: int) -> str | None:
        if self._texts is None:
            self._texts = asyncio.ensure_future(self._read(self._references))
        try:
            # One item that is given up must not take the others' rows away.
            return (await asyncio.shield(self._texts))[place]
        finally:
            self._waiting -= 1
            if not self._waiting and not self._texts.done():
                self._texts.cancel()
                await asyncio.wait([self._texts])


class Executor(StrawberryGraphQLCoreExecutionContext):
    """graphql-core's executor, which leaves finished JSON alone and has the engine read what refers to rows."""

    _plan: Plan | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._batches: dict[Hashable, Batch] = {}

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
        if isinstance(result, Present) and result:
            return self._present(field_details_list, info, path, result)
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

    def _one(
        self,
        return_type: GraphQLOutputType,
        details: FieldDetailsList,
        info: GraphQLResolveInfo[Any],
        path: Path,
        reference: Ref,
    ) -> Awaitable[Any]:
        """Items of a list are completed before the first of them is waited for, and so are read together."""
        place = self._place(details, info, path)
        batch = self._batches.get(place.selects)
        if batch is None or batch.is_read:
            batch = self._batches[place.selects] = Batch(functools.partial(self._each, place))
        text = batch.add(reference)
        return _spliced(text, return_type, _named(info))

    async def _each(self, place: Selected, references: Sequence[Ref]) -> list[str | None]:
        values = self.variable_values.coerced
        return await self.engine.each(self.plan, place, references, values, self.context_value)

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

    async def _present(
        self, details: FieldDetailsList, info: GraphQLResolveInfo[Any], path: Path, references: Present
    ) -> orjson.Fragment:
        texts = await self._each(self._place(details, info, path), references)
        return orjson.Fragment(f"[{','.join(filter(None, texts))}]")

    def _place(self, details: FieldDetailsList, info: GraphQLResolveInfo[Any], path: Path) -> Selected:
        keys = tuple(key for key in path.as_list() if isinstance(key, str))
        definition = info.parent_type.fields[info.field_name]
        return Selected(keys[-1], info.field_name, keys, details, definition, {})


async def _spliced(text: Awaitable[str | None], return_type: GraphQLOutputType, field: str) -> orjson.Fragment | None:
    return spliced(await text, return_type, field)


def spliced(text: str | None, return_type: GraphQLOutputType, field: str) -> orjson.Fragment | None:
    if text is not None:
        return orjson.Fragment(text)
    if isinstance(return_type, GraphQLNonNull):
        raise TypeError(f"Cannot return null for non-nullable field {field}.")
    return None


def _named(info: GraphQLResolveInfo[Any]) -> str:
    return f"{info.parent_type}.{info.field_name}"


class Reading(SchemaExtension):
    """Spares a known document its parsing and validation."""

    def __init__(self, schema: "Schema") -> None:
        self.schema = schema

    def on_operation(self) -> Any:
        context = self.execution_context
        if context.query and context.graphql_document is None:
            document = self.schema.document(context.query, context.validation_rules)
            document.require_choice(context._provided_operation_name)
            context.graphql_document = document.tree
            context.pre_execution_errors = document.errors
        yield


class Schema(StrawberrySchema):
    """A Strawberry schema whose backed types are read by the engine.

    `lean` only makes it faster: a query of nothing but rows spares itself Strawberry and graphql-core, unless an
    extension wants to see it.
    """

    def __init__(
        self,
        query: type,
        *,
        limits: Limits | None = None,
        lean: bool = True,
        executor: type[Executor] = Executor,
        extensions: Iterable[type[SchemaExtension] | Callable[[], SchemaExtension]] = (),
        **options: Any,
    ) -> None:
        self.extended = list(extensions)
        super().__init__(
            query,
            extensions=[*self.extended, lambda: Reading(self)],
            execution_context_class=executor,
            **options,
        )
        self.limits = limits or Limits()
        self.lean = lean
        self.engine = Engine(self._schema, self.limits)
        self._documents: Recent[str, Document] = Recent(DOCUMENTS)

    def order_text_by(self, collation: str | None) -> None:
        """For a database that does not sort text by code point; to be said before anything is asked."""
        self._schema.extensions[COLLATION] = collation

    def document(self, text: str, rules: Any) -> Document:
        kept = self._documents.get(text)
        if kept is not None:
            return kept
        tree = parse(text, max_tokens=self.limits.tokens)
        errors = validate_document(self._schema, tree, rules) or require_few_roots(tree, self.limits)
        document = Document(tree, errors)
        return document if errors or len(text) > LONGEST_KEPT else self._documents.keep(text, document, len(text))

    async def execute(
        self,
        query: str | None,
        variable_values: dict[str, Any] | None = None,
        context_value: Any = None,
        root_value: Any = None,
        operation_name: str | None = None,
        allowed_operation_types: Iterable[OperationType] | None = None,
        operation_extensions: dict[str, Any] | None = None,
    ) -> ExecutionResult:
        if query and not self.extended:
            answer = await self._quickly(query, variable_values or {}, context_value, operation_name)
            if answer is not None:
                return answer
        return await super().execute(
            query,
            variable_values,
            context_value,
            root_value,
            operation_name,
            allowed_operation_types,
            operation_extensions,
        )

    async def _quickly(
        self, query: str, variables: dict[str, Any], context: Context, operation_name: str | None
    ) -> ExecutionResult | None:
        try:
            document = self.document(query, tuple(specified_rules))
            document.require_choice(operation_name)
        except GraphQLError as fault:
            return PreExecutionError(data=None, errors=[fault])
        if document.errors:
            return PreExecutionError(data=None, errors=document.errors)
        definition = get_operation_ast(document.tree, operation_name)
        if definition is None or definition.operation is not Kind.QUERY:
            return None
        return await self.answer(document, definition, variables, context)

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
