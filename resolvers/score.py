"""The formal discovery score: what reviewers found in the trials of a cohort that was frozen before them.

A cell is one frozen defect in one trial of one evaluator. Its pairs are the reviewable Attempts within the budget; a
trial is complete when each of its pairs is decided, and only complete trials are scored.
"""

from typing import Any

from sqlalchemy import (
    ColumnElement,
    Double,
    FromClause,
    Select,
    and_,
    case,
    cast,
    func,
    or_,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import aggregate_order_by

from models import (
    Assessment,
    AssessmentChange,
    DiscoveryProtocol,
    ProtocolDefect,
    TrialSuite,
)
from models.base import AssessmentStatus, Keeper, ReasonCode, table
from resolvers.judgement import agents, attempts, cases, decided, defects
from resolvers.sql import total

assessments, changes = table(Assessment), table(AssessmentChange)
protocols, protocol_defects, trial_suites = table(DiscoveryProtocol), table(ProtocolDefect), table(TrialSuite)

# What an edit of the defect does to a record, and a score does not mind.
UNBOUND = (ReasonCode.STALE_REVISION, ReasonCode.UNKNOWN_DEFECT)


def _record() -> FromClause:
    """The last decision about an Attempt that was bound to the frozen revision and not withdrawn."""
    later = changes.alias("later")
    bound = and_(
        changes.c.ground_truth_sha256 == protocol_defects.c.ground_truth_sha256,
        changes.c.case_sha256 == cases.c.artifact_sha256,
        changes.c.result_sha256 == attempts.c.result_sha256,
    )
    superseded = select(later.c.version).where(
        later.c.assessment_pk == changes.c.assessment_pk,
        later.c.ground_truth_sha256 == changes.c.ground_truth_sha256,
        later.c.version > changes.c.version,
    )
    counted = or_(
        and_(changes.c.version < assessments.c.version, assessments.c.keeper == Keeper.API),
        assessments.c.status == AssessmentStatus.ACCEPTED,
        assessments.c.reason.in_(UNBOUND),
    )
    return (
        select(changes.c.case_reproduced, changes.c.judge_detected)
        .join(assessments, assessments.c.id == changes.c.assessment_pk)
        .where(
            assessments.c.attempt_pk == attempts.c.id,
            assessments.c.defect_pk == defects.c.id,
            bound,
            counted,
            ~changes.c.withdrawn,
            ~superseded.exists(),
        )
        .order_by(changes.c.changed_at.desc(), changes.c.assessment_pk.desc())
        .limit(1)
        .lateral("record")
    )


def _cells() -> FromClause:
    """For each frozen defect in each trial: its pairs, those decided, and what they found."""
    record = _record()
    reviewable = and_(
        attempts.c.case_pk == cases.c.id,
        attempts.c.execution_status == "completed",
        attempts.c.refusal.is_(None),
        attempts.c.result_sha256.is_not(None),
    )
    within_budget = and_(
        cases.c.suite_pk == trial_suites.c.suite_pk,
        cases.c.agent_id == agents.c.agent_id,
        cases.c.case_index < protocols.c.budget_cases,
        cases.c.artifact_sha256.is_not(None),
        cases.c.artifact_fault.is_(None),
    )
    both = and_(record.c.case_reproduced, record.c.judge_detected.is_not(None))
    return (
        select(
            protocols.c.id.label("protocol_pk"),
            trial_suites.c.evaluator,
            trial_suites.c.trial,
            defects.c.agent_pk,
            defects.c.id.label("defect_pk"),
            func.count(attempts.c.id).label("pairs"),
            func.count().filter(decided(record, attempts)).label("decided"),
            func.coalesce(func.bool_or(and_(record.c.case_reproduced, record.c.judge_detected)), False).label("found"),
            func.coalesce(func.bool_or(record.c.case_reproduced), False).label("reproduced"),
            func.count().filter(both).label("judged"),
            func.count().filter(and_(both, record.c.judge_detected)).label("recalled"),
        )
        .select_from(
            protocols.join(trial_suites, trial_suites.c.protocol_pk == protocols.c.id)
            .join(protocol_defects, protocol_defects.c.protocol_pk == protocols.c.id)
            .join(defects, defects.c.id == protocol_defects.c.defect_pk)
            .join(agents, agents.c.id == defects.c.agent_pk)
            .outerjoin(cases, within_budget)
            .outerjoin(attempts, reviewable)
            .outerjoin(record, true())
        )
        .group_by(protocols.c.id, trial_suites.c.evaluator, trial_suites.c.trial, defects.c.agent_pk, defects.c.id)
        .subquery("cells")
    )


def _marked_cells() -> FromClause:
    """Cells that know whether their trial is complete."""
    cells = _cells()
    trial = [cells.c.protocol_pk, cells.c.evaluator, cells.c.trial]
    complete = func.sum(cells.c.pairs).over(partition_by=trial) == func.sum(cells.c.decided).over(partition_by=trial)
    return select(*cells.c, complete.label("complete")).subquery("marked")


def _by_trial() -> FromClause:
    """The mean over agents in each trial; null while it is not complete."""
    cells = _marked_cells()
    by_agent = (
        select(
            cells.c.protocol_pk,
            cells.c.evaluator,
            cells.c.trial,
            func.bool_and(cells.c.complete).label("complete"),
            (cast(func.count().filter(cells.c.found), Double) / func.count()).label("discovery"),
        )
        .group_by(cells.c.protocol_pk, cells.c.evaluator, cells.c.trial, cells.c.agent_pk)
        .subquery("by_agent")
    )
    mean = case((func.bool_and(by_agent.c.complete), func.avg(by_agent.c.discovery)))
    return (
        select(by_agent.c.protocol_pk, by_agent.c.evaluator, by_agent.c.trial, mean.label("discovery"))
        .group_by(by_agent.c.protocol_pk, by_agent.c.evaluator, by_agent.c.trial)
        .subquery("by_trial")
    )


def evaluator_scores(protocol: FromClause) -> Select[Any]:
    """A row for each evaluator that has a trial."""
    cells = _marked_cells()
    scored = cells.c.complete
    sums = (
        select(
            cells.c.protocol_pk,
            cells.c.evaluator,
            func.count(func.distinct(cells.c.trial)).filter(scored).label("complete_trials"),
            func.count().filter(and_(scored, cells.c.found)).label("found"),
            func.count().filter(and_(scored, cells.c.reproduced)).label("reproduced"),
            func.count().filter(scored).label("cells"),
            total(cells.c.judged).label("judged"),
            total(cells.c.recalled).label("recalled"),
            total(cells.c.pairs).label("pairs"),
            total(cells.c.decided).label("decided"),
        )
        .group_by(cells.c.protocol_pk, cells.c.evaluator)
        .subquery("sums")
    )
    by_trial = _by_trial()
    places = func.generate_series(1, protocol.c.trials).table_valued("place").render_derived("places")
    of_trial = and_(
        by_trial.c.trial == places.c.place,
        by_trial.c.protocol_pk == sums.c.protocol_pk,
        by_trial.c.evaluator == sums.c.evaluator,
    )
    series = (
        select(
            func.array_agg(aggregate_order_by(by_trial.c.discovery, places.c.place)).label("per_trial"),
            func.avg(by_trial.c.discovery).label("mean"),
        )
        .select_from(places.outerjoin(by_trial, of_trial))
        .lateral("series")
    )
    is_complete = sums.c.complete_trials == protocol.c.trials
    return (
        select(
            *sums.c,
            series.c.per_trial,
            case((is_complete, series.c.mean)).label("macro"),
            (~is_complete).label("pending"),
        )
        .select_from(sums.join(series, true()))
        .where(sums.c.protocol_pk == protocol.c.id)
    )


def is_pending(protocol: FromClause) -> ColumnElement[bool]:
    """While no evaluator has all its trials, reviewed, or one of them has not."""
    scores = evaluator_scores(protocol).lateral("scores")
    return select(func.coalesce(func.bool_or(scores.c.pending), True)).select_from(scores).scalar_subquery()


def agent_scores(score: FromClause) -> Select[Any]:
    """A row for each agent of the cohort, over the complete trials of one evaluator."""
    cells = _marked_cells()
    return (
        select(
            cells.c.agent_pk,
            func.count().filter(and_(cells.c.complete, cells.c.found)).label("found"),
            func.count().filter(cells.c.complete).label("cells"),
        )
        .where(cells.c.protocol_pk == score.c.protocol_pk, cells.c.evaluator == score.c.evaluator)
        .group_by(cells.c.agent_pk)
    )
