"""Mutations: the role that each needs, the transaction around it, and the union that it answers."""

import functools
import inspect
import operator
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Annotated, Any, Protocol, TypeAlias

import strawberry
from graphql import GraphQLObjectType
from graphql.execution.collect_fields import FieldDetailsList
from graphql.pyutils import Path
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection
from strawberry.types import Info
from strawberry.utils.str_converters import capitalize_first, to_camel_case

from engine.execute import Executor
from engine.references import Ref
from interchange.uploads import Store
from models.base import Role
from resolvers.access import Viewer, require
from resolvers.acting import Acting
from resolvers.transient import is_transient
from schema.results import Forbidden

ROLE = "role"
ATTEMPTS = 5


class Context(Protocol):
    """What mutations want of a request."""

    viewer: Viewer
    acting: Acting
    files: Store

    def transaction(self) -> AbstractAsyncContextManager[None]:
        """Opens `acting`, commits when left in peace, and tells listeners afterwards."""
        ...

    def reading(self) -> AbstractAsyncContextManager[AsyncConnection]:
        """A connection to where is written, which cannot write."""
        ...

    def primary(self) -> AbstractAsyncContextManager[None]:
        """Reads from where is written."""
        ...


Request: TypeAlias = Info[Context, None]
Resolver: TypeAlias = Callable[..., Awaitable[Any]]


class ActingExecutor(Executor):
    """Keeps the transaction of a mutation open until its payload has been read in it.

    Events of subscriptions are read where it was written: a replica may lag behind what they tell of.
    """

    def execute_field(
        self,
        parent_type: GraphQLObjectType,
        source: Any,
        field_details_list: FieldDetailsList,
        path: Path,
        position_context: Any,
    ) -> Any:
        arguments = (parent_type, source, field_details_list, path, position_context)
        execute = functools.partial(super().execute_field, *arguments)
        if parent_type is self.schema.mutation_type:
            return _within(self.context_value.transaction(), execute)
        if parent_type is self.schema.subscription_type:
            return _within(self.context_value.primary(), execute)
        return execute()


async def _within(place: AbstractAsyncContextManager[None], execute: Callable[[], Any]) -> Any:
    async with place:
        result = execute()
        return await result if inspect.isawaitable(result) else result


def mutation(role: Role, *errors: type) -> Callable[[Resolver], Any]:
    """A mutation for callers of this role or a higher one, which can fail in these ways.

    Its result is a union of what the resolver returns, those errors and Forbidden. A rule that raises leaves nothing
    behind, and what Postgres could not bring in line with others is tried again.
    """

    def decorate(resolver: Resolver) -> Any:
        signature = inspect.signature(resolver)
        name = f"{capitalize_first(to_camel_case(resolver.__name__))}Result"

        @functools.wraps(resolver)
        async def act(self: Any, info: Request, **given: Any) -> Any:
            require(info.context.viewer, role)
            result = await _repeated(info.context.acting, lambda: resolver(self, info, **given))
            await info.context.acting.note(resolver.__name__, _subject(result))
            return result

        members = functools.reduce(operator.or_, (signature.return_annotation, *errors, Forbidden))
        union = Annotated[members, strawberry.union(name)]  # type: ignore[valid-type]  # made here, not declared
        act.__annotations__ = {**resolver.__annotations__, "return": union}
        # What wraps() leaves would lead back to the resolver's own result.
        del act.__wrapped__
        act.__signature__ = signature.replace(return_annotation=union)  # type: ignore[attr-defined]
        return strawberry.mutation(act, description=inspect.getdoc(resolver), metadata={ROLE: role})

    return decorate


async def _repeated(acting: Acting, resolve: Callable[[], Awaitable[Any]]) -> Any:
    for _ in range(ATTEMPTS - 1):
        try:
            return await _whole(acting, resolve)
        except DBAPIError as error:
            if not is_transient(error):
                raise
    return await _whole(acting, resolve)


async def _whole(acting: Acting, resolve: Callable[[], Awaitable[Any]]) -> Any:
    try:
        async with acting.connection.begin_nested():
            return await resolve()
    except BaseException:
        acting.topics.clear()
        raise


def _subject(payload: Any) -> str | None:
    """What a payload is about: the first row that it refers to."""
    references = (value for value in vars(payload).values() if isinstance(value, Ref))
    found = next(references, None)
    return None if found is None else f"{found.type_name}:{found.key}"
