"""Errors nobody expected leave as a message with an id; the log has the rest under the same id."""

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from typing import Any, Final
from uuid import uuid4

import strawberry
import structlog
from graphql import GraphQLError
from strawberry.exceptions import MissingQueryError
from strawberry.schema.exceptions import CannotGetOperationTypeError, InvalidOperationTypeError
from strawberry.types import ExecutionContext, ExecutionResult

log = structlog.get_logger(__name__)

READABLE: Final = (GraphQLError, MissingQueryError, CannotGetOperationTypeError, InvalidOperationTypeError)


def readable(error: GraphQLError) -> bool:
    """True for what the caller can mend: syntax, validation, arguments and variables."""
    cause = error.original_error
    if cause is None or isinstance(cause, READABLE):
        return True
    # A scalar that refuses a value says why in a ValueError; it points into the document, and no field ran yet.
    return isinstance(cause, ValueError) and bool(error.nodes) and error.path is None


def mask(error: GraphQLError) -> GraphQLError:
    if readable(error):
        return error
    error_id = uuid4().hex
    log.error("unexpected_error", error_id=error_id, path=error.path, exc_info=error.original_error)
    return GraphQLError(
        f"Something went wrong on the server. Its log has the details under {error_id}.",
        nodes=error.nodes,
        path=error.path,
        extensions={"code": "INTERNAL", "errorId": error_id},
    )


def masked(errors: Iterable[GraphQLError] | None) -> list[GraphQLError] | None:
    return [mask(error) for error in errors] if errors else None


class MaskedSchema(strawberry.Schema):
    """Masks at the last step, so that what an extension raises is covered as well as what a resolver raises."""

    def process_errors(self, errors: list[GraphQLError], execution_context: ExecutionContext | None = None) -> None:
        """Faults of the caller are no news for the log, and `mask` logs the others."""

    async def execute(self, *args: Any, **kwargs: Any) -> ExecutionResult:
        result = await super().execute(*args, **kwargs)
        result.errors = masked(result.errors)
        return result

    async def stream(self, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
        return masked_stream(await super().stream(*args, **kwargs))


async def masked_stream(results: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
    async with aclosing(results):
        async for result in results:
            result.errors = masked(result.errors)
            yield result
