"""Changing an assessment on purpose, against the version that its reviewer saw."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, and_, func, select, update

from models import Assessment
from models.assessments import IDENTITY
from models.base import AssessmentStatus, Keeper, ReasonCode
from resolvers.acting import OVERVIEW, Acting
from resolvers.decisions import WORDS, Decision
from resolvers.errors import Conflict, InvalidInput, NotFound, Refused, Subject
from resolvers.forms import require_text
from resolvers.judgement import assessments, judge_identity, suites
from resolvers.locks import hold
from resolvers.reasons import MESSAGES
from resolvers.standing import grounds


@dataclass(frozen=True, slots=True)
class Revision:
    """A new decision in place of the present one, about the same revisions."""

    case_reproduced: bool | None
    judge_detected: bool | None
    rationale: str
    reviewed_by: str
    reviewed_at: datetime


async def revise(acting: Acting, key: int, expected_version: int, revision: Revision) -> int:
    _require_form(revision)
    suite_id, row = await _locked(acting, key, expected_version)
    await _change(
        acting,
        row,
        case_reproduced=revision.case_reproduced,
        judge_detected=revision.judge_detected,
        rationale=revision.rationale,
        reviewed_by=revision.reviewed_by,
        reviewed_at=revision.reviewed_at,
        status=AssessmentStatus.REFUSED,
        reason=row.reason or ReasonCode.EXECUTION_INCOMPLETE,
    )
    await judge_identity(acting.connection, dict(row._mapping))
    await _require_acceptance(acting, row, suite_id)
    return key


async def withdraw(acting: Acting, key: int, expected_version: int, rationale: str) -> int:
    """The decision no longer stands; what it was stays in its history, and another may take its place."""
    require_text(rationale, ("rationale",))
    _, row = await _locked(acting, key, expected_version)
    await _change(acting, row, rationale=rationale, status=AssessmentStatus.WITHDRAWN, reason=None)
    await judge_identity(acting.connection, dict(row._mapping))
    return key


def _require_form(revision: Revision) -> None:
    if revision.judge_detected and not revision.case_reproduced:
        raise InvalidInput(MESSAGES[ReasonCode.INVALID_DECISION], ("judge_detected",), ReasonCode.INVALID_DECISION)
    require_text(revision.reviewed_by, ("reviewed_by",))
    require_text(revision.rationale, ("rationale",))


async def _locked(acting: Acting, key: int, expected_version: int) -> tuple[str, Row[Any]]:
    """Its Suite and the record as the caller saw it, its ground shared with writers; else why it cannot be changed."""
    shown = and_(assessments.c.id == key, assessments.c.fault_code.is_(None), ~assessments.c.echo)
    claimed = await acting.connection.execute(
        select(suites.c.suite_id, *(assessments.c[name] for name in IDENTITY[1:]))
        .join(suites, suites.c.id == assessments.c.suite_pk)
        .where(shown)
    )
    if (identity := claimed.one_or_none()) is None:
        raise NotFound("No assessment has this id.", ("id",))
    await hold(acting.connection, [tuple(identity)])
    row = (await acting.connection.execute(select(assessments).where(shown))).one()
    subject = Subject(Assessment, key)
    if row.keeper == Keeper.TREE:
        raise Refused(await _owner(acting, row), ReasonCode.TREE_OWNED, subject)
    if row.version != expected_version:
        raise Conflict("The assessment was changed since that version.", subject, row.version)
    if row.status == AssessmentStatus.WITHDRAWN:
        raise Refused("The assessment was withdrawn: record a new one.", ReasonCode.INVALID_DECISION, subject)
    return identity.suite_id, row


async def _owner(acting: Acting, row: Row[Any]) -> str:
    directory = await acting.connection.scalar(select(suites.c.directory).where(suites.c.id == row.suite_pk))
    return f"A project tree keeps this record: change it in {directory}/ground_truth/assessments.json there."


async def _change(acting: Acting, row: Row[Any], **values: Any) -> None:
    await acting.connection.execute(
        update(assessments)
        .where(assessments.c.id == row.id)
        .values(
            version=row.version + 1,
            recorded_by=acting.actor,
            recorded_at=func.clock_timestamp(),
            echo=False,
            **values,
        )
    )
    acting.topics.add(OVERVIEW)


async def _require_acceptance(acting: Acting, row: Row[Any], suite_id: str) -> None:
    now = (await acting.connection.execute(select(assessments).where(assessments.c.id == row.id))).one()
    judged = now.reason
    if judged == ReasonCode.STALE_REVISION:
        judged = await _frozen_reason(acting, now, suite_id)
    if judged is not None:
        raise Refused(MESSAGES[judged], judged, Subject(Assessment, row.id))


async def _frozen_reason(acting: Acting, row: Row[Any], suite_id: str) -> ReasonCode | None:
    """Why a protocol's score would not read it: that it is stale for everybody else is no reason."""
    said = {name: row._mapping[name] for name in (*IDENTITY[1:], *WORDS)}
    ground = (await grounds(acting.connection, [Decision(suite_id, **said)]))[0]
    reason: ReasonCode | None = ground.frozen_reason if ground.frozen else row.reason
    return reason
