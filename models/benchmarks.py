"""Benchmark tables: rows are inputs, tracks configured models, cells answers; beside each row its ground truth."""

from datetime import datetime
from decimal import Decimal

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    DateTime,
    Float,
    ForeignKeyConstraint,
    Index,
    Numeric,
    UniqueConstraint,
    func,
    text,
)
from sqlmodel import Field, SQLModel

from models.base import (
    AgentKind,
    CellErrorKind,
    CellStatus,
    ExpectedOutputChange,
    FieldType,
    JsonText,
    Origin,
    digests,
    identity,
    reference,
    vocabulary,
)

INSTANT = DateTime(timezone=True)
NOW = {"server_default": func.now()}


class LanguageModel(SQLModel, table=True):
    """A model that can be called. Its key stays in the environment, in the variable that is named here."""

    __tablename__ = "models"
    __table_args__ = (
        CheckConstraint("input_price >= 0 AND output_price >= 0", name="prices"),
        CheckConstraint("requests_per_minute > 0", name="requests_per_minute"),
        CheckConstraint("max_concurrency > 0", name="max_concurrency"),
    )

    id: int | None = identity()
    name: str = Field(unique=True)
    provider: str
    model_name: str
    base_url: str | None = None
    api_key_variable: str | None = None
    input_price: Decimal | None = Field(default=None, sa_type=Numeric)
    output_price: Decimal | None = Field(default=None, sa_type=Numeric)
    requests_per_minute: int | None = None
    max_concurrency: int = 8
    # When the next call is due, as far as `requests_per_minute` says. It moves without the version.
    paced_until: datetime | None = Field(default=None, sa_type=INSTANT)
    version: int = 1


class Benchmark(SQLModel, table=True):
    __tablename__ = "benchmarks"
    __table_args__ = (
        ForeignKeyConstraint(
            ["id", "source_track_pk"],
            ["tracks.benchmark_pk", "tracks.id"],
            name="benchmarks_source_track_fkey",
            deferrable=True,
            initially="DEFERRED",
            use_alter=True,
        ),
        Index(None, "agent_pk"),
        Index(None, "created_at"),
        Index(None, "updated_at"),
    )

    id: int | None = identity()
    name: str = Field(unique=True)
    description: str | None = None
    kind: AgentKind = Field(sa_type=vocabulary(AgentKind, "kind"))
    agent_pk: int | None = reference("agents.id", default=None)
    auto_capture: bool
    # Null exactly while there are no tracks.
    source_track_pk: int | None = Field(default=None, sa_type=BigInteger)
    version: int = 1
    created_at: datetime | None = Field(default=None, nullable=False, sa_type=INSTANT, sa_column_kwargs=NOW)
    updated_at: datetime | None = Field(default=None, nullable=False, sa_type=INSTANT, sa_column_kwargs=NOW)


class BenchmarkField(SQLModel, table=True):
    """What an automation agent extracts."""

    __tablename__ = "benchmark_fields"
    __table_args__ = (CheckConstraint("name <> ''", name="name"),)

    benchmark_pk: int = reference("benchmarks.id", primary_key=True, ondelete="CASCADE")
    name: str = Field(primary_key=True)
    position: int
    type: FieldType = Field(sa_type=vocabulary(FieldType, "type"))
    description: str | None = None


class Track(SQLModel, table=True):
    """A column: one model with its prompt and sampling settings."""

    __tablename__ = "tracks"
    __table_args__ = (
        UniqueConstraint("benchmark_pk", "name"),
        UniqueConstraint("benchmark_pk", "id"),
        Index(None, "model_pk"),
    )

    id: int | None = identity()
    benchmark_pk: int = reference("benchmarks.id", ondelete="CASCADE")
    position: int
    name: str
    model_pk: int = reference("models.id")
    system_prompt: str | None = None
    temperature: float | None = Field(default=None, sa_type=Float)
    top_p: float | None = Field(default=None, sa_type=Float)
    max_output_tokens: int | None = None
    version: int = 1


class BenchmarkRow(SQLModel, table=True):
    """An input. `key` is an identity from outside."""

    __tablename__ = "benchmark_rows"
    __table_args__ = (
        UniqueConstraint("benchmark_pk", "key"),
        UniqueConstraint("benchmark_pk", "position"),
    )

    id: int | None = identity()
    benchmark_pk: int = reference("benchmarks.id", ondelete="CASCADE")
    position: int
    key: str | None = None
    input: str
    version: int = 1


class RowFile(SQLModel, table=True):
    __tablename__ = "row_files"

    row_pk: int = reference("benchmark_rows.id", primary_key=True, ondelete="CASCADE")
    position: int = Field(primary_key=True)
    sha256: str = Field(foreign_key="files.sha256", index=True)
    name: str


class ExpectedValue(SQLModel, table=True):
    """One value of a row's ground truth: the text of a conversation (`field` is empty), or a field of an automation.

    A row here is a value that was captured or edited at some time; `origin` EMPTY says that it was cleared since. A
    person's edit to nothing is a MANUAL null, and locked. Triggers refuse to change or delete a locked value unless
    the transaction names a person (`assay.actor`), and keep every revision.
    """

    __tablename__ = "expected_values"
    __table_args__ = (
        CheckConstraint("origin IN ('EMPTY', 'AUTO', 'MANUAL')", name="value_origin"),
        CheckConstraint("NOT locked OR origin = 'MANUAL'", name="locked"),
        CheckConstraint("origin <> 'EMPTY' OR (text IS NULL AND value IS NULL)", name="empty"),
        CheckConstraint("(origin = 'MANUAL') = (edited_by IS NOT NULL)", name="edited"),
        CheckConstraint("text IS NULL OR field = ''", name="text"),
        CheckConstraint("value IS NULL OR field <> ''", name="value"),
        Index(None, "source_track_pk"),
    )

    row_pk: int = reference("benchmark_rows.id", primary_key=True, ondelete="CASCADE")
    field: str = Field(primary_key=True, default="")
    text: str | None = None
    value: str | None = Field(default=None, sa_type=JsonText)
    origin: Origin = Field(sa_type=vocabulary(Origin, "origin"))
    locked: bool = False
    # Whose output was captured.
    source_track_pk: int | None = reference("tracks.id", default=None, ondelete="SET NULL")
    edited_by: str | None = None
    edited_at: datetime | None = Field(default=None, sa_type=INSTANT)
    # The revision of the last change by a person, which other people must have seen.
    edited_revision: int = 0


class ExpectedRevision(SQLModel, table=True):
    """The ground truth of a row as it was after one change, written by a trigger and never changed."""

    __tablename__ = "expected_revisions"
    __table_args__ = (UniqueConstraint("row_pk", "revision"),)

    id: int | None = identity()
    # No key of its own: it would cost a look-up each. Revisions go with their row by a trigger.
    row_pk: int = Field(sa_type=BigInteger)
    revision: int
    text: str | None = None
    fields: str | None = Field(default=None, sa_type=JsonText)
    change: ExpectedOutputChange = Field(sa_type=vocabulary(ExpectedOutputChange, "change"))
    changed_by: str
    changed_at: datetime | None = Field(default=None, nullable=False, sa_type=INSTANT, sa_column_kwargs=NOW)


class Cell(SQLModel, table=True):
    """What one track answered to one row, the last time it answered or failed to."""

    __tablename__ = "cells"
    __table_args__ = (
        CheckConstraint("(status = 'FAILED') = (error_kind IS NOT NULL)", name="error"),
        CheckConstraint("status = 'SUCCEEDED' OR (output IS NULL AND fields IS NULL)", name="output"),
        Index(None, "track_pk", "status"),
        Index(None, "run_pk", postgresql_where=text("run_pk IS NOT NULL")),
    )

    row_pk: int = reference("benchmark_rows.id", primary_key=True, ondelete="CASCADE")
    track_pk: int = reference("tracks.id", primary_key=True, ondelete="CASCADE")
    status: CellStatus = Field(sa_type=vocabulary(CellStatus, "status"))
    output: str | None = None
    fields: str | None = Field(default=None, sa_type=JsonText)
    error_kind: CellErrorKind | None = Field(default=None, sa_type=vocabulary(CellErrorKind, "error_kind"))
    error_message: str | None = None
    error_attempts: int | None = None
    latency_ms: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: Decimal | None = Field(default=None, sa_type=Numeric)
    # The run that stored it.
    run_pk: int | None = reference("runs.id", default=None, ondelete="SET NULL")
    # Moves with every result that is stored.
    revision: int = 1
    updated_at: datetime | None = Field(default=None, nullable=False, sa_type=INSTANT, sa_column_kwargs=NOW)


class IdempotencyKey(SQLModel, table=True):
    """What a call under a key of its caller's answered, so that a repeated one answers the same."""

    __tablename__ = "idempotency_keys"
    __table_args__ = digests("input_sha256")

    scope: str = Field(primary_key=True)
    key: str = Field(primary_key=True)
    input_sha256: str
    answer: str = Field(sa_type=JsonText)
    created_at: datetime | None = Field(default=None, nullable=False, sa_type=INSTANT, sa_column_kwargs=NOW)
