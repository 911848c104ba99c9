"""What is shown of Suites, their Attempts, and the document of the assessments that stand in one."""

from typing import Any

from sqlalchemy import ColumnElement, FromClause, Select, Text, and_, cast, func, select

from models import Assessment, Case, Suite, SuiteAgent
from models.base import AssessmentStatus, JsonText, Provenance, table
from resolvers.sql import total, url_segment

SIDECAR_SCHEMA = "abb.ground_truth.assessments.v1"

suites, assessments = table(Suite), table(Assessment)


def accepted(suite: FromClause) -> ColumnElement[bool]:
    """A Suite that lists and overview show: not retired, and readable when it was last read."""
    return and_(suite.c.retired_at.is_(None), suite.c.fault.is_(None))


def name_agent(agent: FromClause, suite: FromClause) -> ColumnElement[bool]:
    """The Suites whose plan names an agent."""
    named = table(SuiteAgent).alias("naming")
    naming = select(named.c.suite_pk).where(named.c.suite_pk == suite.c.id, named.c.agent_id == agent.c.agent_id)
    return naming.correlate(agent, suite).exists()


def case_count(suite: FromClause) -> ColumnElement[int]:
    return _counted(suite, "case_count")


def completed_case_count(suite: FromClause) -> ColumnElement[int]:
    return _counted(suite, "completed_case_count")


def _counted(suite: FromClause, name: str) -> ColumnElement[int]:
    agent = table(SuiteAgent).alias("counted_agent")
    return select(total(agent.c[name])).where(agent.c.suite_pk == suite.c.id).correlate(suite).scalar_subquery()


def reviewable(attempt: FromClause) -> ColumnElement[bool]:
    """Whether some decision about an Attempt could be accepted."""
    slot, suite = table(Case).alias("its_slot"), table(Suite).alias("its_suite")
    sound = (
        select(slot.c.id)
        .join(suite, suite.c.id == slot.c.suite_pk)
        .where(
            slot.c.id == attempt.c.case_pk,
            slot.c.artifact_sha256.is_not(None),
            slot.c.artifact_fault.is_(None),
            suite.c.provenance == Provenance.CANONICAL,
            accepted(suite),
        )
        .correlate(attempt)
    )
    return and_(
        attempt.c.execution_status == "completed",
        attempt.c.refusal.is_(None),
        attempt.c.result_sha256.is_not(None),
        sound.exists(),
    )


def is_at(
    attempt: FromClause, suite_id: ColumnElement[str], agent_id: ColumnElement[str], case_index: ColumnElement[int]
) -> ColumnElement[bool]:
    """Attempts at one slot of a Suite."""
    slot, suite = table(Case), table(Suite)
    found = (
        select(slot.c.id)
        .join(suite, suite.c.id == slot.c.suite_pk)
        .where(suite.c.suite_id == suite_id, slot.c.agent_id == agent_id, slot.c.case_index == case_index)
    )
    return attempt.c.case_pk == found.scalar_subquery()


def assessments_url(suite: FromClause) -> ColumnElement[str]:
    return func.concat("/api/suites/", url_segment(suite.c.suite_id), "/assessments.json")


def assessments_document(suite_id: str) -> Select[str]:
    """The text at `assessments_url`: what stands, each record of a tree in its own words."""
    standing = (
        select(
            func.aggregate_strings(cast(_record(assessments), Text), ",").aggregate_order_by(
                assessments.c.sidecar_index.nulls_last(), assessments.c.id
            )
        )
        .where(assessments.c.suite_pk == suites.c.id, assessments.c.status == AssessmentStatus.ACCEPTED)
        .correlate(suites)
        .scalar_subquery()
    )
    head = cast(func.json_build_object("schema", SIDECAR_SCHEMA, "suite_id", suites.c.suite_id), Text)
    text = func.concat(func.left(head, -1), ',"assessments":[', func.coalesce(standing, ""), "]}")
    return select(text).where(suites.c.suite_id == suite_id, accepted(suites))


def _record(assessment: FromClause) -> ColumnElement[Any]:
    named = (
        "agent_id",
        "case_index",
        "attempt_id",
        "ground_truth_sha256",
        "case_sha256",
        "result_sha256",
        "case_reproduced",
        "judge_detected",
        "reviewed_by",
        "reviewed_at",
        "rationale",
    )
    pairs = [part for name in named for part in (name, assessment.c[name])]
    written = func.json_build_object("ground_truth_id", assessment.c.defect_id, *pairs)
    return func.coalesce(assessment.c.record, cast(written, JsonText))


SHOWN = select(assessments).where(assessments.c.fault_code.is_(None), ~assessments.c.echo).subquery("shown_assessments")
"""A record whose form is at fault is only a warning; one that repeats another keeper's is that one."""
