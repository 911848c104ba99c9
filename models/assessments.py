"""Decisions about Attempts: what stands, what was refused and why, every earlier version, and the sums by defect."""

from datetime import datetime

from sqlalchemy import CheckConstraint, DateTime, Index, func, text
from sqlmodel import Field, SQLModel

from models.base import AssessmentStatus, JsonText, Keeper, ReasonCode, digests, identity, reference, vocabulary

INSTANT = DateTime(timezone=True)
NOW = {"server_default": func.now()}
IDENTITY = ("suite_pk", "agent_id", "case_index", "attempt_id", "defect_id")


class Assessment(SQLModel, table=True):
    """A decision under the identity it claims.

    A tree's record whose form is at fault is kept here too, since which fault is told first depends on other records:
    it has a `fault_code`, and is no Assessment but a warning. An `echo` repeats what another keeper's record says.
    A `trial` record is bound to the revision that a protocol froze, beside the one about the current revision.
    """

    __tablename__ = "assessments"
    __table_args__ = (
        Index("assessments_standing_key", *IDENTITY, unique=True, postgresql_where=text("status = 'ACCEPTED'")),
        Index("assessments_api_key", *IDENTITY, unique=True, postgresql_where=text("keeper = 'API' AND NOT trial")),
        Index(
            "assessments_trial_key",
            *IDENTITY,
            "ground_truth_sha256",
            unique=True,
            postgresql_where=text("keeper = 'API' AND trial"),
        ),
        Index(
            "assessments_tree_key",
            *IDENTITY,
            "record_sha256",
            unique=True,
            postgresql_where=text("keeper = 'TREE' AND status <> 'WITHDRAWN'"),
        ),
        *digests("ground_truth_sha256", "case_sha256", "result_sha256", "record_sha256"),
        CheckConstraint("(keeper = 'TREE') = (tree_id IS NOT NULL)", name="keeper_tree"),
        CheckConstraint("(keeper = 'TREE') = (record_sha256 IS NOT NULL)", name="keeper_record"),
        CheckConstraint(
            "fault_code IS NOT NULL OR judge_detected IS NOT TRUE OR case_reproduced IS TRUE", name="decision"
        ),
        CheckConstraint("(status = 'REFUSED' AND NOT echo) = (reason IS NOT NULL)", name="reason_given"),
        CheckConstraint("NOT echo OR status = 'REFUSED'", name="echo"),
        CheckConstraint("(fault_code IS NULL) = (fault_step IS NULL)", name="fault_whole"),
        CheckConstraint("fault_code IS NULL OR status <> 'ACCEPTED'", name="faulty_never_accepted"),
        CheckConstraint(
            "fault_code IS NOT NULL OR num_nulls(ground_truth_sha256, case_sha256, result_sha256, reviewed_by,"
            " reviewed_at, rationale) = 0",
            name="form",
        ),
        CheckConstraint(
            "status <> 'ACCEPTED' OR (defect_pk IS NOT NULL AND attempt_pk IS NOT NULL)", name="accepted_ground"
        ),
        CheckConstraint("version > 0", name="version"),
        Index(None, "defect_pk", "reviewed_at"),
        Index(None, "attempt_pk", "defect_pk"),
        Index(None, "suite_pk", "id"),
        Index(None, "suite_pk", "reviewed_at"),
        Index(None, "agent_id", "defect_id"),
        Index(None, "attempt_id"),
        Index(None, "reviewed_at"),
        Index(None, "recorded_at"),
        Index(None, "keeper", "id"),
        Index(None, "tree_id"),
        # Most records are accepted: a page of the others must not look through them.
        Index("assessments_set_aside_idx", "status", "id", postgresql_where=text("status <> 'ACCEPTED'")),
        Index("assessments_set_aside_at_idx", "status", "reviewed_at", postgresql_where=text("status <> 'ACCEPTED'")),
        Index("assessments_reason_idx", "reason", "id", postgresql_where=text("reason IS NOT NULL")),
        Index("assessments_detected_idx", "id", postgresql_where=text("judge_detected")),
        Index(
            "assessments_refused_idx",
            "suite_pk",
            "sidecar_index",
            postgresql_where=text("status = 'REFUSED'"),
        ),
    )

    id: int | None = identity()
    suite_pk: int = reference("suites.id")
    agent_id: str
    case_index: int
    attempt_id: str
    defect_id: str
    defect_pk: int | None = reference("defects.id", default=None)
    attempt_pk: int | None = reference("attempts.id", default=None, ondelete="SET NULL")
    ground_truth_sha256: str | None = None
    case_sha256: str | None = None
    result_sha256: str | None = None
    case_reproduced: bool | None = None
    judge_detected: bool | None = None
    reviewed_by: str | None = None
    reviewed_at: datetime | None = Field(default=None, sa_type=INSTANT)
    rationale: str | None = None
    status: AssessmentStatus = Field(sa_type=vocabulary(AssessmentStatus, "status"))
    reason: ReasonCode | None = Field(default=None, sa_type=vocabulary(ReasonCode, "reason"))
    echo: bool = False
    trial: bool = False
    keeper: Keeper = Field(sa_type=vocabulary(Keeper, "keeper"))
    tree_id: int | None = reference("trees.id", default=None)
    record: str | None = Field(default=None, sa_type=JsonText)
    record_sha256: str | None = None
    sidecar_index: int | None = None
    fault_step: int | None = None
    fault_code: ReasonCode | None = Field(default=None, sa_type=vocabulary(ReasonCode, "fault_code"))
    version: int = 1
    recorded_by: str
    recorded_at: datetime | None = Field(default=None, nullable=False, sa_type=INSTANT, sa_column_kwargs=NOW)


class AssessmentChange(SQLModel, table=True):
    """One version of an assessment, written by a trigger and never changed."""

    __tablename__ = "assessment_changes"

    assessment_pk: int = reference("assessments.id", primary_key=True)
    version: int = Field(primary_key=True)
    ground_truth_sha256: str
    case_sha256: str
    result_sha256: str
    case_reproduced: bool | None = None
    judge_detected: bool | None = None
    reviewed_by: str
    reviewed_at: datetime = Field(sa_type=INSTANT)
    rationale: str
    changed_by: str
    changed_at: datetime = Field(sa_type=INSTANT)
    withdrawn: bool


class DefectSuite(SQLModel, table=True):
    """Sums over the accepted assessments of one defect in one Suite, kept true by triggers on `assessments`."""

    __tablename__ = "defect_suites"
    __table_args__ = (Index(None, "suite_pk"),)

    defect_pk: int = reference("defects.id", primary_key=True)
    suite_pk: int = reference("suites.id", primary_key=True)
    accepted: int
    complete: int
    reproduced: int
    not_reproduced: int
    detected: int
    not_detected: int
    judged: int
    recalled: int
