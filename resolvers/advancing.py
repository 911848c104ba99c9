"""How far a run is, so that whoever watches it can tell that it got on."""

from dataclasses import dataclass

from sqlalchemy import Text, cast, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from models import Run, RunItem
from models.base import table

runs, items = table(Run), table(RunItem)


@dataclass(frozen=True, slots=True)
class Advance:
    """Two that differ are of two moments between which something happened."""

    has_ended: bool
    state: str


async def advance(connection: AsyncConnection, run_pk: int) -> Advance | None:
    counted = (
        select(items.c.status, items.c.stage, func.count().label("count"))
        .where(items.c.run_pk == runs.c.id)
        .group_by(items.c.status, items.c.stage)
        .order_by(items.c.status, items.c.stage)
        .correlate(runs)
        .subquery("counted")
    )
    counts = select(func.json_agg(func.json_build_array(*counted.c))).scalar_subquery()
    state = func.concat_ws(" ", runs.c.status, cast(runs.c.cost, Text), cast(counts, Text))
    found = await connection.execute(select(runs.c.finished_at, state).where(runs.c.id == run_pk))
    row = found.one_or_none()
    return None if row is None else Advance(row[0] is not None, row[1])
