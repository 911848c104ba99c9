"""Metrics and what they say of cells, as the graph shows them."""

from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated

import strawberry
from sqlalchemy import and_
from strawberry.scalars import JSON

from engine.graph import Connection, Node
from engine.mapping import Argument, backed, column, computed, items, lookup, many, one
from models import Metric as Metrics
from models import MetricVariable as MetricVariables
from models import Score as Scores
from models.base import table
from resolvers import scores
from schema.enums import Aggregation, MetricKind, ScoreStatus, ScoreType
from schema.models import Model

if TYPE_CHECKING:
    from schema.benchmarks import Cell


@backed(table(MetricVariables), key="name", position="position")
class MetricVariable:
    name: str
    type: ScoreType
    description: str | None
    minimum: float | None
    maximum: float | None
    aggregation: Aggregation | None


@backed(table(Metrics))
class Metric(Node):
    name: str
    description: str | None
    kind: MetricKind
    options: JSON
    judge_model: Model | None = one(lambda metric, model: model.c.id == metric.c.judge_model_pk)
    judge_prompt: str | None
    variables: list[MetricVariable] = items(lambda metric, variable: variable.c.metric_pk == metric.c.id)
    version: int


@backed(table(Scores), position=("metric_pk", "position"))
class Score(Node):
    cell: Annotated["Cell", strawberry.lazy("schema.benchmarks")] = one(
        lambda score, cell: and_(cell.c.row_pk == score.c.row_pk, cell.c.track_pk == score.c.track_pk)
    )
    metric: Metric = one(lambda score, metric: metric.c.id == score.c.metric_pk)
    variable: str
    status: ScoreStatus
    number: float | None
    boolean: bool | None
    text: str | None
    reason: str | None
    raw_reply: str | None = column("raw_reply", description="What a judge answered, where it did not fit.")
    stale: bool = computed(
        scores.is_stale,
        description="True once the output, the expected output or the metric changed after this score was computed.",
    )
    cost: Decimal | None
    computed_at: datetime


@backed(key="variable", position=("place", "position"))
class ScoreSummary:
    """The mean runs over scored, current cells alone; what is missing is counted, never averaged as 0."""

    metric: Metric = one(lambda figures, metric: metric.c.id == figures.c.metric_pk)
    variable: str
    scored: int
    failed: int
    skipped: int
    missing: int
    stale: int
    average: float | None
    count_true: int | None
    deviation: float | None


@strawberry.type
class MetricQueries:
    metric: Metric | None = lookup(lambda metric, given: metric.c.name == given["name"], name=Argument(str))
    metrics: Connection[Metric] = many()
