"""Roles of what is no mutation: rows behind a guard, plain fields, subscriptions."""

import inspect
from collections.abc import Callable
from typing import Any, Protocol

import strawberry
from graphql import GraphQLError
from strawberry.extensions import FieldExtension
from strawberry.types import Info

from models.base import Role
from resolvers.access import Viewer, may
from schema.acting import ROLE


class RoleNeeded(GraphQLError):
    def __init__(self, required: Role) -> None:
        super().__init__(
            f"This needs the role {required}.", extensions={"code": "FORBIDDEN", "required": required.value}
        )


class Seen(Protocol):
    viewer: Viewer


def allow(context: Seen, role: Role) -> None:
    if not may(context.viewer, role):
        raise RoleNeeded(role)


def guard(role: Role) -> Callable[[Seen], None]:
    """Stands before rows that only callers of this role or a higher one may see."""
    return lambda context: allow(context, role)


class Needs(FieldExtension):
    """Stands before a field, whether it answers at once, later, or again and again."""

    def __init__(self, role: Role) -> None:
        self.role = role

    def resolve(self, next_: Callable[..., Any], source: Any, info: Info[Seen, None], **given: Any) -> Any:
        allow(info.context, self.role)
        return next_(source, info, **given)

    async def resolve_async(self, next_: Callable[..., Any], source: Any, info: Info[Seen, None], **given: Any) -> Any:
        allow(info.context, self.role)
        result = next_(source, info, **given)
        return await result if inspect.isawaitable(result) else result


def subscription(role: Role, *, description: str | None = None) -> Callable[[Callable[..., Any]], Any]:
    """A subscription for callers of this role or a higher one."""

    def decorate(resolver: Callable[..., Any]) -> Any:
        return strawberry.subscription(
            resolver, description=description, extensions=[Needs(role)], metadata={ROLE: role}
        )

    return decorate
