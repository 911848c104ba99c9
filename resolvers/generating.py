"""Answers that workers got, stored and captured in the transaction that ends or continues their items."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Integer,
    Numeric,
    Text,
    and_,
    case,
    func,
    null,
    or_,
    update,
)

from models.base import CellStatus, RunItemStatus, RunStage
from resolvers.acting import Acting
from resolvers.cells import Answer, Kept, keep
from resolvers.ending import wake_waiting
from resolvers.holding import Ground, charge, hold, items
from resolvers.planned import first_model
from resolvers.queue import Held
from resolvers.sql import among, sent

COLUMNS: Mapping[str, Any] = {
    "id": BigInteger(),
    "attempts": Integer(),
    "unpriced_calls": Integer(),
    "cost": Numeric(),
    "error_kind": Text(),
    "error_message": Text(),
    "captured": Boolean(),
    "locked_skipped": Boolean(),
}


@dataclass(frozen=True, slots=True)
class Generated:
    """What came of an item's calls: an answer, or a failure as an answer with an error. The cost is in the answer."""

    item: Held
    answer: Answer
    calls: int
    unpriced_calls: int


async def store(acting: Acting, run_pk: int, generated: Sequence[Generated]) -> frozenset[int]:
    """The ids of the items of which the result was stored; the others were no longer held."""
    ground = await hold(acting, run_pk, [each.item for each in generated])
    if ground is None or not ground.held:
        return frozenset()
    sound = [each for each in generated if each.item.id in ground.held]
    kept = await keep(acting, ground.benchmark, [replace(each.answer, run_pk=run_pk) for each in sound])
    await _continue(acting, ground, sound, kept)
    spent = sum((each.answer.cost for each in sound if each.answer.cost is not None), Decimal(0))
    await charge(acting, ground.run, spent, sum(each.unpriced_calls for each in sound))
    if any(each.item.metric_pks for each in sound):
        rows = sorted({each.item.row_pk for each in sound})
        await wake_waiting(acting, and_(items.c.run_pk == run_pk, among(items.c.row_pk, rows)))
    return ground.held


async def _continue(acting: Acting, ground: Ground, sound: Sequence[Generated], kept: Kept) -> None:
    """An item whose answer is there is scored next, if it is to be; any other has ended."""
    done = sent("done", COLUMNS, [_row(each, ground, kept) for each in sound])
    failed = done.c.error_kind.is_not(None)
    is_last = or_(failed, func.cardinality(items.c.metric_pks) == 0)
    await acting.connection.execute(
        update(items)
        .where(items.c.id == done.c.id)
        .values(
            token=None,
            lease_until=None,
            stage=case((is_last, RunStage.EVALUATE.value), else_=RunStage.WAIT.value),
            model_pk=case((is_last, null()), else_=first_model(items.c.metric_pks)),
            status=case(
                (failed, RunItemStatus.FAILED.value),
                (is_last, RunItemStatus.SUCCEEDED.value),
                else_=RunItemStatus.RUNNING.value,
            ),
            finished_at=case((is_last, func.now()), else_=null()),
            attempts=items.c.attempts + done.c.attempts,
            unpriced_calls=items.c.unpriced_calls + done.c.unpriced_calls,
            cost=done.c.cost,
            error_kind=done.c.error_kind,
            error_message=done.c.error_message,
            captured=done.c.captured,
            locked_skipped=done.c.locked_skipped,
        )
    )


def _row(each: Generated, ground: Ground, kept: Kept) -> tuple[Any, ...]:
    """In the order of `COLUMNS`."""
    answer, failed = each.answer, each.answer.status == CellStatus.FAILED
    is_source = each.item.track_pk == ground.benchmark.source_track_pk
    return (
        each.item.id,
        each.calls,
        each.unpriced_calls,
        answer.cost,
        answer.error_kind.value if failed else None,
        answer.error,
        is_source and each.item.row_pk in kept.captured,
        is_source and each.item.row_pk in kept.locked,
    )
