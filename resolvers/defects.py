"""What is known of a defect: the sums over its accepted assessments in all Suites, and what they say."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import ColumnElement, FromClause, Select, and_, case, select

from models import Agent, DefectRevision, DefectSuite, Observation
from models.base import DefectStatus, table
from resolvers.judgement import current
from resolvers.sql import total

SUMS = ("accepted", "complete", "reproduced", "not_reproduced", "detected", "not_detected", "judged", "recalled")


def decided(sums: FromClause) -> ColumnElement[bool]:
    """Whether anybody decided anything."""
    return sums.c.reproduced + sums.c.not_reproduced + sums.c.detected + sums.c.not_detected > 0


def status(sums: FromClause) -> ColumnElement[str]:
    return case(
        (sums.c.detected > 0, DefectStatus.DISCOVERED),
        (sums.c.complete > 0, DefectStatus.NOT_DISCOVERED),
        (decided(sums), DefectStatus.PARTIALLY_ASSESSED),
        else_=DefectStatus.NOT_ASSESSED,
    )


def case_reproduced(sums: FromClause) -> ColumnElement[bool | None]:
    """One true is never erased by a later false; null while nobody decided."""
    return case((sums.c.reproduced > 0, True), (sums.c.not_reproduced > 0, False))


def judge_detected(sums: FromClause) -> ColumnElement[bool | None]:
    return case((sums.c.detected > 0, True), (sums.c.not_detected > 0, False))


def assessment_count(sums: FromClause) -> ColumnElement[int]:
    return sums.c.accepted


def assessed_attempt_count(sums: FromClause) -> ColumnElement[int]:
    return sums.c.complete


def over_all_suites(figure: Callable[[FromClause], ColumnElement[Any]]) -> Callable[[FromClause], ColumnElement[Any]]:
    """A figure of a defect's sums, for a row of the defect."""

    def expression(defect: FromClause) -> ColumnElement[Any]:
        return select(figure(_sums(defect).subquery("sums"))).scalar_subquery()

    return expression


def _sums(defect: FromClause) -> Select[Any]:
    counted = table(DefectSuite).alias("counted")
    sums: list[ColumnElement[Any]] = [total(counted.c[name]).label(name) for name in SUMS]
    return select(*sums).where(counted.c.defect_pk == defect.c.id).correlate(defect)


def visible(defect: FromClause) -> ColumnElement[bool]:
    """Lists show what decisions can be about."""
    agents = table(Agent).alias("its_agent")
    known = select(agents.c.id).where(agents.c.id == defect.c.agent_pk, current(agents, defect)).correlate(defect)
    return and_(defect.c.retired_at.is_(None), known.exists())


def is_of(defect: FromClause, agent_id: ColumnElement[str]) -> ColumnElement[bool]:
    return defect.c.agent_pk == select(table(Agent).c.id).where(table(Agent).c.agent_id == agent_id).scalar_subquery()


def observes(defect: FromClause, observation: FromClause) -> ColumnElement[bool]:
    """The evidence is that of the present revision."""
    return and_(observation.c.defect_pk == defect.c.id, observation.c.revision == defect.c.revision)


OBSERVATIONS = (
    select(table(Observation), table(DefectRevision).c.defect_pk, table(DefectRevision).c.revision)
    .join(table(DefectRevision), table(DefectRevision).c.id == table(Observation).c.revision_pk)
    .subquery("observations")
)
