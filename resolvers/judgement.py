"""Whether an assessment counts: the checks of a record against its ground, in the order of the specification.

The first check that fails names the reason. A form fault takes its place among the checks by the number of its step.
Identity groups are judged whole: a scope must hold all records that claim the same Suite, agent, index, Attempt and
defect, or none of them.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Delete,
    FromClause,
    Join,
    Select,
    Text,
    Update,
    and_,
    bindparam,
    case,
    cast,
    delete,
    func,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from models import Agent, Assessment, Attempt, Case, Defect, ReviewClaim, Suite, SuiteAgent
from models.assessments import IDENTITY
from models.base import AssessmentStatus, Keeper, ManifestState, Provenance, ReasonCode, table

assessments = table(Assessment)
suites = table(Suite)
agents = table(Agent)
defects = table(Defect)
suite_agents = table(SuiteAgent)
cases = table(Case)
attempts = table(Attempt)
claims = table(ReviewClaim)

VALUES = (
    "ground_truth_sha256",
    "case_sha256",
    "result_sha256",
    "case_reproduced",
    "judge_detected",
    "reviewed_by",
    "reviewed_at",
    "rationale",
)


def current(agent: FromClause, defect: FromClause) -> ColumnElement[bool]:
    """A defect that decisions can be about: not retired, of an agent whose manifest is not invalid."""
    return and_(
        defect.c.retired_at.is_(None),
        agent.c.retired_at.is_(None),
        agent.c.listed,
        agent.c.manifest_state != ManifestState.INVALID,
    )


def decided(record: FromClause, attempt: FromClause) -> ColumnElement[bool]:
    """Both decisions, or the Case's where no report was saved that a Judge could have detected anything in."""
    return and_(record.c.case_reproduced.is_not(None), or_(record.c.judge_detected.is_not(None), ~attempt.c.has_report))


def ground(record: FromClause) -> Join:
    """A record beside all that it claims to be about, as far as that exists."""
    return (
        record.join(suites, suites.c.id == record.c.suite_pk)
        .outerjoin(agents, agents.c.agent_id == record.c.agent_id)
        .outerjoin(defects, and_(defects.c.agent_pk == agents.c.id, defects.c.defect_id == record.c.defect_id))
        .outerjoin(
            suite_agents,
            and_(suite_agents.c.suite_pk == record.c.suite_pk, suite_agents.c.agent_id == record.c.agent_id),
        )
        .outerjoin(
            cases,
            and_(
                cases.c.suite_pk == record.c.suite_pk,
                cases.c.agent_id == record.c.agent_id,
                cases.c.case_index == record.c.case_index,
            ),
        )
        .outerjoin(attempts, and_(attempts.c.case_pk == cases.c.id, attempts.c.attempt_id == record.c.attempt_id))
    )


def reason(
    record: FromClause,
    conflicting: ColumnElement[bool],
    revision: ColumnElement[str] = defects.c.ground_truth_sha256,
    source: ColumnElement[str] = defects.c.source_sha256,
) -> ColumnElement[ReasonCode | None]:
    """Why a record joined with its `ground` does not count; null where it does.

    `revision` and `source` are what the record must be bound to: those of the present defect, unless a protocol froze
    others.
    """
    decided = or_(record.c.case_reproduced.is_not(None), record.c.judge_detected.is_not(None))
    fault_between = record.c.fault_step.between
    return case(
        (suites.c.fault.is_not(None), suites.c.fault),
        (suites.c.retired_at.is_not(None), ReasonCode.UNAVAILABLE_SUITE),
        (conflicting, ReasonCode.CONFLICTING_ASSESSMENTS),
        (or_(defects.c.id.is_(None), current(agents, defects).is_not(True)), ReasonCode.UNKNOWN_DEFECT),
        (fault_between(3, 4), record.c.fault_code),
        (revision != record.c.ground_truth_sha256, ReasonCode.STALE_REVISION),
        (fault_between(5, 8), record.c.fault_code),
        (suites.c.provenance != Provenance.CANONICAL, ReasonCode.NO_PROVENANCE),
        (suite_agents.c.agent_id.is_(None), ReasonCode.UNKNOWN_AGENT),
        (suite_agents.c.source_sha256.is_distinct_from(source), ReasonCode.SOURCE_MISMATCH),
        (cases.c.id.is_(None), ReasonCode.UNKNOWN_CASE_SLOT),
        (fault_between(9, 11), record.c.fault_code),
        (cases.c.artifact_sha256.is_distinct_from(record.c.case_sha256), ReasonCode.CASE_DIGEST_MISMATCH),
        (cases.c.artifact_fault.is_not(None), cases.c.artifact_fault),
        (attempts.c.id.is_(None), ReasonCode.UNKNOWN_ATTEMPT),
        (record.c.fault_step.is_not(None), record.c.fault_code),
        (attempts.c.result_sha256.is_distinct_from(record.c.result_sha256), ReasonCode.RESULT_DIGEST_MISMATCH),
        (attempts.c.refusal.is_not(None), attempts.c.refusal),
        (and_(decided, attempts.c.execution_status != "completed"), ReasonCode.EXECUTION_INCOMPLETE),
        (and_(record.c.judge_detected.is_not(None), attempts.c.has_report.is_(False)), ReasonCode.REPORT_MISSING),
    )


def verdicts(
    scope: ColumnElement[bool],
) -> Select[tuple[int, int | None, int | None, AssessmentStatus, ReasonCode | None, bool]]:
    """What each record in scope that was not withdrawn should say: id, defect, attempt, status, reason, echo.

    Of several acceptable records of one identity the standing one stays, else the API's, else the first; another one
    conflicts with it, unless it repeats it word for word.
    """
    identity = [assessments.c[name] for name in IDENTITY]
    rivals = func.count().filter(assessments.c.keeper == Keeper.TREE).over(partition_by=identity)
    conflicting = and_(assessments.c.keeper == Keeper.TREE, rivals > 1)
    judged = (
        select(
            assessments,
            defects.c.id.label("defect_found"),
            attempts.c.id.label("attempt_found"),
            reason(assessments, conflicting).label("ground_reason"),
            cast(tuple_(*(assessments.c[name] for name in VALUES)), Text).label("words"),
        )
        .select_from(ground(assessments))
        .where(scope, assessments.c.status != AssessmentStatus.WITHDRAWN)
        .subquery("judged")
    )
    group = [judged.c[name] for name in IDENTITY]
    precedence = [
        judged.c.ground_reason.is_not(None),
        judged.c.status != AssessmentStatus.ACCEPTED,
        judged.c.keeper != Keeper.API,
        judged.c.id,
    ]
    ranked = select(
        *judged.c,
        func.first_value(judged.c.id).over(partition_by=group, order_by=precedence).label("first"),
        func.first_value(judged.c.words).over(partition_by=group, order_by=precedence).label("first_words"),
    ).subquery("ranked")
    acceptable, first = ranked.c.ground_reason.is_(None), ranked.c.id == ranked.c.first
    echo = and_(acceptable, ranked.c.id != ranked.c.first, ranked.c.words == ranked.c.first_words)
    return select(
        ranked.c.id,
        ranked.c.defect_found,
        ranked.c.attempt_found,
        case((and_(acceptable, first), AssessmentStatus.ACCEPTED), else_=AssessmentStatus.REFUSED).label("status"),
        case(
            (ranked.c.ground_reason.is_not(None), ranked.c.ground_reason),
            (or_(first, echo), None),
            else_=ReasonCode.CONFLICTING_ASSESSMENTS,
        ).label("reason"),
        echo.label("echo"),
    )


def differences(scope: ColumnElement[bool]) -> Select[tuple[int]]:
    """The records whose stored verdict is not the one that their ground gives."""
    verdict = verdicts(scope).subquery("verdict")
    return select(assessments.c.id).join(verdict, verdict.c.id == assessments.c.id).where(_differs(verdict))


async def judge(connection: AsyncConnection, scope: ColumnElement[bool]) -> None:
    """Store the verdict of every record in scope. Refusals go first: one record of an identity stands at most."""
    for judging in _judging(scope):
        await connection.execute(judging)


async def judge_identity(connection: AsyncConnection, identity: Mapping[str, Any]) -> None:
    """The same for the records of one identity, by its columns."""
    for judging in _judging_identity():
        await connection.execute(judging, {f"of_{name}": identity[name] for name in IDENTITY})


# Building these takes longer than executing them.
@cache
def _judging_identity() -> list[Update | Delete]:
    columns = (assessments.c[name] for name in IDENTITY)
    scope = and_(*(column == bindparam(f"of_{column.name}", type_=column.type) for column in columns))
    return _judging(scope)


def _judging(scope: ColumnElement[bool]) -> list[Update | Delete]:
    return [_storing(scope, AssessmentStatus.REFUSED), _storing(scope, AssessmentStatus.ACCEPTED), _ending(scope)]


def _storing(scope: ColumnElement[bool], status: AssessmentStatus) -> Update:
    verdict = verdicts(scope).subquery("verdict")
    return (
        update(assessments)
        .values(
            defect_pk=verdict.c.defect_found,
            attempt_pk=verdict.c.attempt_found,
            status=verdict.c.status,
            reason=verdict.c.reason,
            echo=verdict.c.echo,
        )
        .where(assessments.c.id == verdict.c.id, verdict.c.status == status, _differs(verdict))
    )


def _ending(scope: ColumnElement[bool]) -> Delete:
    """What is decided needs no reviewer any more."""
    return delete(claims).where(
        scope,
        assessments.c.status == AssessmentStatus.ACCEPTED,
        decided(assessments, attempts),
        attempts.c.id == assessments.c.attempt_pk,
        claims.c.attempt_pk == assessments.c.attempt_pk,
        claims.c.defect_pk == assessments.c.defect_pk,
    )


def _differs(verdict: FromClause) -> ColumnElement[bool]:
    return or_(
        assessments.c.status != verdict.c.status,
        assessments.c.reason.is_distinct_from(verdict.c.reason),
        assessments.c.echo != verdict.c.echo,
        assessments.c.defect_pk.is_distinct_from(verdict.c.defect_found),
        assessments.c.attempt_pk.is_distinct_from(verdict.c.attempt_found),
    )
