from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import strawberry
from strawberry.scalars import JSON

from engine.graph import Connection, Node
from engine.mapping import Filter, backed, column, computed, embedded, items, many, one
from models import Agent as Agents
from models import Defect as Defects
from models import DefectRevision as DefectRevisions
from models.base import table
from resolvers import agents, defects, suites, warnings
from resolvers.sql import proportion
from schema.enums import DefectStatus, GroundTruthStatus, Keeper
from schema.figures import Proportion, Warning
from schema.files import File
from schema.scalars import Sha256

if TYPE_CHECKING:
    from schema.assessments import Assessment
    from schema.benchmarks import Benchmark
    from schema.suites import Suite


@backed()
class GroundTruthSummary:
    status: GroundTruthStatus
    defect_count: int
    assessed_defect_count: int
    case_reproduced_count: int
    discovered_defect_count: int
    assessment_count: int
    discovery_rate: float | None = computed(
        agents.discovery_rate,
        description="Discovered / known; null until one defect is fully assessed. Never 0 for what is unknown.",
    )
    judge_recall: Proportion = embedded(
        proportion("recalled", "judged"),
        description="Of the accepted records with both decisions that reproduced their defect, "
        "those the Judge detected.",
    )
    warnings: list[Warning] = items(rows=warnings.warnings_of_agent, order_by=warnings.ORDER)


@backed(
    table(Agents),
    visible=agents.known,
    filters=(
        "agent_id",
        "name",
        "framework",
        "keeper",
        "created_at",
        "updated_at",
        Filter("ground_truth_status", GroundTruthStatus, agents.ground_truth_status),
    ),
    orders=("agent_id", "name", "created_at", "updated_at"),
)
class Agent(Node):
    agent_id: str
    name: str
    framework: str | None
    source_sha256: Sha256 | None = column(
        "source_sha256",
        description="Digest of the execution source of the linked unit; null where no unit is linked.",
    )
    ground_truth: GroundTruthSummary = one(rows=agents.summary)
    defects: Connection["Defect"] = many(lambda agent, defect: defect.c.agent_pk == agent.c.id)
    suites: Connection[Annotated["Suite", strawberry.lazy("schema.suites")]] = many(suites.name_agent)
    benchmarks: Connection[Annotated["Benchmark", strawberry.lazy("schema.benchmarks")]] = many(
        lambda agent, benchmark: benchmark.c.agent_pk == agent.c.id
    )
    manifest: JSON | None = computed(
        agents.manifest,
        description="To read. JSON in transit can respell numbers: "
        "the document with its digests intact is at `manifestUrl`.",
    )
    manifest_url: str | None = computed(
        agents.manifest_url, description="An `abb.agent.ground_truth.v1` file; null where nothing is configured."
    )
    keeper: Keeper
    retired_at: datetime | None
    created_at: datetime
    updated_at: datetime


@backed(
    table(Defects),
    position="position",
    visible=defects.visible,
    filters=(
        "defect_id",
        "title",
        "confirmed_by",
        "confirmed_at",
        "source_sha256",
        "case_sha256",
        "ground_truth_sha256",
        "status",
        "case_reproduced",
        "judge_detected",
        "keeper",
        "agent",
    ),
    orders=("defect_id", "title", "confirmed_at", "status"),
)
class Defect(Node):
    """A real defect that a person confirmed by repeating one Case at least twice."""

    agent: Agent = one(lambda defect, agent: agent.c.id == defect.c.agent_pk)
    defect_id: str
    title: str
    expected_behavior: str
    observed_behavior: str
    confirmed_by: str
    confirmed_at: datetime
    source_sha256: Sha256
    case_sha256: Sha256
    ground_truth_sha256: Sha256 = column(
        "ground_truth_sha256",
        description="Digest of the whole record: an edit changes it, "
        "and unbinds the assessments made against the old one.",
    )
    extra: JSON | None = column("extra", description="Keys of the record that the format does not name.")
    revision: int
    revisions: Connection["DefectRevision"] = many(lambda defect, revision: revision.c.defect_pk == defect.c.id)
    observations: Connection["Observation"] = many(defects.observes)
    assessments: Connection[Annotated["Assessment", strawberry.lazy("schema.assessments")]] = many(
        lambda defect, assessment: assessment.c.defect_pk == defect.c.id
    )
    status: DefectStatus = computed(defects.over_all_suites(defects.status))
    case_reproduced: bool | None = computed(defects.over_all_suites(defects.case_reproduced))
    judge_detected: bool | None = computed(defects.over_all_suites(defects.judge_detected))
    assessment_count: int = computed(defects.over_all_suites(defects.assessment_count), description="Accepted records.")
    assessed_attempt_count: int = computed(
        defects.over_all_suites(defects.assessed_attempt_count), description="Accepted records with both decisions."
    )
    keeper: Keeper
    retired_at: datetime | None


@backed(table(DefectRevisions), position="revision")
class DefectRevision(Node):
    defect: Defect = one(lambda revision, defect: defect.c.id == revision.c.defect_pk)
    revision: int
    ground_truth_sha256: Sha256
    record: JSON
    recorded_by: str
    recorded_at: datetime


@backed(defects.OBSERVATIONS, position="position")
class Observation(Node):
    defect: Defect = one(lambda observation, defect: defect.c.id == observation.c.defect_pk)
    observation_id: str
    case_sha256: Sha256
    evidence_path: str
    evidence_sha256: Sha256
    evidence: File | None = one(lambda observation, file: file.c.sha256 == observation.c.evidence_sha256)
