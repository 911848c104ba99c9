"""What a run is about: the cells that it generates, and those that it scores on which metrics, as rows of SQL."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    FromClause,
    Select,
    and_,
    case,
    exists,
    func,
    literal,
    not_,
    or_,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import aggregate_order_by

from models import MetricVariable, Score
from models.base import CellStatus, EvaluationScope, GenerationScope, ScoreStatus, table
from resolvers.scores import is_stale
from resolvers.sql import among, sent
from resolvers.tables import benchmarks, cells, rows, tracks

scores, variables = table(Score), table(MetricVariable)

KEYS = {"row_pk": BigInteger(), "track_pk": BigInteger()}
METRICS = {"metric_pk": BigInteger(), "place": BigInteger()}


@dataclass(frozen=True, slots=True)
class Chosen:
    """Tracks of one benchmark; with SELECTED, their cells in these rows, and these cells by row and track besides."""

    benchmark_pk: int
    track_pks: Sequence[int]
    row_pks: Sequence[int] = ()
    cells: Sequence[tuple[int, int]] = ()

    @property
    def all_tracks(self) -> list[int]:
        """Those of single cells, too."""
        return sorted({*self.track_pks, *(track_pk for _, track_pk in self.cells)})


def generated(chosen: Chosen, scope: GenerationScope) -> FromClause:
    """Cells by row and track, with the places that order them."""
    meant = _grid(chosen, is_selected=scope == GenerationScope.SELECTED)
    if scope == GenerationScope.EMPTY_AND_FAILED:
        has_answer = exists(
            select(cells.c.row_pk).where(
                cells.c.row_pk == rows.c.id, cells.c.track_pk == tracks.c.id, cells.c.status == CellStatus.SUCCEEDED
            )
        )
        meant = meant.where(not_(has_answer))
    return meant.subquery("generated")


def scored(chosen: Chosen, scope: EvaluationScope, metric_pks: Sequence[int]) -> FromClause:
    """Cells with the metrics that they are to be scored on, as one array each."""
    cell = _grid(chosen, is_selected=scope == EvaluationScope.SELECTED).subquery("scored_cell")
    metric = sent("metric", METRICS, [(pk, place) for place, pk in enumerate(metric_pks)])
    found = select(
        *cell.c, func.array_agg(aggregate_order_by(metric.c.metric_pk, metric.c.place)).label("metric_pks")
    ).select_from(cell.join(metric, true()))
    if scope == EvaluationScope.MISSING:
        found = found.where(_is_missing(cell, metric))
    if scope == EvaluationScope.STALE:
        found = found.where(_is_scored(cell, metric, is_stale))
    return found.group_by(*cell.c).subquery("scored")


def _grid(chosen: Chosen, *, is_selected: bool) -> Select[Any]:
    """Every row with the chosen tracks: the source first, so that what it leaves is there for the others' scores."""
    source = select(benchmarks.c.source_track_pk).where(benchmarks.c.id == chosen.benchmark_pk).scalar_subquery()
    of_track = case((tracks.c.id == source, -1), else_=tracks.c.position)
    found = (
        select(
            rows.c.id.label("row_pk"),
            tracks.c.id.label("track_pk"),
            tracks.c.model_pk,
            rows.c.position.label("row_place"),
            of_track.label("track_place"),
        )
        .select_from(rows.join(tracks, tracks.c.benchmark_pk == rows.c.benchmark_pk))
        .where(rows.c.benchmark_pk == chosen.benchmark_pk)
    )
    of_tracks = among(tracks.c.id, chosen.track_pks)
    if not is_selected:
        return found.where(of_tracks)
    named = sent("named", KEYS, chosen.cells)
    is_named = exists(select(literal(1)).where(named.c.row_pk == rows.c.id, named.c.track_pk == tracks.c.id))
    return found.where(or_(and_(among(rows.c.id, chosen.row_pks), of_tracks), is_named))


def _is_missing(cell: FromClause, metric: FromClause) -> ColumnElement[bool]:
    """Some variable was never scored: there is none, it failed, or what it was skipped for is there by now."""
    variable = variables.alias("wanted_variable")
    is_there = exists(
        select(scores.c.id)
        .where(
            _at(cell, metric),
            scores.c.variable == variable.c.name,
            scores.c.status != ScoreStatus.FAILED,
            not_(and_(scores.c.status == ScoreStatus.SKIPPED, is_stale(scores))),
        )
        .correlate_except(scores)
    )
    return exists(select(variable.c.name).where(variable.c.metric_pk == metric.c.metric_pk, not_(is_there)))


def _is_scored(cell: FromClause, metric: FromClause, which: Any) -> ColumnElement[bool]:
    return exists(select(scores.c.id).where(_at(cell, metric), which(scores)))


def _at(cell: FromClause, metric: FromClause) -> ColumnElement[bool]:
    return and_(
        scores.c.row_pk == cell.c.row_pk,
        scores.c.track_pk == cell.c.track_pk,
        scores.c.metric_pk == metric.c.metric_pk,
    )
