from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import strawberry
from strawberry.scalars import JSON

from engine.graph import Connection, Node
from engine.mapping import Filter, backed, computed, embedded, items, many, one
from models import Attempt as Attempts
from models import Case as Cases
from models import Suite as Suites
from models import SuiteAgent as SuiteAgents
from models.base import table
from resolvers import suites
from schema.agents import Agent
from schema.enums import Keeper, Provenance, SuiteState
from schema.figures import EvaluationSource
from schema.files import File
from schema.scalars import Sha256

if TYPE_CHECKING:
    from schema.assessments import Assessment


@backed(table(SuiteAgents), key="agent_id", position="position")
class SuiteAgent:
    agent_id: str
    agent: Agent | None = one(lambda named, agent: agent.c.agent_id == named.c.agent_id)
    source_sha256: Sha256 | None
    case_count: int
    completed_case_count: int


@backed(
    table(Suites),
    visible=suites.accepted,
    filters=(
        "suite_id",
        "state",
        "provenance",
        "origin_suite_id",
        Filter("evaluator", str, lambda suite: suite.c.evaluator),
        "created_at",
        "imported_at",
        "keeper",
    ),
    orders=("suite_id", "created_at", "imported_at"),
)
class Suite(Node):
    suite_id: str
    state: SuiteState
    provenance: Provenance
    provenance_sha256: Sha256 | None
    origin_suite_id: str | None
    evaluation_source: EvaluationSource = embedded()
    case_count: int = computed(suites.case_count)
    completed_case_count: int = computed(suites.completed_case_count)
    agents: list[SuiteAgent] = items(lambda suite, agent: agent.c.suite_pk == suite.c.id)
    cases: Connection["Case"] = many(lambda suite, case: case.c.suite_pk == suite.c.id)
    assessments: Connection[Annotated["Assessment", strawberry.lazy("schema.assessments")]] = many(
        lambda suite, assessment: assessment.c.suite_pk == suite.c.id
    )
    assessments_url: str = computed(
        suites.assessments_url,
        description="The standing assessments as an `abb.ground_truth.assessments.v1` file.",
    )
    keeper: Keeper
    retired_at: datetime | None
    created_at: datetime | None
    imported_at: datetime


@backed(
    table(Cases),
    filters=("agent_id", "case_index", "case_id", "artifact_sha256", "execution_status", "suite", "agent"),
    orders=("case_index",),
)
class Case(Node):
    """One slot of a Suite. Reuse adds slots, retries do not."""

    suite: Suite = one(lambda case, suite: suite.c.id == case.c.suite_pk)
    agent_id: str
    agent: Agent | None = one(lambda case, agent: agent.c.agent_id == case.c.agent_id)
    case_index: int
    case_id: str | None
    artifact_sha256: Sha256 | None
    artifact: File | None = one(lambda case, file: file.c.sha256 == case.c.artifact_file)
    execution_status: str
    attempts: Connection["Attempt"] = many(lambda case, attempt: attempt.c.case_pk == case.c.id)


@backed(
    table(Attempts),
    position="position",
    filters=(
        "attempt_id",
        "attempt_number",
        "execution_status",
        "judge_status",
        "result_sha256",
        "host_acceptance",
        "reviewable",
        "started_at",
        "finished_at",
        "case",
    ),
    orders=("attempt_number", "started_at", "finished_at"),
)
class Attempt(Node):
    case: Case = one(lambda attempt, case: case.c.id == attempt.c.case_pk)
    attempt_id: str
    attempt_number: int
    execution_status: str
    judge_status: str | None
    report: JSON | None
    result: JSON | None
    result_sha256: Sha256 | None
    host_acceptance: str | None
    evidence_status: str | None
    host_trace_validation: str | None
    error: JSON | None
    reviewable: bool = computed(
        suites.reviewable,
        description="True where a decision about it could be accepted: "
        "a completed execution with sound, unrejected evidence.",
    )
    started_at: datetime | None
    finished_at: datetime | None
    assessments: Connection[Annotated["Assessment", strawberry.lazy("schema.assessments")]] = many(
        lambda attempt, assessment: assessment.c.attempt_pk == attempt.c.id
    )
