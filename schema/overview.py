from engine.graph import Connection
from engine.mapping import backed, computed, embedded, items, many, one
from resolvers import agents, defects, overview, warnings
from resolvers.sql import proportion
from schema.agents import Agent, Defect, GroundTruthSummary
from schema.enums import DefectStatus, GroundTruthStatus, SuiteState
from schema.figures import EvaluationSource, Proportion, Warning
from schema.scalars import Sha256
from schema.suites import Suite


@backed()
class OverviewTotals:
    suite_count: int
    agent_count: int
    case_count: int
    completed_case_count: int


@backed()
class OverviewGroundTruth:
    status: GroundTruthStatus
    defect_count: int
    assessed_defect_count: int
    case_reproduced_count: int
    discovered_defect_count: int
    assessment_count: int
    discovery_rate: float | None = computed(agents.discovery_rate)
    judge_recall: Proportion = embedded(proportion("recalled", "judged"))
    configured_agent_count: int
    unconfigured_agent_count: int
    invalid_agent_count: int
    warnings: list[Warning] = items(rows=warnings.ground_truth_warnings, order_by=warnings.ORDER)


@backed(position="position")
class DefectOverview:
    defect_id: str
    title: str
    ground_truth_sha256: Sha256
    status: DefectStatus = computed(defects.status)
    case_reproduced: bool | None = computed(defects.case_reproduced)
    judge_detected: bool | None = computed(defects.judge_detected)
    assessment_count: int = computed(defects.assessment_count)
    assessed_attempt_count: int = computed(defects.assessed_attempt_count)
    defect: Defect = one(lambda row, defect: defect.c.id == row.c.id)


@backed(key="suite_id")
class SuiteOverview:
    suite_id: str
    suite: Suite = one(lambda row, suite: suite.c.id == row.c.id)
    state: SuiteState
    origin_suite_id: str | None
    case_count: int
    completed_case_count: int


@backed(key="agent_id")
class AgentOverview:
    """`agent` is null for an identity that only a Suite or a broken registry names."""

    agent_id: str
    agent: Agent | None = one(lambda row, agent: agent.c.id == row.c.agent_pk)
    suite_count: int
    case_count: int
    completed_case_count: int
    ground_truth: GroundTruthSummary = embedded()
    defects: Connection[DefectOverview] = many(rows=overview.defects_of)
    suites: Connection[SuiteOverview] = many(rows=overview.suites_of)


MOST_SLOTS_FIRST = (lambda row: row.c.case_count.desc(),)


@backed(key="evaluator")
class EvaluatorOverview:
    evaluator: str
    source: EvaluationSource = embedded()
    totals: OverviewTotals = embedded()
    ground_truth: OverviewGroundTruth = embedded()
    agents: Connection[AgentOverview] = many(rows=overview.agents_of_evaluator, order_by=MOST_SLOTS_FIRST)


@backed(overview.overview, key="none")
class BenchmarkOverview:
    totals: OverviewTotals = embedded()
    ground_truth: OverviewGroundTruth = embedded()
    agents: Connection[AgentOverview] = many(rows=overview.agents_of, order_by=MOST_SLOTS_FIRST)
    evaluators: list[EvaluatorOverview] = items(
        rows=overview.evaluators,
        description="The same figures within each evaluation SDK; mixed, partial and unrecorded sources stay apart.",
    )
    warnings: list[Warning] = items(rows=warnings.suite_warnings, order_by=warnings.ORDER)
