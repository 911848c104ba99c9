"""Saved Suites with their agents, the slots of Cases, and the Attempts made at them."""

from datetime import datetime

from sqlalchemy import ARRAY, CheckConstraint, DateTime, Index, Text, UniqueConstraint, func, text
from sqlmodel import Field, SQLModel

from models.base import (
    EvaluationEvidence,
    EvaluationSourceStatus,
    JsonText,
    Keeper,
    Provenance,
    ReasonCode,
    SuiteState,
    digests,
    identity,
    reference,
    vocabulary,
)

INSTANT = DateTime(timezone=True)


def placed(table_name: str, column: str) -> tuple[Index, Index]:
    """Places in lists, where nulls come last in either direction: they count as the last instant there is."""
    return (
        Index(f"{table_name}_{column}_asc_idx", text(f"coalesce({column}, 'infinity'::timestamptz)")),
        Index(f"{table_name}_{column}_desc_idx", text(f"coalesce({column}, '-infinity'::timestamptz)")),
    )


class Suite(SQLModel, table=True):
    __tablename__ = "suites"
    __table_args__ = (
        *digests("provenance_sha256", "content_sha256"),
        CheckConstraint("(keeper = 'TREE') = (tree_id IS NOT NULL)", name="keeper_tree"),
        CheckConstraint("(provenance = 'CANONICAL') = (provenance_sha256 IS NOT NULL)", name="provenance_digest"),
        Index(None, "created_at"),
        *placed("suites", "created_at"),
        Index(None, "imported_at"),
        Index(None, "evaluator"),
        Index(None, "tree_id"),
    )

    id: int | None = identity()
    suite_id: str = Field(unique=True)
    state: SuiteState = Field(sa_type=vocabulary(SuiteState, "state"))
    provenance: Provenance = Field(sa_type=vocabulary(Provenance, "provenance"))
    provenance_sha256: str | None = None
    origin_suite_id: str | None = None
    source_status: EvaluationSourceStatus = Field(sa_type=vocabulary(EvaluationSourceStatus, "source_status"))
    sdk: str | None = None
    sdks: list[str] = Field(sa_type=ARRAY(Text))
    configured_sdk: str | None = None
    provider_modes: list[str] = Field(sa_type=ARRAY(Text))
    evidence: EvaluationEvidence = Field(sa_type=vocabulary(EvaluationEvidence, "evidence"))
    evaluator: str
    keeper: Keeper = Field(sa_type=vocabulary(Keeper, "keeper"))
    tree_id: int | None = reference("trees.id", default=None)
    directory: str | None = None
    content_sha256: str
    fault: ReasonCode | None = Field(default=None, sa_type=vocabulary(ReasonCode, "fault"))
    created_at: datetime | None = Field(default=None, sa_type=INSTANT)
    imported_at: datetime | None = Field(
        default=None, nullable=False, sa_type=INSTANT, sa_column_kwargs={"server_default": func.now()}
    )
    retired_at: datetime | None = Field(default=None, sa_type=INSTANT)


class SuiteFile(SQLModel, table=True):
    """A document of a Suite that the API keeps, as it came; `path` is relative to the Suite's directory."""

    __tablename__ = "suite_files"

    suite_pk: int = reference("suites.id", primary_key=True)
    path: str = Field(primary_key=True)
    sha256: str = Field(foreign_key="files.sha256", index=True)


class SuiteAgent(SQLModel, table=True):
    """An agent as a Suite's plan names it, registered or not, with its counts of slots."""

    __tablename__ = "suite_agents"
    __table_args__ = (
        *digests("source_sha256"),
        CheckConstraint("0 <= completed_case_count AND completed_case_count <= case_count", name="counts"),
        Index(None, "agent_id"),
    )

    suite_pk: int = reference("suites.id", primary_key=True)
    agent_id: str = Field(primary_key=True)
    position: int
    source_sha256: str | None = None
    case_count: int
    completed_case_count: int


class Case(SQLModel, table=True):
    """One slot of a Suite. `artifact_sha256` is what the Suite claims; `artifact_fault` says why it is not so."""

    __tablename__ = "cases"
    __table_args__ = (
        UniqueConstraint("suite_pk", "agent_id", "case_index"),
        *digests("artifact_sha256"),
        CheckConstraint("case_index >= 0", name="case_index"),
        Index(None, "suite_pk", "id"),
        Index(None, "agent_id"),
    )

    id: int | None = identity()
    suite_pk: int = reference("suites.id")
    agent_id: str
    case_index: int
    case_id: str | None = None
    artifact_path: str | None = None
    artifact_sha256: str | None = None
    artifact_fault: ReasonCode | None = Field(default=None, sa_type=vocabulary(ReasonCode, "artifact_fault"))
    artifact_file: str | None = Field(default=None, foreign_key="files.sha256", index=True)
    execution_status: str
    origin: str | None = Field(default=None, sa_type=JsonText)


class Attempt(SQLModel, table=True):
    """One execution of a Case. `refusal` is why no decision about it can count, judged from its result alone."""

    __tablename__ = "attempts"
    __table_args__ = (
        UniqueConstraint("case_pk", "attempt_id"),
        *digests("result_sha256"),
        Index(None, "position", "id"),
        Index(None, "attempt_id"),
        Index(None, "attempt_number"),
        Index(None, "started_at"),
        *placed("attempts", "started_at"),
        Index(None, "finished_at"),
        *placed("attempts", "finished_at"),
        Index(None, "result_sha256"),
    )

    id: int | None = identity()
    case_pk: int = reference("cases.id", ondelete="CASCADE")
    attempt_id: str
    attempt_number: int
    position: int
    execution_status: str
    judge_status: str | None = None
    report: str | None = Field(default=None, sa_type=JsonText)
    has_report: bool
    result: str | None = Field(default=None, sa_type=JsonText)
    result_sha256: str | None = None
    host_acceptance: str | None = None
    evidence_status: str | None = None
    host_trace_validation: str | None = None
    error: str | None = Field(default=None, sa_type=JsonText)
    refusal: ReasonCode | None = Field(default=None, sa_type=vocabulary(ReasonCode, "refusal"))
    started_at: datetime | None = Field(default=None, sa_type=INSTANT)
    finished_at: datetime | None = Field(default=None, sa_type=INSTANT)
