"""The warnings of the overview: what imports left out, and each record that does not count."""

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Select,
    Text,
    and_,
    case,
    cast,
    literal,
    null,
    or_,
    select,
    union_all,
)

from models import Assessment, ImportWarning, Suite, SuiteAgent
from models.assessments import IDENTITY
from models.base import AssessmentStatus, Keeper, ReasonCode, table
from resolvers.overview import in_scope
from resolvers.reasons import MESSAGES
from resolvers.suites import accepted

suites, suite_agents, assessments = table(Suite), table(SuiteAgent), table(Assessment)
import_warnings = table(ImportWarning)

ABOUT_SUITES = (ReasonCode.UNAVAILABLE_SUITE, ReasonCode.AMBIGUOUS_SUITE)

ORDER: Sequence[Callable[[FromClause], ColumnElement[Any]]] = (lambda row: row.c.rank, lambda row: row.c.place)


def suite_warnings(_parent: FromClause) -> Select[Any]:
    """The Suites that were left out whole."""
    return _told(import_warnings.c.code.in_(ABOUT_SUITES))


def ground_truth_warnings(parent: FromClause) -> Select[Any]:
    """All other warnings: what imports left out, and each record that does not count."""
    told = _told(import_warnings.c.code.not_in(ABOUT_SUITES), _concerns(parent))
    refused = _refused(parent.c.evaluator)
    # Each part refers to the parent by itself: the select around them cannot correlate for them.
    return select(union_all(told.correlate(parent), refused.correlate(parent)).subquery("warnings"))


def warnings_of_agent(agent: FromClause) -> Select[Any]:
    """What the registration and the manifest of an agent left wrong."""
    return _told(import_warnings.c.agent_id == agent.c.agent_id)


def _told(*which: ColumnElement[bool]) -> Select[Any]:
    return select(
        literal(0).label("rank"),
        import_warnings.c.id.label("place"),
        *(import_warnings.c[name] for name in ("code", "message", "agent_id", "suite_id", "assessment_index")),
    ).where(*which)


def _concerns(parent: FromClause) -> ColumnElement[bool]:
    evaluator, named = parent.c.evaluator, suite_agents.alias("named")
    touched = (
        select(suites.c.id)
        .join(named, named.c.suite_pk == suites.c.id)
        .where(
            accepted(suites),
            suites.c.evaluator == evaluator,
            or_(suites.c.suite_id == import_warnings.c.suite_id, named.c.agent_id == import_warnings.c.agent_id),
        )
        .correlate(import_warnings, parent)
    )
    return or_(evaluator.is_(None), touched.exists())


def _refused(evaluator: ColumnElement[str | None]) -> Select[Any]:
    rival = assessments.alias("rival")
    told_before = select(rival.c.id).where(
        rival.c.reason == ReasonCode.CONFLICTING_ASSESSMENTS,
        rival.c.keeper == Keeper.TREE,
        *(rival.c[name] == assessments.c[name] for name in IDENTITY),
        rival.c.sidecar_index < assessments.c.sidecar_index,
    )
    is_repeated = and_(assessments.c.reason == ReasonCode.CONFLICTING_ASSESSMENTS, told_before.exists())
    return (
        select(
            literal(1).label("rank"),
            assessments.c.id.label("place"),
            assessments.c.reason.label("code"),
            case(dict(MESSAGES), value=assessments.c.reason).label("message"),
            cast(null(), Text).label("agent_id"),
            suites.c.suite_id,
            assessments.c.sidecar_index.label("assessment_index"),
        )
        .join(suites, suites.c.id == assessments.c.suite_pk)
        .where(
            assessments.c.status == AssessmentStatus.REFUSED,
            ~assessments.c.echo,
            in_scope(evaluator, suites),
            ~is_repeated,
        )
    )
