"""Runs, and what they do to cells, as the graph shows them."""

from datetime import datetime
from decimal import Decimal

import strawberry
from sqlalchemy import and_

from engine.graph import Connection, Node
from engine.mapping import Filter, backed, column, computed, embedded, items, many, one
from models import Run as Runs
from models import RunItem as RunItems
from models.base import table
from resolvers import progress
from schema.benchmarks import Benchmark, Cell, CellError, Track
from schema.enums import EvaluationScope, GenerationScope, RunItemStatus, RunStatus
from schema.metrics import Metric


@backed()
class GenerationPlan:
    tracks: list[Track] = items(
        rows=progress.tracks_of,
        order_by=(lambda track: track.c.place,),
        description="Those that still exist.",
    )
    track_names: list[str] = computed(progress.track_names)
    scope: GenerationScope = column("generation_scope")
    cell_count: int


@backed()
class EvaluationPlan:
    metrics: list[Metric] = items(rows=progress.metrics_of, order_by=(lambda metric: metric.c.place,))
    metric_names: list[str] = computed(progress.metric_names)
    scope: EvaluationScope = column("evaluation_scope")
    score_count: int


@backed()
class RunProgress:
    total: int
    done: int
    succeeded: int
    failed: int
    cancelled: int
    out_of_budget: int
    remaining: int
    captured: int = column("captured", description="Answers that became expected outputs.")
    locked_skipped: int = column("locked_skipped", description="Those that did not, for a person had locked the value.")
    eta_seconds: float | None = column(
        "eta_seconds", description="At the pace so far; null before any and after the end."
    )


@backed(
    table(RunItems),
    filters=(
        "status",
        Filter("track_id", strawberry.ID, lambda item: item.c.track_pk, of="Track"),
        Filter("row_id", strawberry.ID, lambda item: item.c.row_pk, of="Row"),
    ),
    orders=("started_at", "finished_at"),
)
class RunItem(Node):
    """What one run does to one cell: its generation, its scores, or both."""

    run: "Run" = one(lambda item, run: run.c.id == item.c.run_pk)
    cell: Cell | None = one(
        lambda item, cell: and_(cell.c.row_pk == item.c.row_pk, cell.c.track_pk == item.c.track_pk),
        description="Null once its row or track was removed.",
    )
    status: RunItemStatus
    attempts: int = column("attempts", description="Calls made.")
    error: CellError | None = embedded(
        {"attempts": lambda item: item.c.attempts}, when=lambda item: item.c.error_kind.is_not(None)
    )
    captured: bool
    cost: Decimal | None
    started_at: datetime | None
    finished_at: datetime | None


@backed(
    table(Runs),
    filters=("status", "created_at", "finished_at", "started_by", "cost"),
    orders=("created_at",),
)
class Run(Node):
    benchmark: Benchmark = one(lambda run, benchmark: benchmark.c.id == run.c.benchmark_pk)
    status: RunStatus
    generation: GenerationPlan | None = embedded(when=lambda run: run.c.generation_scope.is_not(None))
    evaluation: EvaluationPlan | None = embedded(when=lambda run: run.c.evaluation_scope.is_not(None))
    progress: RunProgress = one(rows=progress.progress_of)
    items: Connection[RunItem] = many(lambda run, item: item.c.run_pk == run.c.id)
    max_cost: Decimal | None
    cost: Decimal = column("cost", description="Of priced calls.")
    unpriced_calls: int
    started_by: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


@strawberry.type
class RunQueries:
    runs: Connection[Run] = many()
