"""How runs end: by themselves, cancelled, or out of budget."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Case, ColumnElement, and_, case, delete, exists, func, not_, or_, select, update

from models import Run, RunInput, RunItem
from models.base import RunItemStatus, RunStage, RunStatus, table
from resolvers.acting import RUN, RUNS, Acting
from resolvers.errors import NotFound
from resolvers.sql import among, constant

runs, items, inputs = table(Run), table(RunItem), table(RunInput)

# Of runs and of items.
ACTIVE = (RunItemStatus.QUEUED, RunItemStatus.RUNNING)
# What workers are told besides: that they may have lost items.
LOST = f"{RUNS}:lost"


def run_topic(run_pk: int) -> str:
    return f"{RUN}:{run_pk}"


def is_active(status: ColumnElement[Any]) -> ColumnElement[bool]:
    """Spelled as the partial indices are, whatever the plan knows of its parameters."""
    return status.in_([constant(word) for word in ACTIVE])


async def cancel(acting: Acting, run_pk: int) -> None:
    """No item starts any more, and what is done stays. A run that has ended stays as it ended."""
    held = select(runs.c.id, runs.c.finished_at).where(runs.c.id == run_pk).with_for_update()
    run = (await acting.connection.execute(held)).one_or_none()
    if run is None:
        raise NotFound("There is no such run.", ("id",))
    if run.finished_at is not None:
        return
    await _end_items(acting, and_(items.c.run_pk == run_pk, is_active(items.c.status)), RunItemStatus.CANCELLED)
    await acting.connection.execute(
        update(runs).where(runs.c.id == run_pk).values(status=RunStatus.CANCELLED, finished_at=func.now())
    )
    await acting.connection.execute(delete(inputs).where(inputs.c.run_pk == run_pk))
    acting.topics |= {run_topic(run_pk), LOST}


async def stop_spending(acting: Acting, which: ColumnElement[bool]) -> None:
    """End what has not started of these runs where the known cost has reached the limit. The runs are held."""
    spent = select(runs.c.id).where(which, runs.c.cost >= runs.c.max_cost)
    never_started = and_(items.c.run_pk.in_(spent), items.c.status == RunItemStatus.QUEUED)
    await _end_items(acting, never_started, RunItemStatus.OUT_OF_BUDGET)


async def _end_items(acting: Acting, which: ColumnElement[bool], status: RunItemStatus) -> None:
    await acting.connection.execute(
        update(items).where(which).values(status=status, token=None, lease_until=None, finished_at=func.now())
    )


async def wake_waiting(acting: Acting, which: ColumnElement[bool]) -> None:
    """Score what waited for its row's other answers, where none of them is on its way any more."""
    other = items.alias("other_of_row")
    on_its_way = exists(
        select(other.c.id).where(
            other.c.run_pk == items.c.run_pk,
            other.c.row_pk == items.c.row_pk,
            other.c.stage == constant(RunStage.GENERATE),
            is_active(other.c.status),
        )
    )
    await acting.connection.execute(
        update(items)
        .where(which, items.c.stage == constant(RunStage.WAIT), is_active(items.c.status), not_(on_its_way))
        .values(stage=RunStage.EVALUATE)
    )


async def finish(acting: Acting, run_pks: Sequence[int]) -> list[int]:
    """End these runs as far as all of their items have, and say which did.

    Whoever ends an item calls this after it has committed: then the last of several sees all the others.
    """
    which = and_(among(runs.c.id, run_pks), is_active(runs.c.status))
    open_items = exists(select(items.c.id).where(items.c.run_pk == runs.c.id, is_active(items.c.status)))
    ended = (
        update(runs)
        .where(which, not_(open_items))
        .values(status=_outcome(), finished_at=func.now())
        .returning(runs.c.id)
    )
    done = list((await acting.connection.execute(ended)).scalars())
    if done:
        await acting.connection.execute(delete(inputs).where(among(inputs.c.run_pk, done)))
        acting.topics |= {run_topic(run_pk) for run_pk in done}
    return done


async def settle(acting: Acting) -> None:
    """What follows for active runs from what nobody here did: rows and tracks removed, workers gone."""
    active = select(runs.c.id).where(is_active(runs.c.status)).order_by(runs.c.id)
    limited = active.where(runs.c.cost >= runs.c.max_cost).with_for_update(key_share=True)
    if (await acting.connection.execute(limited)).first() is not None:
        await stop_spending(acting, is_active(runs.c.status))
    await wake_waiting(acting, items.c.run_pk.in_(active))
    await finish(acting, list((await acting.connection.execute(active)).scalars()))


def _outcome() -> Case[str]:
    """A run that had nothing to do did it."""
    its_items = select(items.c.id).where(items.c.run_pk == runs.c.id)
    succeeded = exists(its_items.where(items.c.status == RunItemStatus.SUCCEEDED))
    return case((or_(succeeded, ~exists(its_items)), RunStatus.SUCCEEDED.value), else_=RunStatus.FAILED.value)
