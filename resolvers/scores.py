"""Scores of cells: which of them still hold, and what they come to.

A score remembers the revisions that it was computed from. It is stale once the cell or the metric has another one, or
once something else is expected: an unlocked value, or one that was written again as it was, is not.
"""

from typing import Any

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Select,
    Text,
    and_,
    case,
    cast,
    func,
    literal,
    literal_column,
    or_,
    select,
)

from models import BenchmarkMetric, Metric, MetricVariable, Score
from models.base import Aggregation, ScoreStatus, table
from resolvers.tables import cells, revisions, rows, tracks

metrics, variables = table(Metric), table(MetricVariable)
of_benchmarks, scores = table(BenchmarkMetric), table(Score)

# Of which the square is still a number.
LARGEST = 1e150


def current_expected_revision(row_pk: ColumnElement[int]) -> ColumnElement[int]:
    """0 where nothing was ever expected."""
    kept = revisions.alias()
    last = select(func.max(kept.c.revision)).where(kept.c.row_pk == row_pk).correlate_except(kept)
    return func.coalesce(last.scalar_subquery(), 0)


def is_stale(score: FromClause) -> ColumnElement[bool]:
    cell, metric = cells.alias(), metrics.alias()
    its_cell = and_(cell.c.row_pk == score.c.row_pk, cell.c.track_pk == score.c.track_pk)
    return _is_stale(
        score,
        cell=func.coalesce(select(cell.c.revision).where(its_cell).correlate_except(cell).scalar_subquery(), 0),
        metric=select(metric.c.version)
        .where(metric.c.id == score.c.metric_pk)
        .correlate_except(metric)
        .scalar_subquery(),
        expected=current_expected_revision(score.c.row_pk),
    )


def _is_stale(
    score: FromClause, *, cell: ColumnElement[int], metric: ColumnElement[int], expected: ColumnElement[int]
) -> ColumnElement[bool]:
    """By the revisions of now. Values are looked at only where the expected output has a later revision."""
    return case(
        (or_(cell != score.c.cell_revision, metric != score.c.metric_version), literal(True)),
        (or_(score.c.expected_revision.is_(None), expected == score.c.expected_revision), literal(False)),
        else_=_expected(score.c.row_pk, expected).is_distinct_from(
            _expected(score.c.row_pk, score.c.expected_revision)
        ),
    )


def _expected(row_pk: ColumnElement[int], revision: ColumnElement[int]) -> ColumnElement[str]:
    """What was expected at a revision: a text, or fields in the order of their names."""
    kept = revisions.alias()
    value = func.coalesce(kept.c.text, cast(kept.c.fields, Text))
    at = select(value).where(kept.c.row_pk == row_pk, kept.c.revision == revision)
    return at.correlate_except(kept).scalar_subquery()


def scores_of(cell: FromClause, given: dict[str, Any]) -> Select[Any]:
    """The scores of one cell, of all metrics or the given ones."""
    score, variable = scores.alias("its_score"), variables.alias("its_variable")
    named = and_(variable.c.metric_pk == score.c.metric_pk, variable.c.name == score.c.variable)
    found = (
        select(*score.c, variable.c.position)
        .join_from(score, variable, named)
        .where(score.c.row_pk == cell.c.row_pk, score.c.track_pk == cell.c.track_pk)
    )
    metric_ids = given.get("metric_ids")
    return found if metric_ids is None else found.where(score.c.metric_pk == func.any(metric_ids))


def metrics_of(benchmark: FromClause) -> Select[Any]:
    """The metrics of a benchmark with the place that each has in it."""
    metric, held = metrics.alias("its_metric"), of_benchmarks.alias("held_metric")
    return (
        select(*metric.c, held.c.position.label("place"))
        .join_from(held, metric, metric.c.id == held.c.metric_pk)
        .where(held.c.benchmark_pk == benchmark.c.id)
    )


def summaries(figures: FromClause) -> Select[Any]:
    """What the scores of a track come to, for every variable of the benchmark's metrics."""
    track, held, variable = tracks.alias("scored_track"), of_benchmarks.alias("held_metric"), variables.alias()
    row = rows.alias("counted_row")
    counted = _counted(figures)
    in_table = select(func.count()).where(row.c.benchmark_pk == track.c.benchmark_pk).correlate_except(row)
    same = and_(counted.c.metric_pk == held.c.metric_pk, counted.c.variable == variable.c.name)

    def count(name: str) -> ColumnElement[int]:
        return func.coalesce(counted.c[name], 0)

    return (
        select(
            held.c.metric_pk,
            held.c.position.label("place"),
            variable.c.name.label("variable"),
            variable.c.position,
            *(count(name).label(name) for name in ("scored", "failed", "skipped", "stale")),
            (in_table.scalar_subquery() - count("present")).label("missing"),
            case((variable.c.aggregation == Aggregation.AVERAGE, counted.c.average)).label("average"),
            case((variable.c.aggregation == Aggregation.AVERAGE, counted.c.deviation)).label("deviation"),
            case((variable.c.aggregation == Aggregation.COUNT_TRUE, counted.c.count_true)).label("count_true"),
        )
        .select_from(track)
        .join(held, held.c.benchmark_pk == track.c.benchmark_pk)
        .join(variable, variable.c.metric_pk == held.c.metric_pk)
        .outerjoin(counted, same)
        .where(track.c.id == figures.c.track_pk)
    )


def _counted(figures: FromClause) -> FromClause:
    """Scores of a track by metric and variable; the mean and the rest are over what is scored and holds."""
    score = _judged(figures)
    holds = ~score.c.is_stale

    def having(status: ScoreStatus) -> ColumnElement[int]:
        return func.count().filter(and_(holds, score.c.status == status))

    # A sum of larger ones might be no number: then there is no mean to tell.
    ordinary = and_(holds, func.abs(score.c.number) <= LARGEST)
    is_ordinary = func.bool_and(func.abs(score.c.number) <= LARGEST).filter(holds)
    return (
        select(
            score.c.metric_pk,
            score.c.variable,
            func.count().label("present"),
            having(ScoreStatus.SCORED).label("scored"),
            having(ScoreStatus.FAILED).label("failed"),
            having(ScoreStatus.SKIPPED).label("skipped"),
            func.count().filter(score.c.is_stale).label("stale"),
            case((is_ordinary, func.avg(score.c.number).filter(ordinary))).label("average"),
            case((is_ordinary, func.stddev_samp(score.c.number).filter(ordinary))).label("deviation"),
            case(
                (
                    func.count(score.c.boolean).filter(holds) > 0,
                    func.count().filter(and_(holds, score.c.boolean)),
                )
            ).label("count_true"),
        )
        .group_by(score.c.metric_pk, score.c.variable)
        .correlate(figures)
        .subquery("counted")
    )


def _judged(figures: FromClause) -> FromClause:
    """The scores of a track, each with whether it is stale, looked up all together."""
    score, cell, metric = scores.alias("its_score"), cells.alias("scored_cell"), metrics.alias("scoring_metric")
    latest = _latest(figures)
    return (
        select(
            score.c.metric_pk,
            score.c.variable,
            score.c.status,
            score.c.number,
            score.c.boolean,
            _is_stale(
                score,
                cell=func.coalesce(cell.c.revision, 0),
                metric=metric.c.version,
                expected=func.coalesce(latest.c.revision, 0),
            ).label("is_stale"),
        )
        .select_from(score)
        .join(metric, metric.c.id == score.c.metric_pk)
        .outerjoin(cell, and_(cell.c.row_pk == score.c.row_pk, cell.c.track_pk == figures.c.track_pk))
        .outerjoin(latest, latest.c.row_pk == score.c.row_pk)
        .where(score.c.track_pk == figures.c.track_pk)
        .correlate(figures)
        # Kept apart by this, so that each score is judged once and not in every count.
        .offset(literal_column("0"))
        .subquery("judged")
    )


def _latest(figures: FromClause) -> FromClause:
    """The revision of now of every row beside a track that something was ever expected of."""
    track, row, kept = tracks.alias(), rows.alias(), revisions.alias()
    return (
        select(kept.c.row_pk, func.max(kept.c.revision).label("revision"))
        .join_from(track, row, row.c.benchmark_pk == track.c.benchmark_pk)
        .join(kept, kept.c.row_pk == row.c.id)
        .where(track.c.id == figures.c.track_pk)
        .group_by(kept.c.row_pk)
        .correlate(figures)
        .subquery("latest")
    )
