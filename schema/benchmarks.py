"""Benchmark tables as the graph shows them."""

from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated

import strawberry
from strawberry.scalars import JSON

from engine.graph import Connection, Node
from engine.mapping import Argument, Filter, backed, column, computed, embedded, items, lookup, many, one
from models import Benchmark as Benchmarks
from models import BenchmarkField as BenchmarkFields
from models import BenchmarkRow as BenchmarkRows
from models import ExpectedRevision as ExpectedRevisions
from models import RowFile as RowFiles
from models import Track as Tracks
from models.base import table
from resolvers import grid, progress, row_files, scores
from schema.agents import Agent
from schema.enums import AgentKind, CellErrorKind, CellStatus, ExpectedOutputChange, FieldType, Origin, RowFormat
from schema.files import File
from schema.metrics import Metric, Score, ScoreSummary
from schema.models import Model
from schema.scalars import BigInt

if TYPE_CHECKING:
    from schema.runs import Run, RunItem


@backed(table(BenchmarkFields), key="name", position="position")
class FieldDefinition:
    name: str
    type: FieldType
    description: str | None


@backed(key="track_pk", position="position")
class TrackSummary:
    track: "Track" = one(lambda figures, track: track.c.id == figures.c.track_pk)
    succeeded: int
    failed: int
    empty: int
    latency_p50_ms: float | None
    latency_p95_ms: float | None
    input_tokens: BigInt
    output_tokens: BigInt
    cost: Decimal = column("cost", description="Of priced cells.")
    unpriced_cells: int
    scores: list[ScoreSummary] = items(rows=scores.summaries)


@backed(
    table(Tracks),
    position="position",
)
class Track(Node):
    """A column: a model with its configuration."""

    benchmark: "Benchmark" = one(lambda track, benchmark: benchmark.c.id == track.c.benchmark_pk)
    position: int
    name: str
    model: Model = one(lambda track, model: model.c.id == track.c.model_pk)
    system_prompt: str | None
    temperature: float | None
    top_p: float | None
    max_output_tokens: int | None
    is_source: bool = computed(grid.is_source)
    summary: TrackSummary = one(rows=grid.track_summary)
    version: int


@backed()
class BenchmarkSummary:
    row_count: int = computed(grid.count_rows)
    expected_count: int = computed(lambda benchmark: grid.count_rows(benchmark, grid.has_expected))
    locked_count: int = computed(lambda benchmark: grid.count_rows(benchmark, grid.is_locked))
    auto_count: int = computed(lambda benchmark: grid.count_rows(benchmark, grid.is_captured))
    tracks: list[TrackSummary] = items(rows=grid.track_summaries)


@backed(table(RowFiles), key="position", position="position")
class Attachment:
    """A file in its place. `mediaType` is what the server found, not what was claimed."""

    file: File = one(lambda attachment, file: file.c.sha256 == attachment.c.sha256)
    name: str
    media_type: str = computed(grid.media_type)


@backed(key="name", position="position")
class ExpectedField:
    name: str
    value: JSON | None
    origin: Origin
    locked: bool
    source_track: Track | None = one(lambda value, track: track.c.id == value.c.source_track_pk)
    edited_by: str | None
    edited_at: datetime | None


@backed(table(ExpectedRevisions), position="revision")
class ExpectedOutputRevision(Node):
    revision: int
    text: str | None
    fields: JSON | None
    change: ExpectedOutputChange
    changed_by: str
    changed_at: datetime


@backed(grid.ground_truth())
class ExpectedOutput(Node):
    """The ground truth of one row. Locked values are never overwritten by the system."""

    row: "Row" = one(lambda expected, row: row.c.id == expected.c.id)
    text: str | None
    fields: list[ExpectedField] = items(rows=grid.fields_of)
    origin: Origin
    locked: bool = column("locked", description="Any value locked.")
    source_track: Track | None = one(lambda expected, track: track.c.id == expected.c.source_track_pk)
    edited_by: str | None
    edited_at: datetime | None
    revision: int
    history: Connection[ExpectedOutputRevision] = many(lambda expected, revision: revision.c.row_pk == expected.c.id)


@backed()
class CellError:
    kind: CellErrorKind = column("error_kind")
    message: str = column("error_message")
    attempts: int = column("error_attempts")


@backed(
    grid.all_cells,
    key="key",
    find=grid.cell_by_key,
    position="position",
    filters=(Filter("track_id", strawberry.ID, lambda cell: cell.c.track_pk, of="Track"), "status", "output"),
)
class Cell(Node):
    row: "Row" = one(lambda cell, row: row.c.id == cell.c.row_pk)
    track: Track = one(lambda cell, track: track.c.id == cell.c.track_pk)
    status: CellStatus
    output: str | None
    fields: JSON | None
    error: CellError | None = embedded(when=lambda cell: cell.c.error_kind.is_not(None))
    latency_ms: int | None
    input_tokens: int | None
    output_tokens: int | None
    cost: Decimal | None = column("cost", description="Null where no price is known.")
    run: Annotated["Run", strawberry.lazy("schema.runs")] | None = one(
        lambda cell, run: run.c.id == cell.c.run_pk,
        description="The run that stored it; null for recordCells.",
    )
    pending: Annotated["RunItem", strawberry.lazy("schema.runs")] | None = one(rows=progress.pending_of)
    scores: list[Score] = items(
        rows=scores.scores_of, arguments={"metric_ids": Argument(list[strawberry.ID] | None, of="Metric")}
    )
    updated_at: datetime | None


@backed(
    table(BenchmarkRows),
    position="position",
    filters=(
        "key",
        "input",
        Filter("origin", Origin, grid.origin_of),
        Filter("locked", bool, grid.is_locked),
        Filter("has_expected", bool, grid.has_expected),
        "cells",
    ),
    orders=("position", "key"),
)
class Row(Node):
    benchmark: "Benchmark" = one(lambda row, benchmark: benchmark.c.id == row.c.benchmark_pk)
    position: int
    key: str | None = column("key", description="An identity from outside, unique in its benchmark.")
    input: str
    files: list[Attachment] = items(lambda row, attachment: attachment.c.row_pk == row.c.id)
    expected_output: ExpectedOutput = one(lambda row, expected: expected.c.id == row.c.id)
    cells: list[Cell] = items(
        rows=grid.cells_of,
        arguments={"track_ids": Argument(list[strawberry.ID] | None, of="Track")},
        description="One for every track (or the given ones), in track order; EMPTY where nothing was stored.",
    )
    version: int


@backed(
    table(Benchmarks),
    filters=("name", "kind", "auto_capture", "agent", "created_at", "updated_at"),
    orders=("name", "created_at", "updated_at"),
)
class Benchmark(Node):
    name: str
    description: str | None
    kind: AgentKind
    agent: Agent | None = one(lambda benchmark, agent: agent.c.id == benchmark.c.agent_pk)
    auto_capture: bool
    source_track: Track | None = one(
        lambda benchmark, track: track.c.id == benchmark.c.source_track_pk,
        description="The track whose output becomes the expected output; null without tracks.",
    )
    tracks: list[Track] = items(lambda benchmark, track: track.c.benchmark_pk == benchmark.c.id)
    fields: list[FieldDefinition] = items(
        lambda benchmark, field: field.c.benchmark_pk == benchmark.c.id,
        description="What an automation agent extracts; empty for a conversation agent.",
    )
    rows: Connection[Row] = many(lambda benchmark, row: row.c.benchmark_pk == benchmark.c.id)
    metrics: list[Metric] = items(rows=scores.metrics_of, order_by=(lambda metric: metric.c.place,))
    runs: Connection[Annotated["Run", strawberry.lazy("schema.runs")]] = many(
        lambda benchmark, run: run.c.benchmark_pk == benchmark.c.id
    )
    summary: BenchmarkSummary = embedded()
    rows_url: str = computed(
        row_files.rows_url,
        arguments={"format": Argument(RowFormat, default=RowFormat.JSON)},
        description="What importRows reads, and the whole table.",
    )
    table_url: str = computed(row_files.table_url, arguments={"format": Argument(RowFormat, default=RowFormat.CSV)})
    version: int
    created_at: datetime
    updated_at: datetime


@strawberry.type
class BenchmarkQueries:
    benchmark: Benchmark | None = lookup(lambda benchmark, given: benchmark.c.name == given["name"], name=Argument(str))
    benchmarks: Connection[Benchmark] = many()
    row: Row | None = lookup(
        lambda row, given: (row.c.benchmark_pk == given["benchmark_id"]) & (row.c.key == given["key"]),
        benchmark_id=Argument(strawberry.ID, of="Benchmark"),
        key=Argument(str),
    )
    model: Model | None = lookup(lambda model, given: model.c.name == given["name"], name=Argument(str))
    models: Connection[Model] = many()
