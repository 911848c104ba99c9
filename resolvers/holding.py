"""What every result of a worker is stored under: the benchmark shared, the run, its rows, and the items by token."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlalchemy import BigInteger, Row, Uuid, select, update

from models import Run, RunItem
from models.base import table
from resolvers.acting import Acting
from resolvers.ending import run_topic, stop_spending
from resolvers.errors import NotFound
from resolvers.queue import Held
from resolvers.sql import sent
from resolvers.tables import locked_rows, shared

runs, items = table(Run), table(RunItem)


@dataclass(frozen=True, slots=True)
class Ground:
    """The ids of the items that their worker still holds; who lost its own stores nothing."""

    benchmark: Row[Any]
    run: Row[Any]
    held: frozenset[int]


async def hold(acting: Acting, run_pk: int, claimed: Sequence[Held]) -> Ground | None:
    """None where the run went with its benchmark. Rows come before items, as whoever removes rows takes them."""
    [benchmark_pk] = {item.benchmark_pk for item in claimed}
    try:
        benchmark = await shared(acting, benchmark_pk)
    except NotFound:
        return None
    its_run = select(runs).where(runs.c.id == run_pk).with_for_update(key_share=True)
    run = (await acting.connection.execute(its_run)).one()
    await locked_rows(acting, benchmark_pk, (item.row_pk for item in claimed))
    mine = sent("mine", {"id": BigInteger(), "token": Uuid()}, [(item.id, item.token) for item in claimed])
    held = (
        select(items.c.id)
        .join(mine, (mine.c.id == items.c.id) & (mine.c.token == items.c.token))
        .order_by(items.c.id)
        .with_for_update(of=items)
    )
    return Ground(benchmark, run, frozenset((await acting.connection.execute(held)).scalars()))


async def charge(acting: Acting, run: Row[Any], cost: Decimal, unpriced_calls: int) -> None:
    """Add what was spent. What has not started is not, once the limit is reached."""
    await acting.connection.execute(
        update(runs)
        .where(runs.c.id == run.id)
        .values(cost=runs.c.cost + cost, unpriced_calls=runs.c.unpriced_calls + unpriced_calls)
    )
    if run.max_cost is not None:
        await stop_spending(acting, runs.c.id == run.id)
    acting.topics.add(run_topic(run.id))
