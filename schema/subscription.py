from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Protocol

import strawberry
from strawberry.types import Info

from engine.references import ref
from models.base import Role
from resolvers.acting import OVERVIEW
from schema.overview import BenchmarkOverview
from schema.roles import subscription


class Context(Protocol):
    """What subscriptions want of a request."""

    def changes(self, topic: str) -> AsyncGenerator[None, None]:
        """Once at the start, then after changes: not more than once a second, and never missing the last."""
        ...


@strawberry.type
class Subscription:
    @subscription(Role.VIEWER, description="At most one a second.")
    async def overview_changes(self, info: Info[Context, None]) -> AsyncGenerator[BenchmarkOverview, None]:
        async with aclosing(info.context.changes(OVERVIEW)) as changes:
            async for _ in changes:
                yield ref(BenchmarkOverview)
