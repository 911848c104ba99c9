"""Accepted decisions into the table of assessments, in as many statements for a thousand as for one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    DateTime,
    Delete,
    FromClause,
    Integer,
    Row,
    Text,
    Update,
    bindparam,
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
from sqlalchemy.sql.dml import ReturningInsert

from models import ReviewClaim
from models.assessments import IDENTITY
from models.base import AssessmentStatus, Keeper, ReasonCode, table
from resolvers.acting import Acting
from resolvers.decisions import WORDS, Decision, is_decided
from resolvers.judgement import assessments
from resolvers.sql import arrays, to_send

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
    # A row that becomes a trial's makes room for a current one.
    await _replace(acting, [write for write in writes if write.replaced is not None])
    await _add(acting, [write for write in writes if write.replaced is None])
    await _end_claims(acting, writes)


async def _add(acting: Acting, writes: Sequence[Write]) -> None:
    if writes:
        keys = await acting.connection.scalars(_adding(), _sent(acting, writes))
        # They were counted up in the order of the rows.
        for write, key in zip(writes, sorted(keys), strict=True):
            write.key = key


async def _replace(acting: Acting, writes: Sequence[Write]) -> None:
    if writes:
        await acting.connection.execute(_replacing(), _sent(acting, writes))


def _sent(acting: Acting, writes: Sequence[Write]) -> dict[str, Any]:
    rows = [
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
    ]
    return {"actor": acting.actor, **arrays("given", COLUMNS, rows)}


async def _end_claims(acting: Acting, writes: Sequence[Write]) -> None:
    """What is decided needs no reviewer any more."""
    decided = [write.ground for write in writes if is_decided(write.decision, has_report=write.ground.has_report)]
    if decided:
        pairs = [(ground.defect_pk, ground.attempt_pk) for ground in decided]
        await acting.connection.execute(_ending(), arrays("ended", PAIR, pairs))


# Building these takes longer than executing them.
@cache
def _adding() -> ReturningInsert[int]:
    given = to_send("given", COLUMNS)
    values = {**{name: given.c[name] for name in IDENTITY}, **_values(given)}
    rows = select(*values.values()).order_by(given.c.place)
    return insert(assessments).from_select(list(values), rows, include_defaults=False).returning(assessments.c.id)


@cache
def _replacing() -> Update:
    given = to_send("given", COLUMNS)
    return update(assessments).where(assessments.c.id == given.c.replaced).values(_values(given))


@cache
def _ending() -> Delete:
    ended = to_send("ended", PAIR)
    pair = tuple_(claims.c.defect_pk, claims.c.attempt_pk)
    return delete(claims).where(pair.in_(select(ended.c.defect_pk, ended.c.attempt_pk)))


def _values(given: FromClause) -> dict[str, Any]:
    """All but the identity. What is bound to a frozen revision is stored, though it is stale."""
    return {
        **{name: given.c[name] for name in (*WORDS, "version", "trial", "defect_pk", "attempt_pk")},
        "status": case((given.c.trial, AssessmentStatus.REFUSED), else_=AssessmentStatus.ACCEPTED),
        "reason": case((given.c.trial, ReasonCode.STALE_REVISION)),
        "echo": false(),
        "keeper": literal(Keeper.API),
        "recorded_by": bindparam("actor", type_=Text()),
        "recorded_at": func.clock_timestamp(),
    }
