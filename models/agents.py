"""Agents and the defects that people confirmed, with every revision and its evidence."""

from datetime import datetime

from sqlalchemy import CheckConstraint, DateTime, ForeignKeyConstraint, Index, UniqueConstraint, func, text
from sqlmodel import Field, SQLModel

from models.base import JsonText, Keeper, ManifestState, digests, identity, reference, vocabulary

INSTANT = DateTime(timezone=True)
NOW = {"server_default": func.now()}


class Agent(SQLModel, table=True):
    __tablename__ = "agents"
    __table_args__ = (
        *digests("source_sha256"),
        CheckConstraint("(keeper = 'TREE') = (tree_id IS NOT NULL)", name="keeper_tree"),
        Index(None, "created_at"),
        Index(None, "updated_at"),
        Index(None, "tree_id"),
    )

    id: int | None = identity()
    agent_id: str = Field(unique=True)
    name: str
    framework: str | None = None
    source_sha256: str | None = None
    keeper: Keeper = Field(sa_type=vocabulary(Keeper, "keeper"))
    tree_id: int | None = reference("trees.id", default=None)
    unit_path: str | None = None
    description_sha256: str | None = Field(default=None, foreign_key="files.sha256", index=True)
    manifest_state: ManifestState = Field(sa_type=vocabulary(ManifestState, "manifest_state"))
    manifest_head: str | None = Field(default=None, sa_type=JsonText)
    manifest_sha256: str | None = Field(default=None, foreign_key="files.sha256", index=True)
    listed: bool = True
    created_at: datetime | None = Field(default=None, nullable=False, sa_type=INSTANT, sa_column_kwargs=NOW)
    updated_at: datetime | None = Field(default=None, nullable=False, sa_type=INSTANT, sa_column_kwargs=NOW)
    retired_at: datetime | None = Field(default=None, sa_type=INSTANT)


class Defect(SQLModel, table=True):
    """A defect at its present revision; `defect_revisions` holds that one too, and those before it."""

    __tablename__ = "defects"
    __table_args__ = (
        UniqueConstraint("agent_pk", "defect_id"),
        ForeignKeyConstraint(
            ["id", "revision", "ground_truth_sha256"],
            ["defect_revisions.defect_pk", "defect_revisions.revision", "defect_revisions.ground_truth_sha256"],
            name="defects_revision_fkey",
            deferrable=True,
            initially="DEFERRED",
            use_alter=True,
        ),
        *digests("source_sha256", "case_sha256", "ground_truth_sha256"),
        CheckConstraint("(keeper = 'TREE') = (tree_id IS NOT NULL)", name="keeper_tree"),
        CheckConstraint(
            " AND ".join(
                f"{text} ~ '[^[:space:]]'"
                for text in ("defect_id", "title", "expected_behavior", "observed_behavior", "confirmed_by")
            ),
            name="texts",
        ),
        Index(None, "position", "id"),
        Index(None, "defect_id"),
        Index(None, "confirmed_at"),
        Index(None, "source_sha256"),
        Index(None, "case_sha256"),
        Index(None, "ground_truth_sha256"),
        Index(None, "tree_id"),
    )

    id: int | None = identity()
    agent_pk: int = reference("agents.id")
    defect_id: str
    position: int
    title: str
    expected_behavior: str
    observed_behavior: str
    confirmed_by: str
    confirmed_at: datetime = Field(sa_type=INSTANT)
    source_sha256: str
    case_sha256: str
    ground_truth_sha256: str
    extra: str | None = Field(default=None, sa_type=JsonText)
    revision: int
    keeper: Keeper = Field(sa_type=vocabulary(Keeper, "keeper"))
    tree_id: int | None = reference("trees.id", default=None)
    retired_at: datetime | None = Field(default=None, sa_type=INSTANT)


class DefectRevision(SQLModel, table=True):
    """One state of a defect, never changed: `record` is the text whose digest binds decisions to it."""

    __tablename__ = "defect_revisions"
    __table_args__ = (
        UniqueConstraint("defect_pk", "revision", "ground_truth_sha256"),
        UniqueConstraint("defect_pk", "revision"),
        *digests("ground_truth_sha256"),
        CheckConstraint("revision > 0", name="revision"),
    )

    id: int | None = identity()
    defect_pk: int = reference("defects.id")
    revision: int
    ground_truth_sha256: str
    record: str = Field(sa_type=JsonText)
    recorded_by: str
    recorded_at: datetime | None = Field(default=None, nullable=False, sa_type=INSTANT, sa_column_kwargs=NOW)


class Observation(SQLModel, table=True):
    """One repetition of the Case that a revision of a defect rests on; a trigger wants at least two of them."""

    __tablename__ = "observations"
    __table_args__ = (
        # Digests of texts whose length nobody bounds, and an index does.
        Index("observations_id_key", "revision_pk", text("md5(observation_id)"), unique=True),
        Index("observations_path_key", "revision_pk", text("md5(evidence_path)"), unique=True),
        *digests("case_sha256"),
    )

    id: int | None = identity()
    revision_pk: int = reference("defect_revisions.id")
    position: int
    observation_id: str
    case_sha256: str
    evidence_path: str
    evidence_sha256: str = Field(foreign_key="files.sha256", index=True)
