"""The overview: which defects were discovered, per agent and current defect, over all Suites or one evaluator's.

Each figure comes in two scopes. Where the rows are `by_evaluator`, they carry its name in `evaluator`, and count its
Suites and the agents in them alone; else `evaluator` is null.
"""

from typing import Any

from sqlalchemy import (
    ARRAY,
    CTE,
    ColumnElement,
    FromClause,
    Select,
    Text,
    and_,
    case,
    cast,
    func,
    null,
    or_,
    select,
    true,
)

from models import Agent, Assessment, Defect, DefectSuite, ImportWarning, Suite, SuiteAgent, Tree
from models.base import (
    EvaluationEvidence,
    EvaluationSourceStatus,
    GroundTruthStatus,
    ManifestState,
    table,
)
from resolvers.agents import known, status, tallies
from resolvers.defects import SUMS
from resolvers.judgement import current
from resolvers.sql import total
from resolvers.suites import accepted

suites, suite_agents, agents, defects = table(Suite), table(SuiteAgent), table(Agent), table(Defect)
defect_suites, trees, assessments = table(DefectSuite), table(Tree), table(Assessment)
import_warnings = table(ImportWarning)

FIGURES = (
    "defect_count",
    "assessed_defect_count",
    "case_reproduced_count",
    "discovered_defect_count",
    "assessment_count",
    "judged",
    "recalled",
)


def _scope(by_evaluator: bool) -> ColumnElement[Any]:
    return (suites.c.evaluator if by_evaluator else cast(null(), Text)).label("evaluator")


def _slots(by_evaluator: bool) -> FromClause:
    """The agents that Suites name, with their slots."""
    evaluator = _scope(by_evaluator)
    return (
        select(
            evaluator,
            suite_agents.c.agent_id,
            func.count().label("suite_count"),
            total(suite_agents.c.case_count).label("case_count"),
            total(suite_agents.c.completed_case_count).label("completed_case_count"),
            func.bool_or(trees.c.registry_valid.is_(False)).label("registry_invalid"),
        )
        .join(suites, suites.c.id == suite_agents.c.suite_pk)
        .outerjoin(trees, trees.c.id == suites.c.tree_id)
        .where(accepted(suites))
        .group_by(evaluator, suite_agents.c.agent_id)
        .subquery("slots")
    )


def _sums(by_evaluator: bool) -> FromClause:
    """The sums of each defect that has any."""
    evaluator = _scope(by_evaluator)
    sums: list[ColumnElement[Any]] = [total(defect_suites.c[name]).label(name) for name in SUMS]
    counted = select(evaluator, defect_suites.c.defect_pk, *sums)
    if by_evaluator:
        counted = counted.join(suites, suites.c.id == defect_suites.c.suite_pk)
    return counted.group_by(evaluator, defect_suites.c.defect_pk).subquery("sums")


def _tallies(by_evaluator: bool) -> FromClause:
    """Counts over the current defects of each agent that has any; in a scope, of those that its Suites name."""
    sums, slots = _sums(by_evaluator), _slots(by_evaluator)
    held = [func.coalesce(sums.c[name], 0).label(name) for name in SUMS]
    if by_evaluator:
        evaluator: ColumnElement[Any] = slots.c.evaluator
        source = slots.join(agents, agents.c.agent_id == slots.c.agent_id).join(defects, current(agents, defects))
        matching = and_(sums.c.defect_pk == defects.c.id, sums.c.evaluator == evaluator)
    else:
        evaluator = cast(null(), Text).label("evaluator")
        source = defects.join(agents, current(agents, defects))
        matching = sums.c.defect_pk == defects.c.id
    by_defect = (
        select(evaluator, defects.c.agent_pk, defects.c.id.label("defect_pk"), *held)
        .select_from(source.outerjoin(sums, matching))
        .where(defects.c.agent_pk == agents.c.id)
        .subquery("by_defect")
    )
    figures = (figure.label(name) for name, figure in tallies(by_defect).items())
    return (
        select(by_defect.c.evaluator, by_defect.c.agent_pk, *figures)
        .group_by(by_defect.c.evaluator, by_defect.c.agent_pk)
        .subquery("tallies")
    )


def _agents(by_evaluator: bool) -> Select[Any]:
    """A row per agent shown: those that Suites name, those with a manifest, the invalid ones."""
    slots, tally = _slots(by_evaluator), _tallies(by_evaluator)
    registered = (
        select(agents.c.id, agents.c.agent_id, agents.c.manifest_state).where(known(agents)).subquery("registered")
    )
    same_agent = registered.c.agent_id == slots.c.agent_id
    same_tally = tally.c.agent_pk == registered.c.id
    if by_evaluator:
        same_tally = and_(same_tally, tally.c.evaluator == slots.c.evaluator)
    figures = {name: func.coalesce(tally.c[name], 0) for name in FIGURES}
    figures["decided"] = func.coalesce(tally.c.decided, False)
    invalid = or_(
        registered.c.manifest_state == ManifestState.INVALID,
        and_(registered.c.id.is_(None), func.coalesce(slots.c.registry_invalid, False)),
    )
    return (
        select(
            slots.c.evaluator,
            func.coalesce(slots.c.agent_id, registered.c.agent_id).label("agent_id"),
            registered.c.id.label("agent_pk"),
            *(
                func.coalesce(slots.c[name], 0).label(name)
                for name in ("suite_count", "case_count", "completed_case_count")
            ),
            *(figure.label(name) for name, figure in figures.items()),
            status(figures, invalid, registered.c.manifest_state == ManifestState.VALID).label("status"),
        )
        .select_from(
            slots.join(registered, same_agent, isouter=True, full=not by_evaluator).outerjoin(tally, same_tally)
        )
        .where(
            or_(
                slots.c.agent_id.is_not(None),
                registered.c.manifest_state != ManifestState.MISSING,
                tally.c.defect_count > 0,
            )
        )
    )


AGENTS: CTE = _agents(by_evaluator=False).cte("overview_agents")
EVALUATOR_AGENTS: CTE = _agents(by_evaluator=True).cte("evaluator_agents")


def _figures(rows: FromClause) -> Select[Any]:
    """The totals over agents, whatever they are grouped by."""
    sums: dict[str, ColumnElement[Any]] = {name: total(rows.c[name]) for name in FIGURES}
    sums["decided"] = func.coalesce(func.bool_or(rows.c.decided), False)
    invalid = func.count().filter(rows.c.status == GroundTruthStatus.INVALID)
    unconfigured = func.count().filter(rows.c.status == GroundTruthStatus.NOT_CONFIGURED)
    return select(
        func.count().label("agent_count"),
        total(rows.c.case_count).label("case_count"),
        total(rows.c.completed_case_count).label("completed_case_count"),
        *(figure.label(name) for name, figure in sums.items()),
        (func.count() - invalid - unconfigured).label("configured_agent_count"),
        unconfigured.label("unconfigured_agent_count"),
        invalid.label("invalid_agent_count"),
        status(sums, invalid > 0, func.count() > invalid + unconfigured).label("status"),
    )


def overview(_parent: None = None) -> Select[Any]:
    """One row: the totals over everything."""
    count = select(func.count()).select_from(suites).where(accepted(suites)).scalar_subquery()
    return _figures(AGENTS).add_columns(count.label("suite_count"), cast(null(), Text).label("evaluator"))


def evaluators(_parent: FromClause | None = None) -> Select[Any]:
    """The same totals, a row for each evaluator, with what is recorded of its Suites' source."""
    figures = (
        _figures(EVALUATOR_AGENTS)
        .add_columns(EVALUATOR_AGENTS.c.evaluator)
        .group_by(EVALUATOR_AGENTS.c.evaluator)
        .subquery("figures")
    )
    source = _sources()
    return select(*figures.c, *(column for column in source.c if column.name != "evaluator")).join(
        source, source.c.evaluator == figures.c.evaluator
    )


def _sources() -> FromClause:
    """What the Suites of each evaluator record of their source, taken together."""
    configured = suites.c.configured_sdk
    is_one = and_(func.count(configured) == func.count(), func.min(configured) == func.max(configured))
    from_plan = suites.c.evidence.in_((EvaluationEvidence.PLAN, EvaluationEvidence.PLAN_AND_RESULTS))
    from_results = suites.c.evidence.in_((EvaluationEvidence.RESULTS, EvaluationEvidence.PLAN_AND_RESULTS))
    grouped = (
        select(
            suites.c.evaluator,
            func.count().label("suite_count"),
            func.bool_or(suites.c.source_status == EvaluationSourceStatus.MIXED).label("mixed"),
            func.bool_or(suites.c.source_status == EvaluationSourceStatus.PARTIAL).label("partial"),
            case((is_one, func.min(configured))).label("configured_sdk"),
            func.bool_or(from_plan).label("planned"),
            func.bool_or(from_results).label("resulted"),
        )
        .where(accepted(suites))
        .group_by(suites.c.evaluator)
        .subquery("grouped")
    )
    sdks, modes = _together("sdks", grouped), _together("provider_modes", grouped)
    status_of = case(
        (grouped.c.mixed, EvaluationSourceStatus.MIXED),
        (func.cardinality(sdks) == 0, EvaluationSourceStatus.NOT_RECORDED),
        (grouped.c.partial, EvaluationSourceStatus.PARTIAL),
        else_=EvaluationSourceStatus.RECORDED,
    )
    evidence = case(
        (and_(grouped.c.planned, grouped.c.resulted), EvaluationEvidence.PLAN_AND_RESULTS),
        (grouped.c.planned, EvaluationEvidence.PLAN),
        (grouped.c.resulted, EvaluationEvidence.RESULTS),
        else_=EvaluationEvidence.NONE,
    )
    return select(
        grouped.c.evaluator,
        grouped.c.suite_count,
        status_of.label("source_status"),
        case((and_(~grouped.c.mixed, func.cardinality(sdks) == 1), sdks[1])).label("sdk"),
        sdks.label("sdks"),
        grouped.c.configured_sdk,
        modes.label("provider_modes"),
        evidence.label("evidence"),
    ).subquery("source")


def _together(name: str, grouped: FromClause) -> ColumnElement[list[str]]:
    """The distinct texts in an array column of an evaluator's Suites, sorted."""
    suite = suites.alias("one_suite")
    texts = func.unnest(suite.c[name]).table_valued("text").render_derived("texts")
    distinct = (
        select(texts.c.text)
        .select_from(suite.join(texts, true()))
        .where(accepted(suite), suite.c.evaluator == grouped.c.evaluator)
        .distinct()
        .order_by(texts.c.text)
        .correlate(grouped)
    )
    return func.array(distinct.scalar_subquery(), type_=ARRAY(Text))


def agents_of(parent: FromClause) -> Select[Any]:
    return select(AGENTS)


def agents_of_evaluator(parent: FromClause) -> Select[Any]:
    return select(EVALUATOR_AGENTS).where(EVALUATOR_AGENTS.c.evaluator == parent.c.evaluator)


def in_scope(evaluator: ColumnElement[str | None], suite: FromClause) -> ColumnElement[bool]:
    return and_(accepted(suite), or_(evaluator.is_(None), suite.c.evaluator == evaluator))


def suites_of(agent: FromClause) -> Select[Any]:
    """The Suites that name an agent of the overview, with the agent's own slots in them."""
    named = suite_agents.alias("named")
    return (
        select(*suites.c, named.c.case_count, named.c.completed_case_count)
        .join(named, named.c.suite_pk == suites.c.id)
        .where(named.c.agent_id == agent.c.agent_id, in_scope(agent.c.evaluator, suites))
    )


def defects_of(agent: FromClause) -> Select[Any]:
    """The current defects of an agent of the overview, with their sums in its scope."""
    counted, suite = defect_suites.alias("counted"), suites.alias("its_suite")
    sums: list[ColumnElement[Any]] = [total(counted.c[name]).label(name) for name in SUMS]
    scoped = (
        select(*sums)
        .join(suite, suite.c.id == counted.c.suite_pk)
        .where(counted.c.defect_pk == defects.c.id, in_scope(agent.c.evaluator, suite))
        .correlate(defects, agent)
        .lateral("sums")
    )
    return (
        select(*defects.c, *scoped.c)
        .join(agents, agents.c.id == defects.c.agent_pk)
        .join(scoped, true())
        .where(defects.c.agent_pk == agent.c.agent_pk, current(agents, defects))
    )
