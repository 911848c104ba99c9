"""The overview as the document `abb.benchmark.overview.v1`: finished JSON from one statement."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from sqlalchemy import JSON, ColumnElement, FromClause, Select, Text, cast, func, literal, select

from resolvers import defects, warnings
from resolvers.agents import discovery_rate
from resolvers.overview import AGENTS, defects_of, overview, suites_of
from resolvers.sql import url_segment

Show = Callable[[FromClause], ColumnElement[Any]]
Order = Callable[[FromClause], Sequence[ColumnElement[Any]]]

SCHEMA = "abb.benchmark.overview.v1"
SOURCE_SCHEMA = "abb.evaluation.source.v1"

TOTALS = ("suite_count", "agent_count", "case_count", "completed_case_count")
SLOTS = ("suite_count", "case_count", "completed_case_count")
FIGURES = (
    "defect_count",
    "assessed_defect_count",
    "case_reproduced_count",
    "discovered_defect_count",
    "assessment_count",
)
CONFIGURATION = ("configured_agent_count", "unconfigured_agent_count", "invalid_agent_count")


@cache
def overview_document() -> Select[Any]:
    """The text of the document over everything, as it is now."""
    row = overview().subquery("overview")
    agents = AGENTS.alias("agent")
    document = _object(
        schema=literal(SCHEMA),
        totals=_object(**_columns(row, TOTALS)),
        agents=_list(select(agents), _agent, lambda agent: (agent.c.case_count.desc(), agent.c.agent_id)),
        ground_truth=_object(
            **_ground_truth(row),
            **_columns(row, CONFIGURATION),
            warnings=_warnings(warnings.ground_truth_warnings(row).correlate(row)),
        ),
        warnings=_warnings(warnings.suite_warnings(row).correlate(row)),
    )
    return select(cast(document, Text)).select_from(row)


def _agent(agent: FromClause) -> ColumnElement[Any]:
    return _object(
        agent_id=agent.c.agent_id,
        **_columns(agent, SLOTS),
        suites=_list(suites_of(agent).correlate(agent), _suite, lambda suite: (suite.c.suite_id,)),
        ground_truth=_object(
            **_ground_truth(agent),
            defects=_list(defects_of(agent).correlate(agent), _defect, lambda defect: (defect.c.position, defect.c.id)),
        ),
    )


def _suite(suite: FromClause) -> ColumnElement[Any]:
    return _object(
        suite_id=suite.c.suite_id,
        url=func.concat("/suite/", url_segment(suite.c.suite_id), "/"),
        state=func.lower(suite.c.state),
        origin_suite_id=suite.c.origin_suite_id,
        evaluation_source=_object(
            schema=literal(SOURCE_SCHEMA),
            status=func.lower(suite.c.source_status),
            **_columns(suite, ("sdk", "sdks", "configured_sdk", "provider_modes")),
            evidence=func.lower(suite.c.evidence),
        ),
        **_columns(suite, ("case_count", "completed_case_count")),
    )


def _ground_truth(row: FromClause) -> dict[str, ColumnElement[Any]]:
    return {
        "status": func.lower(row.c.status),
        **_columns(row, FIGURES),
        "discovery_rate": discovery_rate(row),
    }


def _defect(defect: FromClause) -> ColumnElement[Any]:
    return _object(
        id=defect.c.defect_id,
        **_columns(defect, ("title", "ground_truth_sha256")),
        status=func.lower(defects.status(defect)),
        case_reproduced=defects.case_reproduced(defect),
        judge_detected=defects.judge_detected(defect),
        assessment_count=defects.assessment_count(defect),
        assessed_attempt_count=defects.assessed_attempt_count(defect),
    )


def _warnings(rows: Select[Any]) -> ColumnElement[Any]:
    return _list(rows, _warning, lambda row: tuple(key(row) for key in warnings.ORDER))


def _warning(row: FromClause) -> ColumnElement[Any]:
    """What does not apply is left out."""
    return func.json_strip_nulls(
        _object(**_columns(row, ("code", "message", "agent_id", "suite_id", "assessment_index"))), type_=JSON
    )


def _columns(row: FromClause, names: tuple[str, ...]) -> dict[str, ColumnElement[Any]]:
    return {name: row.c[name] for name in names}


def _object(**members: ColumnElement[Any]) -> ColumnElement[Any]:
    return func.json_build_object(*(part for name, value in members.items() for part in (name, value)), type_=JSON)


def _list(rows: Select[Any], show: Show, order: Order) -> ColumnElement[Any]:
    row = rows.subquery()
    shown = func.json_agg(show(row), type_=JSON).aggregate_order_by(*order(row))
    found = select(shown).select_from(row).correlate_except(row).scalar_subquery()
    return func.coalesce(found, cast(literal("[]", Text), JSON))
