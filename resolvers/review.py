"""The review queue: pairs that somebody could decide and nobody has, and the claims that keep reviewers apart."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, FromClause, Row, Select, and_, delete, func, or_, select, true
from sqlalchemy.dialects.postgresql import insert

from models import Assessment, Attempt, ReviewClaim
from models.base import AssessmentStatus, Keeper, Provenance, ReasonCode, table
from resolvers.acting import Acting
from resolvers.errors import InvalidInput, NotFound, Refused, Subject
from resolvers.forms import require_text
from resolvers.judgement import agents, attempts, cases, current, decided, defects, suite_agents, suites
from resolvers.locks import hold
from resolvers.suites import accepted

assessments, claims = table(Assessment), table(ReviewClaim)

LONGEST_CLAIM = 240
# Any number that nothing else in the database locks.
CLAIM_LOCK = 0x434C4149


@dataclass(frozen=True, slots=True)
class Item:
    """A pair in the queue, with the partial record to revise, and who holds it."""

    defect_pk: int
    attempt_pk: int
    assessment_pk: int | None
    claimed_by: str | None = None
    claimed_until: datetime | None = None


def _pairs() -> Select[Any]:
    """The defects that one Attempt could be decided about."""
    return (
        select(
            suites.c.suite_id,
            cases.c.agent_id,
            cases.c.case_index,
            defects.c.id.label("defect_pk"),
            defects.c.defect_id,
        )
        .select_from(
            cases.join(suites, suites.c.id == cases.c.suite_pk)
            .join(
                suite_agents,
                and_(suite_agents.c.suite_pk == suites.c.id, suite_agents.c.agent_id == cases.c.agent_id),
            )
            .join(agents, agents.c.agent_id == cases.c.agent_id)
            .join(
                defects,
                and_(defects.c.agent_pk == agents.c.id, defects.c.source_sha256 == suite_agents.c.source_sha256),
            )
        )
        .where(
            cases.c.id == attempts.c.case_pk,
            cases.c.artifact_sha256.is_not(None),
            cases.c.artifact_fault.is_(None),
            suites.c.provenance == Provenance.CANONICAL,
            accepted(suites),
            current(agents, defects),
        )
        .correlate(attempts)
    )


def queue(*, walked: bool = False) -> Select[Any]:
    """All pairs that wait for a decision, claimed or not.

    Walked, it goes from Attempt to Attempt, so that the oldest pairs are found without the others. Else Postgres
    begins where least is left, which suits who asks for an agent, a Suite or a pair.
    """
    pair = (_pairs().offset(0) if walked else _pairs()).lateral("pair")
    standing, claim = assessments.alias("standing"), claims.alias("claim")
    return (
        select(
            attempts.c.started_at,
            attempts.c.id.label("attempt_pk"),
            attempts.c.attempt_id,
            standing.c.id.label("assessment_pk"),
            claim.c.claimed_by,
            claim.c.claimed_until,
            *pair.c,
        )
        .select_from(
            attempts.join(pair, true())
            .outerjoin(standing, and_(*_about(standing, pair), standing.c.status == AssessmentStatus.ACCEPTED))
            .outerjoin(claim, and_(*_about(claim, pair), claim.c.claimed_until > func.now()))
        )
        .where(
            attempts.c.execution_status == "completed",
            attempts.c.refusal.is_(None),
            attempts.c.result_sha256.is_not(None),
            or_(standing.c.id.is_(None), and_(~decided(standing, attempts), standing.c.keeper != Keeper.TREE)),
        )
    )


def _about(record: FromClause, pair: FromClause) -> tuple[ColumnElement[bool], ...]:
    return record.c.attempt_pk == attempts.c.id, record.c.defect_pk == pair.c.defect_pk


async def claim(acting: Acting, pair: tuple[int, int] | None, agent_id: str | None, minutes: int) -> Item | None:
    """Hold a pair of defect and Attempt, or the oldest free one; None where nothing is free."""
    if not 1 <= minutes <= LONGEST_CLAIM:
        raise InvalidInput(f"A claim lasts 1 to {LONGEST_CLAIM} minutes.", ("minutes",), ReasonCode.INVALID_FIELD)
    if agent_id is not None:
        require_text(agent_id, ("agent_id",))
    # One after the other: the next claimant sees what this one took.
    await acting.connection.execute(select(func.pg_advisory_xact_lock(CLAIM_LOCK)))
    row = await _asked(acting, pair) if pair else await _free(acting, agent_id)
    if row is None:
        return None
    if row.claimed_by not in (None, acting.actor):
        message = f"{row.claimed_by} holds this pair until {row.claimed_until.isoformat()}."
        raise Refused(message, ReasonCode.REVIEW_CLAIMED, Subject(Attempt, row.attempt_pk))
    until = func.now() + timedelta(minutes=minutes)
    held = insert(claims).values(
        defect_pk=row.defect_pk, attempt_pk=row.attempt_pk, claimed_by=acting.actor, claimed_until=until
    )
    held = held.on_conflict_do_update(
        index_elements=["defect_pk", "attempt_pk"],
        set_={"claimed_by": held.excluded.claimed_by, "claimed_until": held.excluded.claimed_until},
    )
    claimed_until = (await acting.connection.execute(held.returning(claims.c.claimed_until))).scalar_one()
    return Item(row.defect_pk, row.attempt_pk, row.assessment_pk, acting.actor, claimed_until)


async def release(acting: Acting, pair: tuple[int, int]) -> Item:
    """Give a pair back that the caller holds."""
    await acting.connection.execute(select(func.pg_advisory_xact_lock(CLAIM_LOCK)))
    row = await _wanted(acting, pair)
    if row.claimed_by is None:
        raise NotFound("Nobody holds this pair.", ("defect_id",))
    if row.claimed_by != acting.actor:
        message = f"{row.claimed_by} holds this pair, and alone can release it."
        raise Refused(message, ReasonCode.REVIEW_CLAIMED, Subject(Attempt, row.attempt_pk))
    held = and_(claims.c.defect_pk == row.defect_pk, claims.c.attempt_pk == row.attempt_pk)
    await acting.connection.execute(delete(claims).where(held))
    return Item(row.defect_pk, row.attempt_pk, row.assessment_pk)


async def _wanted(acting: Acting, pair: tuple[int, int]) -> Row[Any]:
    if (row := await _waiting(acting, pair)) is None:
        raise NotFound("This pair is not in the review queue: it was decided, or cannot be.", ("defect_id",))
    return row


async def _waiting(acting: Acting, pair: tuple[int, int]) -> Row[Any] | None:
    defect_pk, attempt_pk = pair
    pairs = queue().subquery("pairs")
    found = select(pairs).where(pairs.c.defect_pk == defect_pk, pairs.c.attempt_pk == attempt_pk)
    row: Row[Any] | None = (await acting.connection.execute(found)).one_or_none()
    return row


async def _settled(acting: Acting, row: Row[Any]) -> Row[Any] | None:
    """The pair as it is once nobody is about to decide it; None where somebody was."""
    await hold(acting.connection, [(row.suite_id, row.agent_id, row.case_index, row.attempt_id, row.defect_id)])
    return await _waiting(acting, (row.defect_pk, row.attempt_pk))


async def _asked(acting: Acting, pair: tuple[int, int]) -> Row[Any]:
    return await _settled(acting, await _wanted(acting, pair)) or await _wanted(acting, pair)


async def _free(acting: Acting, agent_id: str | None) -> Row[Any] | None:
    while (row := await _oldest(acting, agent_id)) is not None:
        if (settled := await _settled(acting, row)) is not None:
            return settled
    return None


async def _oldest(acting: Acting, agent_id: str | None) -> Row[Any] | None:
    waiting = queue(walked=agent_id is None).subquery("waiting")
    free = select(waiting).where(waiting.c.claimed_by.is_(None))
    if agent_id is not None:
        free = free.where(waiting.c.agent_id == agent_id)
    order = (waiting.c.started_at.nulls_last(), waiting.c.attempt_pk, waiting.c.defect_pk)
    return (await acting.connection.execute(free.order_by(*order).limit(1))).one_or_none()
