"""Items of runs on their way through workers: claimed with a lease, renewed, and taken back from whoever is gone.

A worker holds an item by a token. In flight to a model is what is held with it, in all workers together; whoever claims
for a model holds the model's row meanwhile, so that two never count the same free place.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    FromClause,
    Integer,
    Row,
    Select,
    Uuid,
    and_,
    case,
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
    """One stage of an item, held by a token."""

    id: int
    benchmark_pk: int
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


@dataclass(frozen=True, slots=True)
class _Room:
    """How many more items a model can take now, and how many calls of its pace are due."""

    model_pk: int
    free: int
    due_in: float | None


async def claim(
    connection: AsyncConnection, token: UUID, free: int, *, called: Sequence[Held], lease: timedelta
) -> Claimed:
    """Take up to `free` items. Those of `called` are held and do not call their model any more."""
    waiting = await _waiting_models(connection)
    in_flight = await _in_flight(connection, [row.id for row in waiting], called) if waiting else {}
    rooms = [_room(row, in_flight.get(row.id, 0), free) for row in waiting]
    picked = _picked([room for room in rooms if room.free], free)
    taking = (
        update(items)
        .where(items.c.id == picked.c.id)
        .values(
            token=token,
            lease_until=func.now() + lease,
            status=RunItemStatus.RUNNING,
            started_at=func.coalesce(items.c.started_at, func.clock_timestamp()),
        )
        .returning(*_told())
    )
    held = [_held(row) for row in await connection.execute(taking)]
    await _pace(connection, [row for row in waiting if row.requests_per_minute is not None], held)
    return Claimed(
        sorted(held, key=lambda item: item.id), min((room.due_in for room in rooms if room.due_in), default=None)
    )


async def _waiting_models(connection: AsyncConnection) -> Sequence[Row[Any]]:
    """Models that items wait for, held so that nobody else claims for them."""
    has_items = exists(select(items.c.id).where(items.c.model_pk == models.c.id, _is_free()))
    late = func.extract("epoch", func.clock_timestamp() - models.c.paced_until)
    wanted = select(models.c.id, models.c.max_concurrency, models.c.requests_per_minute, late.label("late"))
    found = wanted.where(has_items).order_by(models.c.id).with_for_update(key_share=True)
    return (await connection.execute(found)).all()


async def _in_flight(
    connection: AsyncConnection, model_pks: Sequence[int], called: Sequence[Held]
) -> Mapping[int, int]:
    """By the token as well: an item whose call is over may be held again by now, for another call."""
    over = _sent(called)
    is_over = exists(select(over.c.id).where(_is_held(over)))
    count = (
        select(items.c.model_pk, func.count())
        .where(items.c.token.is_not(None), among(items.c.model_pk, model_pks), ~is_over)
        .group_by(items.c.model_pk)
    )
    return {row[0]: row[1] for row in await connection.execute(count)}


def _room(model: Row[Any], in_flight: int, free: int) -> _Room:
    places = max(0, min(free, model.max_concurrency - in_flight))
    if model.requests_per_minute is None:
        return _Room(model.id, places, None)
    interval = MINUTE / model.requests_per_minute
    late = LATE if model.late is None else min(float(model.late), LATE)
    if late < 0:
        return _Room(model.id, 0, -late)
    return _Room(model.id, min(places, int(late / interval) + 1), interval)


def _picked(rooms: Sequence[_Room], free: int) -> FromClause:
    """The oldest items that there is room for, and those that call no model."""
    room = sent("room", {"model_pk": BigInteger(), "places": Integer()}, [(each.model_pk, each.free) for each in rooms])
    calling = lateral(
        _oldest(items.c.model_pk == room.c.model_pk).limit(room.c.places).with_for_update(of=items, skip_locked=True)
    )
    silent = _oldest(items.c.model_pk.is_(None)).limit(free).with_for_update(of=items, skip_locked=True)
    each = union_all(
        select(calling.c.id).select_from(room.join(calling, true())), select(silent.subquery("silent").c.id)
    ).subquery("each")
    return select(each.c.id).order_by(each.c.id).limit(free).cte("picked")


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


async def _pace(connection: AsyncConnection, paced: Sequence[Row[Any]], held: Sequence[Held]) -> None:
    for model in paced:
        calls = sum(item.model_pk == model.id for item in held)
        if calls:
            await connection.execute(_moved(model.id, calls))


def _moved(model_pk: int, calls: int) -> Any:
    """The pace of a model, moved by so many calls."""
    interval = func.make_interval(0, 0, 0, 0, 0, 0, MINUTE * calls / models.c.requests_per_minute)
    behind = func.clock_timestamp() - timedelta(seconds=LATE)
    return (
        update(models)
        .where(models.c.id == model_pk, models.c.requests_per_minute.is_not(None))
        .values(paced_until=func.greatest(models.c.paced_until, behind) + interval)
    )


async def pace(connection: AsyncConnection, model_pk: int) -> float:
    """Take the model's next place in its pace, and say in how many seconds it comes."""
    moved = _moved(model_pk, 1).returning(models.c.paced_until, models.c.requests_per_minute, func.clock_timestamp())
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
    benchmark_pk = select(runs.c.benchmark_pk).where(runs.c.id == items.c.run_pk).scalar_subquery()
    return [benchmark_pk.label(name) if name == "benchmark_pk" else items.c[name] for name in HELD]


def _held(row: Row[Any]) -> Held:
    return Held(*(getattr(row, name) for name in HELD))
