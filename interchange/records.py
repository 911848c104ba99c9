"""What the readers of this room hand on: plain records, free of files and of the database."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import IO

from models.base import EvaluationEvidence, EvaluationSourceStatus, ManifestState, Provenance, ReasonCode, SuiteState

# Called with a digest and the very bytes that have it; the stream is valid during the call alone.
FileSink = Callable[[str, IO[bytes]], None]


@dataclass(frozen=True, slots=True)
class Notice:
    """Why something does not count, told to people: never with file contents or absolute paths."""

    code: ReasonCode
    message: str
    agent_id: str | None = None
    suite_id: str | None = None
    assessment_index: int | None = None


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file that was read whole; `path` is relative to the tree, with forward slashes."""

    path: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class ObservationRecord:
    observation_id: str
    case_sha256: str
    # As the manifest writes it, relative to the unit's ground_truth/; `evidence.path` is relative to the tree.
    evidence_path: str
    evidence_sha256: str
    evidence: KeptFile


@dataclass(frozen=True, slots=True)
class DefectRecord:
    defect_id: str
    title: str
    expected_behavior: str
    observed_behavior: str
    confirmed_by: str
    confirmed_at: datetime
    source_sha256: str
    case_sha256: str
    ground_truth_sha256: str
    # Canonical text: the spelling that the digest was taken of.
    record: str
    extra: str | None
    observations: list[ObservationRecord]


@dataclass(frozen=True, slots=True)
class AgentRecord:
    agent_id: str
    name: str
    framework: str | None
    # None where the registration names no unit inside the tree.
    unit_path: str | None
    source_sha256: str | None
    manifest_state: ManifestState
    description: KeptFile | None = None
    manifest: KeptFile | None = None
    # Canonical text of the manifest without its defects.
    head: str | None = None
    defects: list[DefectRecord] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class EvaluationSourceRecord:
    status: EvaluationSourceStatus
    sdk: str | None
    sdks: list[str]
    configured_sdk: str | None
    provider_modes: list[str]
    evidence: EvaluationEvidence
    # The identity, or @mixed, @partial, @not_recorded.
    evaluator: str


@dataclass(frozen=True, slots=True)
class SuiteAgentRecord:
    agent_id: str
    source_sha256: str | None
    case_count: int
    completed_case_count: int


@dataclass(frozen=True, slots=True)
class AttemptRecord:
    attempt_id: str
    attempt_number: int
    execution_status: str
    judge_status: str | None = None
    report: str | None = None
    # Saved and not empty: what a Judge decision needs.
    has_report: bool = False
    result: str | None = None
    # None also where the result holds a lone surrogate.
    result_sha256: str | None = None
    host_acceptance: str | None = None
    evidence_status: str | None = None
    host_trace_validation: str | None = None
    error: str | None = None
    # EXECUTION_ERROR, EVIDENCE_REJECTED or EVIDENCE_INVALID: the first that bars every decision about it.
    refusal: ReasonCode | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SlotRecord:
    agent_id: str
    case_index: int
    execution_status: str
    case_id: str | None = None
    artifact_path: str | None = None
    artifact_sha256: str | None = None
    artifact_fault: ReasonCode | None = None
    # Present when the artifact is there and has its digest.
    artifact: KeptFile | None = None
    origin: str | None = None
    attempts: list[AttemptRecord] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SidecarRecord:
    """One claimed record of a sidecar with a sound identity; fields at fault are None.

    `fault_step` is the place of the first fault of form in the order of checks, so that whoever knows the ground
    can tell which comes first: 1 identity, 2 conflict, 3 UNKNOWN_DEFECT, 4 form of ground_truth_sha256,
    5 STALE_REVISION, 6 form of the decisions, 7 INVALID_DECISION, 8 reviewer, instant and rationale,
    9 NO_PROVENANCE, UNKNOWN_AGENT and SOURCE_MISMATCH, 10 UNKNOWN_CASE_SLOT, 11 form of case_sha256,
    12 CASE_DIGEST_MISMATCH, 13 the artifact, 14 UNKNOWN_ATTEMPT, 15 RESULT_DIGEST_MISMATCH, its form included,
    16 error, rejection and invalid evidence, 17 incomplete execution or missing report.
    """

    index: int
    agent_id: str
    case_index: int
    attempt_id: str
    defect_id: str
    digest: str
    # Canonical text of the whole record, unknown keys included.
    record: str
    fault_step: int | None = None
    fault_code: ReasonCode | None = None
    ground_truth_sha256: str | None = None
    case_sha256: str | None = None
    result_sha256: str | None = None
    case_reproduced: bool | None = None
    judge_detected: bool | None = None
    reviewed_by: str | None = None
    reviewed_at: datetime | None = None
    rationale: str | None = None


@dataclass(frozen=True, slots=True)
class SuiteRecord:
    suite_id: str
    # Relative to the tree; None for a legacy log.
    directory: str | None
    state: SuiteState
    provenance: Provenance
    provenance_sha256: str | None
    origin_suite_id: str | None
    created_at: datetime | None
    source: EvaluationSourceRecord
    agents: list[SuiteAgentRecord]
    slots: list[SlotRecord]
    sidecar: list[SidecarRecord]
    # Same digest, same Suite, wherever it lies: plan, events and what was found of every artifact.
    ground_sha256: str
    # And the same sidecar.
    content_sha256: str
    # Plan, events and sidecar, or the log.
    documents: list[KeptFile]


@dataclass(frozen=True, slots=True)
class SuiteFault:
    """A Suite left out whole: by its identity where two claim one, else by the name of its directory."""

    suite_id: str
    code: ReasonCode
    directories: list[str]


@dataclass(frozen=True, slots=True)
class TreeRecord:
    registry_valid: bool
    agents: list[AgentRecord]
    suites: list[SuiteRecord]
    suite_faults: list[SuiteFault]
    notices: list[Notice]
    # Registry, agent.toml, manifests, plans, events and sidecars: what an exporter writes again.
    files: list[KeptFile]
