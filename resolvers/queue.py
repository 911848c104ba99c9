"""Items of runs on their way through workers: claimed with a lease, renewed, and taken back from whoever is gone.

A worker holds an item by a token. In flight to a model is what is held with it, in all workers together; whoever claims
for a model holds the model's row meanwhile, so that two never count the same free place.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    CTE,
    BigInteger,
    ColumnElement,
    Double,
    FromClause,
    Integer,
    Row,
    Select,
    Update,
    Uuid,
    and_,
    case,
    cast,
    exists,
    func,
    lateral,
    literal,
    null,
    or_,
    select,
    true,
    union_all,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from models import LanguageModel, Run, RunItem
from models.base import RunItemStatus, RunStage, RunStatus, table
from resolvers.ending import is_active
from resolvers.sql import among, constant, sent

models, runs, items = table(LanguageModel), table(Run), table(RunItem)

# Whose worker died so often is not tried again.
MOST_DEATHS: Final = 3
MINUTE: Final = 60.0
# By so much a call may come late without the pace being lost.
LATE: Final = 0.1


@dataclass(frozen=True, slots=True)
class Held:
    """One stage of an item, held by a token. `is_limited` where its run has a limit of cost."""

    id: int
    benchmark_pk: int
    is_limited: bool
    run_pk: int
    row_pk: int
    track_pk: int
    stage: RunStage
    model_pk: int | None
    metric_pks: Sequence[int]
    scored_pks: Sequence[int]
    token: UUID


HELD: Final = tuple(field.name for field in fields(Held))


@dataclass(frozen=True, slots=True)
class Claimed:
    """`due_in` is when a model that waits for its pace is due, in seconds; None where none does."""

    held: Sequence[Held]
    due_in: float | None


async def claim(
    connection: AsyncConnection, token: UUID, free: int, *, called: Sequence[Held], lease: timedelta
) -> Claimed:
    """Take up to `free` items. Those of `called` are held and do not call their model any more.

    It is one statement: a lock on a model's row that waited for its client would keep all other workers waiting.
    """
    room = _rooms(free, called)
    picked = _picked(room, free)
    taken = (
        update(items)
        .where(items.c.id == picked.c.id)
        .values(
            token=token,
            lease_until=func.now() + lease,
            status=RunItemStatus.RUNNING,
            started_at=func.coalesce(items.c.started_at, func.clock_timestamp()),
        )
        .returning(*_told())
        .cte("taken")
    )
    due = select(func.min(room.c.due_in).label("due_in")).subquery("due")
    found = select(due.c.due_in, *taken.c).select_from(due.outerjoin(taken, true())).add_cte(_paced(picked))
    told = (await connection.execute(found)).all()
    held = sorted((_held(row) for row in told if row.id is not None), key=lambda item: item.id)
    return Claimed(held, told[0].due_in)


def _rooms(free: int, called: Sequence[Held]) -> CTE:
    """How many more items each model can take now that items wait for, and in how many seconds the next is due.

    The models are held, so that nobody else claims for them, and only then counted.
    """
    has_items = exists(select(items.c.id).where(items.c.model_pk == models.c.id, _is_free()))
    waiting = select(models).where(has_items).order_by(models.c.id).with_for_update(key_share=True).cte("waiting")
    ids, tokens = literal([item.id for item in called], ARRAY(BigInteger)), [item.token for item in called]
    in_flight = func.calls_in_flight(waiting.c.id, ids, literal(tokens, ARRAY(Uuid())))
    places = func.greatest(0, func.least(free, waiting.c.max_concurrency - in_flight))
    interval = MINUTE / cast(waiting.c.requests_per_minute, Double)
    late = func.extract("epoch", func.clock_timestamp() - waiting.c.paced_until)
    is_unpaced, behind = waiting.c.requests_per_minute.is_(None), func.least(func.coalesce(late, LATE), LATE)
    due_calls = case((behind < 0, 0), else_=cast(func.floor(behind / interval), Integer) + 1)
    return select(
        waiting.c.id.label("model_pk"),
        case((is_unpaced, places), else_=func.least(places, due_calls)).label("places"),
        case((is_unpaced, null()), (behind < 0, -behind), else_=interval).label("due_in"),
    ).cte("room")


def _picked(room: CTE, free: int) -> CTE:
    """The oldest items that there is room for, and those that call no model."""
    calling = lateral(
        _oldest(items.c.model_pk == room.c.model_pk).limit(room.c.places).with_for_update(of=items, skip_locked=True)
    )
    silent = _oldest(items.c.model_pk.is_(None)).limit(free).with_for_update(of=items, skip_locked=True)
    each = union_all(
        select(calling.c.id, room.c.model_pk).select_from(room.join(calling, true())),
        select(silent.subquery("silent").c.id, null()),
    ).subquery("each")
    return select(each.c.id, each.c.model_pk).order_by(each.c.id).limit(free).cte("picked")


def _paced(picked: CTE) -> CTE:
    """The pace of each model, moved by what was picked for it."""
    calls = select(picked.c.model_pk, func.count().label("calls")).group_by(picked.c.model_pk).subquery("calls")
    return _moved(calls.c.calls).where(models.c.id == calls.c.model_pk).cte("paced")


def _oldest(which: ColumnElement[bool]) -> Select[Any]:
    affordable = or_(items.c.status == RunItemStatus.RUNNING, runs.c.max_cost.is_(None), runs.c.cost < runs.c.max_cost)
    return (
        select(items.c.id)
        .join(runs, runs.c.id == items.c.run_pk)
        .where(which, _is_free(), affordable)
        .order_by(items.c.run_pk, items.c.id)
    )


def _is_free() -> ColumnElement[bool]:
    return and_(items.c.token.is_(None), items.c.stage != constant(RunStage.WAIT), is_active(items.c.status))


def _moved(calls: ColumnElement[int]) -> Update:
    """The pace of models that have one, moved by so many calls."""
    interval = func.make_interval(0, 0, 0, 0, 0, 0, MINUTE * calls / cast(models.c.requests_per_minute, Double))
    behind = func.clock_timestamp() - timedelta(seconds=LATE)
    return (
        update(models)
        .where(models.c.requests_per_minute.is_not(None))
        .values(paced_until=func.greatest(models.c.paced_until, behind) + interval)
    )


async def pace(connection: AsyncConnection, model_pk: int) -> float:
    """Take the model's next place in its pace, and say in how many seconds it comes."""
    moved = _moved(literal(1)).where(models.c.id == model_pk)
    moved = moved.returning(models.c.paced_until, models.c.requests_per_minute, func.clock_timestamp())
    row = (await connection.execute(moved)).one_or_none()
    if row is None:
        return 0.0
    due = row[0] - timedelta(seconds=MINUTE / row[1])
    return max(0.0, float((due - row[2]).total_seconds()))


async def begin(connection: AsyncConnection, run_pks: Sequence[int]) -> None:
    """Say of runs that something was claimed of them; apart from the claim, for who ends a run holds it first."""
    first = and_(among(runs.c.id, run_pks), runs.c.status == constant(RunStatus.QUEUED))
    await connection.execute(update(runs).where(first).values(status=RunStatus.RUNNING, started_at=func.now()))


async def renew(connection: AsyncConnection, held: Sequence[Held], lease: timedelta) -> set[int]:
    """The ids of those that are still held, for so long from now on."""
    if not held:
        return set()
    mine = _sent(held)
    renewed = update(items).where(_is_held(mine)).values(lease_until=func.now() + lease).returning(items.c.id)
    return set((await connection.execute(renewed)).scalars())


async def release(connection: AsyncConnection, held: Sequence[Held]) -> None:
    """Give back what was not finished, to whoever comes."""
    await connection.execute(update(items).where(_is_held(_sent(held))).values(token=None, lease_until=None))


async def release_claims(connection: AsyncConnection, tokens: Iterable[UUID]) -> None:
    """Give back whatever was claimed with these tokens."""
    which = and_(items.c.token.is_not(None), among(items.c.token, tokens))
    await connection.execute(update(items).where(which).values(token=None, lease_until=None))


async def take_back(connection: AsyncConnection, token: UUID, lease: timedelta) -> list[Held]:
    """Free what nobody renewed. What that happened to too often is held by the caller instead, who ends it."""
    lost = select(items.c.id).where(items.c.token.is_not(None), items.c.lease_until < func.now())
    gone = lost.with_for_update(skip_locked=True).cte("gone")
    is_hopeless = items.c.deaths + 1 >= MOST_DEATHS
    taken = (
        update(items)
        .where(items.c.id == gone.c.id)
        .values(
            token=case((is_hopeless, literal(token, Uuid())), else_=null()),
            lease_until=case((is_hopeless, func.now() + lease), else_=null()),
            deaths=items.c.deaths + 1,
        )
        .returning(*_told())
    )
    return [_held(row) for row in await connection.execute(taken) if row.token is not None]


def _sent(held: Sequence[Held]) -> FromClause:
    return sent("mine", {"id": BigInteger(), "token": Uuid()}, [(item.id, item.token) for item in held])


def _is_held(mine: FromClause) -> ColumnElement[bool]:
    return and_(items.c.id == mine.c.id, items.c.token == mine.c.token)


def _told() -> list[ColumnElement[Any]]:
    of_run = {"benchmark_pk": runs.c.benchmark_pk, "is_limited": runs.c.max_cost.is_not(None)}
    its_run = runs.c.id == items.c.run_pk
    return [
        select(of_run[name]).where(its_run).scalar_subquery().label(name) if name in of_run else items.c[name]
        for name in HELD
    ]


def _held(row: Row[Any]) -> Held:
    return Held(*(getattr(row, name) for name in HELD))
