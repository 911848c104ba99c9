"""Claims in the review queue, and protocols whose cohort is frozen before their trials run."""

from datetime import datetime

from sqlalchemy import CheckConstraint, DateTime, Index, UniqueConstraint, func
from sqlmodel import Field, SQLModel

from models.base import digests, identity, reference

INSTANT = DateTime(timezone=True)
NOW = {"server_default": func.now()}


class ReviewClaim(SQLModel, table=True):
    """One person holds a pair of defect and Attempt until the claim runs out."""

    __tablename__ = "review_claims"
    __table_args__ = (Index(None, "attempt_pk"),)

    defect_pk: int = reference("defects.id", primary_key=True)
    attempt_pk: int = reference("attempts.id", primary_key=True, ondelete="CASCADE")
    claimed_by: str
    claimed_until: datetime = Field(sa_type=INSTANT)


class DiscoveryProtocol(SQLModel, table=True):
    __tablename__ = "discovery_protocols"
    __table_args__ = (
        CheckConstraint("budget_cases > 0", name="budget_cases"),
        CheckConstraint("trials > 0", name="trials"),
    )

    id: int | None = identity()
    name: str = Field(unique=True)
    budget_cases: int
    trials: int
    frozen_by: str
    frozen_at: datetime | None = Field(default=None, nullable=False, sa_type=INSTANT, sa_column_kwargs=NOW)


class ProtocolAgent(SQLModel, table=True):
    __tablename__ = "protocol_agents"
    __table_args__ = (*digests("source_sha256"), Index(None, "agent_pk"))

    protocol_pk: int = reference("discovery_protocols.id", primary_key=True)
    agent_pk: int = reference("agents.id", primary_key=True)
    position: int
    source_sha256: str


class ProtocolDefect(SQLModel, table=True):
    """A defect of the cohort at the revision that the protocol froze."""

    __tablename__ = "protocol_defects"
    __table_args__ = (*digests("ground_truth_sha256"), Index(None, "defect_pk"))

    protocol_pk: int = reference("discovery_protocols.id", primary_key=True)
    defect_pk: int = reference("defects.id", primary_key=True)
    position: int
    ground_truth_sha256: str


class TrialSuite(SQLModel, table=True):
    """A Suite is a trial once, of one protocol; an evaluator has one Suite for each trial."""

    __tablename__ = "trial_suites"
    __table_args__ = (
        UniqueConstraint("protocol_pk", "evaluator", "trial"),
        CheckConstraint("trial > 0", name="trial"),
    )

    suite_pk: int = reference("suites.id", primary_key=True)
    protocol_pk: int = reference("discovery_protocols.id")
    trial: int
    evaluator: str
    added_by: str
    added_at: datetime | None = Field(default=None, nullable=False, sa_type=INSTANT, sa_column_kwargs=NOW)
