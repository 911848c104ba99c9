"""Accepted decisions into the table of assessments, in as many statements for a thousand as for one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    DateTime,
    FromClause,
    Integer,
    Row,
    Text,
    case,
    delete,
    false,
    func,
    insert,
    literal,
    select,
    tuple_,
    update,
)

from models import ReviewClaim
from models.assessments import IDENTITY
from models.base import AssessmentStatus, Keeper, ReasonCode, table
from resolvers.acting import Acting
from resolvers.decisions import WORDS, Decision, is_decided
from resolvers.judgement import assessments
from resolvers.sql import sent

claims = table(ReviewClaim)

COLUMNS: Mapping[str, Any] = {
    "place": Integer(),
    "replaced": BigInteger(),
    "version": Integer(),
    "trial": Boolean(),
    "defect_pk": BigInteger(),
    "attempt_pk": BigInteger(),
    "suite_pk": BigInteger(),
    "agent_id": Text(),
    "case_index": Integer(),
    "attempt_id": Text(),
    "defect_id": Text(),
    "ground_truth_sha256": Text(),
    "case_sha256": Text(),
    "result_sha256": Text(),
    "case_reproduced": Boolean(),
    "judge_detected": Boolean(),
    "reviewed_by": Text(),
    "reviewed_at": DateTime(timezone=True),
    "rationale": Text(),
}
PAIR = {"defect_pk": BigInteger(), "attempt_pk": BigInteger()}


@dataclass(eq=False, slots=True)
class Write:
    """An accepted decision on its way: a new row, or a new version of the one that no longer stands."""

    decision: Decision
    ground: Row[Any]
    replaced: Row[Any] | None
    # Bound to what a protocol froze, beside the record about the current revision.
    trial: bool
    key: int | None = None

    def __post_init__(self) -> None:
        if self.replaced is not None:
            self.key = int(self.replaced.id)

    @property
    def version(self) -> int:
        return 1 if self.replaced is None else int(self.replaced.version) + 1


async def write(acting: Acting, writes: Sequence[Write]) -> None:
    await _add(acting, [write for write in writes if write.replaced is None])
    await _replace(acting, [write for write in writes if write.replaced is not None])
    await _end_claims(acting, writes)


async def _add(acting: Acting, writes: Sequence[Write]) -> None:
    if not writes:
        return
    given = _sent(writes)
    values = {**{name: given.c[name] for name in IDENTITY}, **_values(acting, given)}
    rows = select(*values.values()).order_by(given.c.place)
    added = insert(assessments).from_select(list(values), rows, include_defaults=False)
    keys = await acting.connection.execute(added.returning(assessments.c.id))
    # They were counted up in the order of the rows.
    for write, key in zip(writes, sorted(keys.scalars()), strict=True):
        write.key = key


async def _replace(acting: Acting, writes: Sequence[Write]) -> None:
    if not writes:
        return
    given = _sent(writes)
    replaced = assessments.c.id == given.c.replaced
    await acting.connection.execute(update(assessments).where(replaced).values(_values(acting, given)))


def _sent(writes: Sequence[Write]) -> FromClause:
    return sent(
        "given",
        COLUMNS,
        [
            (
                place,
                write.key,
                write.version,
                write.trial,
                write.ground.defect_pk,
                write.ground.attempt_pk,
                write.ground.suite_pk,
                *write.decision.identity[1:],
                *write.decision.words,
            )
            for place, write in enumerate(writes)
        ],
    )


def _values(acting: Acting, given: FromClause) -> dict[str, Any]:
    """All but the identity. What is bound to a frozen revision is stored, though it is stale."""
    return {
        **{name: given.c[name] for name in (*WORDS, "version", "trial", "defect_pk", "attempt_pk")},
        "status": case((given.c.trial, AssessmentStatus.REFUSED), else_=AssessmentStatus.ACCEPTED),
        "reason": case((given.c.trial, ReasonCode.STALE_REVISION)),
        "echo": false(),
        "keeper": literal(Keeper.API),
        "recorded_by": literal(acting.actor),
        "recorded_at": func.clock_timestamp(),
    }


async def _end_claims(acting: Acting, writes: Sequence[Write]) -> None:
    """What is decided needs no reviewer any more."""
    decided = [write.ground for write in writes if is_decided(write.decision, has_report=write.ground.has_report)]
    ended = sent("ended", PAIR, [(ground.defect_pk, ground.attempt_pk) for ground in decided])
    pair = tuple_(claims.c.defect_pk, claims.c.attempt_pk)
    await acting.connection.execute(delete(claims).where(pair.in_(select(ended.c.defect_pk, ended.c.attempt_pk))))
