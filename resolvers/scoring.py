"""Scores that workers computed, stored with what they were made of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    ColumnElement,
    Double,
    Integer,
    Numeric,
    Text,
    and_,
    case,
    cast,
    exists,
    func,
    null,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import insert

from models import LanguageModel, Metric, MetricVariable, RunInput, Score
from models.base import (
    CellErrorKind,
    CellStatus,
    RunItemStatus,
    ScoreStatus,
    table,
)
from resolvers.acting import Acting
from resolvers.holding import charge, hold, items
from resolvers.queue import Held
from resolvers.sql import among, sent
from resolvers.tables import cells, topic

metrics, variables, models = table(Metric), table(MetricVariable), table(LanguageModel)
scores, inputs = table(Score), table(RunInput)

SCORE: Mapping[str, Any] = {
    "row_pk": BigInteger(),
    "track_pk": BigInteger(),
    "metric_pk": BigInteger(),
    "variable": Text(),
    "status": Text(),
    "number": Double(),
    "boolean": Boolean(),
    "text": Text(),
    "reason": Text(),
    "raw_reply": Text(),
    "cost": Numeric(),
    "cell_revision": Integer(),
    "expected_revision": Integer(),
    "metric_version": Integer(),
}
KEY = ("row_pk", "track_pk", "metric_pk", "variable")
DONE: Mapping[str, Any] = {
    "id": BigInteger(),
    # An array in its written form: arrays of arrays would have to be of one length.
    "metric_pks": Text(),
    "is_last": Boolean(),
    "model_pk": BigInteger(),
    "attempts": Integer(),
    "unpriced_calls": Integer(),
    "cost": Numeric(),
    "error_kind": Text(),
    "error_message": Text(),
}


@dataclass(frozen=True, slots=True)
class ScoreGiven:
    metric_pk: int
    variable: str
    status: ScoreStatus
    cell_revision: int
    expected_revision: int | None
    metric_version: int
    number: float | None = None
    boolean: bool | None = None
    text: str | None = None
    reason: str | None = None
    raw_reply: str | None = None
    cost: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Scored:
    """What was scored of an item, and the model that is needed next. `error` tells why the judge failed."""

    item: Held
    metric_pks: Sequence[int]
    scores: Sequence[ScoreGiven]
    is_last: bool
    next_model_pk: int | None
    calls: int = 0
    unpriced_calls: int = 0
    cost: Decimal | None = None
    error: tuple[CellErrorKind, str] | None = None


async def store(acting: Acting, run_pk: int, scored: Sequence[Scored]) -> frozenset[int]:
    """The ids of the items of which the scores were stored; the others were no longer held."""
    ground = await hold(acting, run_pk, [each.item for each in scored])
    if ground is None or not ground.held:
        return frozenset()
    sound = [each for each in scored if each.item.id in ground.held]
    await _keep(acting, sound)
    await _continue(acting, sound)
    spent = sum((each.cost for each in sound if each.cost is not None), Decimal(0))
    await charge(acting, ground.run, spent, sum(each.unpriced_calls for each in sound))
    acting.topics.add(topic(ground.benchmark.id))
    return ground.held


async def _keep(acting: Acting, sound: Sequence[Scored]) -> None:
    """A cell that failed meanwhile has no scores, and neither has a variable that is gone.

    Of two that scored a cell at the same time, the one that saw more of what it is made of stays.
    """
    given = sent("given", SCORE, [_score(each.item, score) for each in sound for score in each.scores])
    its_cell = and_(cells.c.row_pk == given.c.row_pk, cells.c.track_pk == given.c.track_pk)
    has_failed = exists(select(cells.c.row_pk).where(its_cell, cells.c.status == CellStatus.FAILED))
    is_known = and_(variables.c.metric_pk == given.c.metric_pk, variables.c.name == given.c.variable)
    made = (
        select(*given.c)
        .join(variables, is_known)
        .where(or_(given.c.status == ScoreStatus.SKIPPED.value, ~has_failed))
        .order_by(*(given.c[name] for name in KEY))
    )
    insertion = insert(scores).from_select(list(SCORE), made, include_defaults=False)
    new = {name: insertion.excluded[name] for name in SCORE if name not in KEY}
    await acting.connection.execute(
        insertion.on_conflict_do_update(
            index_elements=KEY,
            set_={**new, "computed_at": func.now()},
            where=_made_of(scores.c) <= _made_of(insertion.excluded),
        )
    )


def _made_of(columns: Any) -> ColumnElement[Any]:
    return tuple_(columns.metric_version, columns.cell_revision, func.coalesce(columns.expected_revision, 0))


def _score(item: Held, score: ScoreGiven) -> tuple[Any, ...]:
    """In the order of `SCORE`."""
    return (
        item.row_pk,
        item.track_pk,
        score.metric_pk,
        score.variable,
        score.status.value,
        score.number,
        score.boolean,
        score.text,
        score.reason,
        score.raw_reply,
        score.cost,
        score.cell_revision,
        score.expected_revision,
        score.metric_version,
    )


async def _continue(acting: Acting, sound: Sequence[Scored]) -> None:
    """An item goes on to the next judge's model, or has ended."""
    done = sent("done", DONE, [_done(each) for each in sound])
    status = case(
        (~done.c.is_last, RunItemStatus.RUNNING.value),
        (_only_failed(), RunItemStatus.FAILED.value),
        else_=RunItemStatus.SUCCEEDED.value,
    )
    failed = and_(done.c.is_last, _only_failed())
    cost = func.coalesce(items.c.cost, 0) + done.c.cost
    await acting.connection.execute(
        update(items)
        .where(items.c.id == done.c.id)
        .values(
            token=None,
            lease_until=None,
            scored_pks=items.c.scored_pks.concat(cast(done.c.metric_pks, ARRAY(BigInteger))),
            model_pk=done.c.model_pk,
            status=status,
            finished_at=case((done.c.is_last, func.now()), else_=null()),
            attempts=items.c.attempts + done.c.attempts,
            unpriced_calls=items.c.unpriced_calls + done.c.unpriced_calls,
            cost=case((done.c.cost.is_(None), items.c.cost), else_=cost),
            error_kind=case((failed, func.coalesce(done.c.error_kind, CellErrorKind.INVALID_OUTPUT.value))),
            error_message=case((failed, func.coalesce(done.c.error_message, "No metric could be computed."))),
        )
    )


def _only_failed() -> ColumnElement[bool]:
    """Of an item that only scores: there are scores, and each of them failed."""
    its_scores = select(scores.c.id).where(
        scores.c.row_pk == items.c.row_pk,
        scores.c.track_pk == items.c.track_pk,
        scores.c.metric_pk == func.any(items.c.metric_pks),
    )
    has_failed = exists(its_scores.where(scores.c.status == ScoreStatus.FAILED))
    has_other = exists(its_scores.where(scores.c.status != ScoreStatus.FAILED))
    return and_(~items.c.generates, has_failed, ~has_other)


def _done(each: Scored) -> tuple[Any, ...]:
    """In the order of `DONE`."""
    kind, message = each.error or (None, None)
    return (
        each.item.id,
        "{" + ",".join(map(str, each.metric_pks)) + "}",
        each.is_last,
        each.next_model_pk,
        each.calls,
        each.unpriced_calls,
        each.cost,
        None if kind is None else kind.value,
        message,
    )


async def give_up(acting: Acting, run_pk: int, lost: Sequence[Held], kind: CellErrorKind, message: str) -> None:
    """End items whose scoring cannot go on."""
    ground = await hold(acting, run_pk, lost)
    if ground is None:
        return
    await acting.connection.execute(
        update(items)
        .where(among(items.c.id, ground.held))
        .values(
            token=None,
            lease_until=None,
            status=RunItemStatus.FAILED,
            finished_at=func.now(),
            error_kind=kind,
            error_message=message,
        )
    )
    await charge(acting, ground.run, Decimal(0), 0)
