"""Who acts, and in which transaction."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlalchemy import func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from models import Action
from models.base import table

# What readers can listen to.
OVERVIEW = "overview"
# With the key of one: see resolvers.tables.topic.
BENCHMARK = "benchmark"
# Work for whoever runs it; `runs:lost` says that who holds some may have lost it.
RUNS = "runs"
# With the key of one: how far it is.
RUN = "run"
# What every process listens to, for the database itself announces it: see migration 0004.
TOKENS = "tokens"


def channel(topic: str) -> str:
    """A topic can be about one of many, as `benchmark:7` is: they share a channel, in which the rest is told."""
    return f"assay_{topic.partition(':')[0]}"


async def announce(connection: AsyncConnection, topics: Iterable[str]) -> None:
    """Tells every process. A commit that announces holds a lock over all of the server: do it after the real one."""
    for topic in sorted(topics):
        await connection.execute(select(func.pg_notify(channel(topic), topic.partition(":")[2])))


@dataclass(slots=True)
class Acting:
    """One mutation on its way: rules read and write through its connection, in the name of its actor."""

    connection: AsyncConnection
    actor: str
    # What readers that listen should hear of once this is committed.
    topics: set[str] = field(default_factory=set)

    async def note(self, mutation: str, subject: str | None) -> None:
        """Keep who did it."""
        await self.connection.execute(
            insert(table(Action)).values(actor=self.actor, mutation=mutation, subject=subject)
        )
