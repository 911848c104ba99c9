"""What decisions are about, and the assessments that already claim the same."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import Boolean, DateTime, FromClause, Integer, Result, Row, Select, Text, and_, false, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.ext.asyncio import AsyncConnection

from models import ProtocolAgent, ProtocolDefect, TrialSuite
from models.assessments import IDENTITY
from models.base import table
from resolvers.decisions import Decision, form_fault, identity_fault
from resolvers.forms import storable_text
from resolvers.judgement import agents, assessments, attempts, cases, defects, ground, reason, suites
from resolvers.sql import arrays, to_send

trial_suites, protocol_agents, protocol_defects = table(TrialSuite), table(ProtocolAgent), table(ProtocolDefect)

COLUMNS: Mapping[str, Any] = {
    "place": Integer(),
    "suite_id": Text(),
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
    "fault_step": Integer(),
    "fault_code": Text(),
}


def _given() -> FromClause:
    """The decisions as rows, with the Suites that they name."""
    given = to_send("given", COLUMNS)
    return (
        select(*given.c, suites.c.id.label("suite_pk"))
        .join(suites, suites.c.suite_id == given.c.suite_id)
        .subquery("decision")
    )


def _rows(decisions: Sequence[Decision]) -> Iterator[tuple[Any, ...]]:
    for place, decision in enumerate(decisions):
        if identity_fault(decision) is None:
            step, fault = form_fault(decision) or (None, None)
            yield place, *decision.identity, *map(_sendable, decision.words), step, fault and fault.code


def _sendable(word: Any) -> Any:
    """Text that no database takes goes as none: that its form is at fault is told beside it."""
    return storable_text(word) if isinstance(word, str) else word


async def grounds(connection: AsyncConnection, decisions: Sequence[Decision]) -> dict[int, Row[Any]]:
    """By place: what each decision is about, why it would not count, and whether a protocol froze its revision."""
    rows = await connection.execute(_grounds(), arrays("given", COLUMNS, list(_rows(decisions))))
    return {row.place: row for row in rows}


async def held(connection: AsyncConnection, decisions: Sequence[Decision]) -> Sequence[Row[Any]]:
    """The assessments that already claim one of these identities."""
    rows: Result[Any] = await connection.execute(_held(), arrays("given", COLUMNS, list(_rows(decisions))))
    return rows.all()


# Building these takes longer than executing them.
@cache
def _grounds() -> Select[Any]:
    given = _given()
    frozen = protocol_defects.c.ground_truth_sha256
    joined = (
        ground(given)
        .outerjoin(trial_suites, trial_suites.c.suite_pk == given.c.suite_pk)
        .outerjoin(
            protocol_defects,
            and_(
                protocol_defects.c.protocol_pk == trial_suites.c.protocol_pk,
                protocol_defects.c.defect_pk == defects.c.id,
                frozen == given.c.ground_truth_sha256,
                frozen != defects.c.ground_truth_sha256,
            ),
        )
        .outerjoin(
            protocol_agents,
            and_(
                protocol_agents.c.protocol_pk == trial_suites.c.protocol_pk, protocol_agents.c.agent_pk == agents.c.id
            ),
        )
    )
    return select(
        given.c.place,
        given.c.suite_pk,
        defects.c.id.label("defect_pk"),
        attempts.c.id.label("attempt_pk"),
        attempts.c.has_report,
        attempts.c.result_sha256,
        cases.c.artifact_sha256,
        frozen.is_not(None).label("frozen"),
        reason(given, false()).label("reason"),
        reason(given, false(), frozen, protocol_agents.c.source_sha256).label("frozen_reason"),
    ).select_from(joined)


@cache
def _held() -> Select[Any]:
    given = _given()
    same = and_(*(assessments.c[name] == given.c[name] for name in IDENTITY))
    return (
        select(assessments, given.c.suite_id)
        .join(given, same)
        .where(assessments.c.fault_code.is_(None), ~assessments.c.echo)
        .ext(distinct_on(assessments.c.id))
        .order_by(assessments.c.id)
    )
