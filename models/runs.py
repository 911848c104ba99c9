"""Runs over a benchmark table, what each does to which cell, and the scores that metrics give."""

from datetime import datetime
from decimal import Decimal
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    BigInteger,
    CheckConstraint,
    DateTime,
    Double,
    ForeignKeyConstraint,
    Index,
    Numeric,
    UniqueConstraint,
    func,
    text,
)
from sqlmodel import Field, SQLModel

from models.base import (
    Aggregation,
    CellErrorKind,
    EvaluationScope,
    GenerationScope,
    JsonText,
    MetricKind,
    RunItemStatus,
    RunStage,
    RunStatus,
    ScoreStatus,
    ScoreType,
    identity,
    reference,
    vocabulary,
)

INSTANT = DateTime(timezone=True)
NOW = {"server_default": func.now()}

ACTIVE = "status IN ('QUEUED', 'RUNNING')"


class Metric(SQLModel, table=True):
    __tablename__ = "metrics"
    __table_args__ = (
        CheckConstraint(
            "(kind = 'LLM_JUDGE') = (judge_model_pk IS NOT NULL) AND (kind = 'LLM_JUDGE') = (judge_prompt IS NOT NULL)",
            name="judge",
        ),
        Index(None, "judge_model_pk"),
    )

    id: int | None = identity()
    name: str = Field(unique=True)
    description: str | None = None
    kind: MetricKind = Field(sa_type=vocabulary(MetricKind, "kind"))
    options: str = Field(sa_type=JsonText)
    judge_model_pk: int | None = reference("models.id", default=None)
    judge_prompt: str | None = None
    version: int = 1


class MetricVariable(SQLModel, table=True):
    """What a metric says of a cell: one value of one type."""

    __tablename__ = "metric_variables"
    __table_args__ = (CheckConstraint("minimum <= maximum", name="bounds"),)

    metric_pk: int = reference("metrics.id", primary_key=True, ondelete="CASCADE")
    name: str = Field(primary_key=True)
    position: int
    type: ScoreType = Field(sa_type=vocabulary(ScoreType, "type"))
    description: str | None = None
    minimum: float | None = Field(default=None, sa_type=Double)
    maximum: float | None = Field(default=None, sa_type=Double)
    aggregation: Aggregation | None = Field(default=None, sa_type=vocabulary(Aggregation, "aggregation"))


class BenchmarkMetric(SQLModel, table=True):
    """A metric that scores a benchmark's runs by itself."""

    __tablename__ = "benchmark_metrics"
    __table_args__ = (Index(None, "metric_pk"),)

    benchmark_pk: int = reference("benchmarks.id", primary_key=True, ondelete="CASCADE")
    metric_pk: int = reference("metrics.id", primary_key=True, ondelete="CASCADE")
    position: int


class Score(SQLModel, table=True):
    """What a metric says of a cell, and of which output, expected output and metric it said it.

    `expected_revision` is null where the metric looks at no ground truth.
    """

    __tablename__ = "scores"
    __table_args__ = (
        ForeignKeyConstraint(
            ["metric_pk", "variable"], ["metric_variables.metric_pk", "metric_variables.name"], ondelete="CASCADE"
        ),
        UniqueConstraint("row_pk", "track_pk", "metric_pk", "variable"),
        CheckConstraint(
            "num_nonnulls(number, boolean, text) = CASE status WHEN 'SCORED' THEN 1 ELSE 0 END", name="value"
        ),
        CheckConstraint("number NOT IN ('NaN', 'Infinity', '-Infinity')", name="number"),
        Index(None, "metric_pk", "variable"),
        Index(None, "track_pk", "metric_pk"),
    )

    id: int | None = identity()
    row_pk: int = reference("benchmark_rows.id", ondelete="CASCADE")
    track_pk: int = reference("tracks.id", ondelete="CASCADE")
    metric_pk: int = Field(sa_type=BigInteger)
    variable: str
    status: ScoreStatus = Field(sa_type=vocabulary(ScoreStatus, "status"))
    number: float | None = Field(default=None, sa_type=Double)
    boolean: bool | None = None
    text: str | None = None
    reason: str | None = None
    raw_reply: str | None = None
    cost: Decimal | None = Field(default=None, sa_type=Numeric)
    cell_revision: int
    expected_revision: int | None = None
    metric_version: int
    computed_at: datetime | None = Field(default=None, nullable=False, sa_type=INSTANT, sa_column_kwargs=NOW)


class Run(SQLModel, table=True):
    """Its items are fixed when it starts; once it has ended it never changes."""

    __tablename__ = "runs"
    __table_args__ = (
        CheckConstraint("generation_scope IS NOT NULL OR evaluation_scope IS NOT NULL", name="parts"),
        CheckConstraint("max_cost >= 0 AND cost >= 0", name="cost"),
        CheckConstraint("(finished_at IS NULL) = (" + ACTIVE + ")", name="finished"),
        Index(None, "benchmark_pk", "id"),
        Index(None, "created_at"),
        Index("runs_active_idx", "id", postgresql_where=text(ACTIVE)),
    )

    id: int | None = identity()
    benchmark_pk: int = reference("benchmarks.id", ondelete="CASCADE")
    status: RunStatus = Field(sa_type=vocabulary(RunStatus, "status"))
    generation_scope: GenerationScope | None = Field(
        default=None, sa_type=vocabulary(GenerationScope, "generation_scope")
    )
    evaluation_scope: EvaluationScope | None = Field(
        default=None, sa_type=vocabulary(EvaluationScope, "evaluation_scope")
    )
    cell_count: int = 0
    score_count: int = 0
    max_cost: Decimal | None = Field(default=None, sa_type=Numeric)
    # Of what is stored, and moved with it.
    cost: Decimal = Field(default=Decimal(0), sa_type=Numeric)
    unpriced_calls: int = 0
    started_by: str
    created_at: datetime | None = Field(default=None, nullable=False, sa_type=INSTANT, sa_column_kwargs=NOW)
    started_at: datetime | None = Field(default=None, sa_type=INSTANT)
    finished_at: datetime | None = Field(default=None, sa_type=INSTANT)


class RunTrack(SQLModel, table=True):
    """A track with the settings that it had when the run started."""

    __tablename__ = "run_tracks"
    __table_args__ = (Index(None, "track_pk"),)

    run_pk: int = reference("runs.id", primary_key=True, ondelete="CASCADE")
    position: int = Field(primary_key=True)
    track_pk: int | None = reference("tracks.id", default=None, ondelete="SET NULL")
    name: str
    model_pk: int = reference("models.id")
    provider: str
    model_name: str
    base_url: str | None = None
    api_key_variable: str | None = None
    input_price: Decimal | None = Field(default=None, sa_type=Numeric)
    output_price: Decimal | None = Field(default=None, sa_type=Numeric)
    system_prompt: str | None = None
    temperature: float | None = Field(default=None, sa_type=Double)
    top_p: float | None = Field(default=None, sa_type=Double)
    max_output_tokens: int | None = None


class RunMetric(SQLModel, table=True):
    __tablename__ = "run_metrics"
    __table_args__ = (Index(None, "metric_pk"),)

    run_pk: int = reference("runs.id", primary_key=True, ondelete="CASCADE")
    position: int = Field(primary_key=True)
    metric_pk: int | None = reference("metrics.id", default=None, ondelete="SET NULL")
    name: str


class RunInput(SQLModel, table=True):
    """A row's input as it was when the run started. It goes when the run has ended."""

    __tablename__ = "run_inputs"

    run_pk: int = reference("runs.id", primary_key=True, ondelete="CASCADE")
    row_pk: int = Field(primary_key=True, sa_type=BigInteger)
    input: str


class RunInputFile(SQLModel, table=True):
    __tablename__ = "run_input_files"
    __table_args__ = (
        ForeignKeyConstraint(["run_pk", "row_pk"], ["run_inputs.run_pk", "run_inputs.row_pk"], ondelete="CASCADE"),
    )

    run_pk: int = Field(primary_key=True, sa_type=BigInteger)
    row_pk: int = Field(primary_key=True, sa_type=BigInteger)
    position: int = Field(primary_key=True)
    sha256: str = Field(foreign_key="files.sha256", index=True)
    name: str


class RunItem(SQLModel, table=True):
    """What one run does to one cell: its generation, its scores, or both.

    A worker holds an item by a `token` until `lease_until`, and stores what it did only as long as the token is there.
    Between two stages an item is RUNNING without a token. `model_pk` is the model that the stage has to call, none
    where it calls none. Triggers end the item of a row or track that is removed, and let nothing change what has ended.
    """

    __tablename__ = "run_items"
    __table_args__ = (
        CheckConstraint("(token IS NULL) = (lease_until IS NULL)", name="lease"),
        CheckConstraint("token IS NULL OR status = 'RUNNING'", name="held"),
        CheckConstraint("(finished_at IS NULL) = (" + ACTIVE + ")", name="finished"),
        CheckConstraint("(status = 'FAILED') = (error_kind IS NOT NULL)", name="error"),
        CheckConstraint("generates OR stage <> 'GENERATE'", name="generation"),
        Index(
            "run_items_one_generation_key",
            "row_pk",
            "track_pk",
            unique=True,
            postgresql_where=text("stage = 'GENERATE' AND " + ACTIVE),
        ),
        Index(
            # In the order of runs first: else the key itself would give the order, past all that has ended.
            "run_items_queue_idx",
            "model_pk",
            "run_pk",
            "id",
            postgresql_where=text("token IS NULL AND stage <> 'WAIT' AND " + ACTIVE),
        ),
        Index("run_items_held_idx", "lease_until", postgresql_where=text("token IS NOT NULL")),
        Index("run_items_active_idx", "run_pk", postgresql_where=text(ACTIVE)),
        Index("run_items_pending_idx", "row_pk", "track_pk", postgresql_where=text(ACTIVE)),
        Index(None, "run_pk", "status"),
        Index("run_items_waiting_idx", "run_pk", "row_pk", postgresql_where=text("stage = 'WAIT' AND " + ACTIVE)),
        Index(None, "row_pk"),
        Index(None, "track_pk"),
    )

    id: int | None = identity()
    run_pk: int = reference("runs.id", ondelete="CASCADE")
    row_pk: int | None = reference("benchmark_rows.id", default=None, ondelete="SET NULL")
    track_pk: int | None = reference("tracks.id", default=None, ondelete="SET NULL")
    generates: bool
    stage: RunStage = Field(sa_type=vocabulary(RunStage, "stage"))
    model_pk: int | None = reference("models.id", default=None)
    # To be scored on, and scored on.
    metric_pks: list[int] = Field(sa_type=ARRAY(BigInteger))
    scored_pks: list[int] = Field(default_factory=list, sa_type=ARRAY(BigInteger))
    status: RunItemStatus = Field(sa_type=vocabulary(RunItemStatus, "status"))
    token: UUID | None = None
    lease_until: datetime | None = Field(default=None, sa_type=INSTANT)
    # How often a lease ran out.
    deaths: int = 0
    attempts: int = 0
    error_kind: CellErrorKind | None = Field(default=None, sa_type=vocabulary(CellErrorKind, "error_kind"))
    error_message: str | None = None
    captured: bool = False
    locked_skipped: bool = False
    cost: Decimal | None = Field(default=None, sa_type=Numeric)
    unpriced_calls: int = 0
    started_at: datetime | None = Field(default=None, sa_type=INSTANT)
    finished_at: datetime | None = Field(default=None, sa_type=INSTANT)
