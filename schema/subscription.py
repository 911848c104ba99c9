from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Protocol

import strawberry
from sqlalchemy import BigInteger
from strawberry.types import Info

from engine.errors import InvalidArgument
from engine.references import ref
from engine.rows import key_of
from models.base import Role
from resolvers.acting import OVERVIEW
from resolvers.changes import TableChange
from schema.benchmark_changes import BenchmarkChange, shown
from schema.overview import BenchmarkOverview
from schema.roles import subscription
from schema.runs import Run


class Context(Protocol):
    """What subscriptions want of a request."""

    def changes(self, topic: str) -> AsyncGenerator[None, None]:
        """Once at the start, then after changes: not more than once a second, and never missing the last."""
        ...

    def table_changes(self, benchmark_pk: int) -> AsyncGenerator[TableChange, None]:
        """What changed in a benchmark since the one before; ends with the benchmark, or at once without one."""
        ...

    def run_changes(self, run_pk: int) -> AsyncGenerator[None, None]:
        """Once at the start, then when the run has got on; ends with the run, or at once without one."""
        ...


@strawberry.type
class Subscription:
    @subscription(Role.VIEWER, description="At most one a second.")
    async def overview_changes(self, info: Info[Context, None]) -> AsyncGenerator[BenchmarkOverview, None]:
        async with aclosing(info.context.changes(OVERVIEW)) as changes:
            async for _ in changes:
                yield ref(BenchmarkOverview)

    @subscription(
        Role.VIEWER,
        description="One event when subscribed, then on change at most four a second, and the last one always.",
    )
    async def run_progress(self, info: Info[Context, None], run_id: strawberry.ID) -> AsyncGenerator[Run, None]:
        key = int(key_of("Run", BigInteger(), run_id, ("runId",)))
        is_there = False
        async with aclosing(info.context.run_changes(key)) as changes:
            async for _ in changes:
                is_there = True
                yield ref(Run, key)
        if not is_there:
            raise InvalidArgument("there is no such run", ("runId",))

    @subscription(Role.VIEWER, description="The first event, and one after a gap, says resync: read the table anew.")
    async def benchmark_changes(
        self, info: Info[Context, None], benchmark_id: strawberry.ID
    ) -> AsyncGenerator[BenchmarkChange, None]:
        key = int(key_of("Benchmark", BigInteger(), benchmark_id, ("benchmarkId",)))
        is_there = False
        async with aclosing(info.context.table_changes(key)) as changes:
            async for change in changes:
                is_there = True
                yield shown(key, change)
        if not is_there:
            raise InvalidArgument("there is no such benchmark", ("benchmarkId",))
