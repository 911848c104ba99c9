"""How far runs are, and what they are doing to cells."""

from typing import Any

from sqlalchemy import ARRAY, ColumnElement, Double, FromClause, Select, Text, case, cast, func, select

from models import Metric, Run, RunItem, RunMetric, RunTrack, Track
from models.base import RunItemStatus, RunStage, RunStatus, table
from resolvers.ending import is_active

runs, run_items, run_tracks, run_metrics = table(Run), table(RunItem), table(RunTrack), table(RunMetric)
tracks, metrics = table(Track), table(Metric)


def pending_of(cell: FromClause) -> Select[Any]:
    """What is being done to a cell: of several, the one that generates, else the first."""
    item = run_items.alias("pending_item")
    return (
        select(item)
        .where(item.c.row_pk == cell.c.row_pk, item.c.track_pk == cell.c.track_pk, is_active(item.c.status))
        .order_by(item.c.stage != RunStage.GENERATE, item.c.id)
        .limit(1)
    )


def progress_of(run: FromClause) -> Select[Any]:
    item = run_items.alias("counted_item")

    def having(*statuses: RunItemStatus) -> ColumnElement[int]:
        return func.count().filter(item.c.status.in_(statuses))

    counts = (
        select(
            func.count().label("total"),
            having(RunItemStatus.QUEUED, RunItemStatus.RUNNING).label("remaining"),
            having(RunItemStatus.SUCCEEDED).label("succeeded"),
            having(RunItemStatus.FAILED).label("failed"),
            having(RunItemStatus.CANCELLED).label("cancelled"),
            having(RunItemStatus.OUT_OF_BUDGET).label("out_of_budget"),
            func.count().filter(item.c.captured).label("captured"),
            func.count().filter(item.c.locked_skipped).label("locked_skipped"),
        )
        .where(item.c.run_pk == run.c.id)
        .correlate_except(item)
        .lateral("counts")
    )
    done = counts.c.total - counts.c.remaining
    return select(*counts.c, done.label("done"), _eta(run, counts.c.remaining, done).label("eta_seconds"))


def _eta(run: FromClause, remaining: ColumnElement[int], done: ColumnElement[int]) -> ColumnElement[float]:
    """At the pace so far."""
    elapsed = cast(func.extract("epoch", func.now() - run.c.started_at), Double)
    return case(((run.c.status == RunStatus.RUNNING) & (done > 0), remaining * elapsed / done))


def tracks_of(run: FromClause) -> Select[Any]:
    """Those of a run's tracks that still exist, with the place that each had in it."""
    track, held = tracks.alias("its_track"), run_tracks.alias("held_track")
    return (
        select(*track.c, held.c.position.label("place"))
        .join_from(held, track, track.c.id == held.c.track_pk)
        .where(held.c.run_pk == run.c.id)
    )


def metrics_of(run: FromClause) -> Select[Any]:
    metric, held = metrics.alias("its_metric"), run_metrics.alias("held_metric")
    return (
        select(*metric.c, held.c.position.label("place"))
        .join_from(held, metric, metric.c.id == held.c.metric_pk)
        .where(held.c.run_pk == run.c.id)
    )


def track_names(run: FromClause) -> ColumnElement[list[str]]:
    return _names(run_tracks.alias("named_track"), run)


def metric_names(run: FromClause) -> ColumnElement[list[str]]:
    return _names(run_metrics.alias("named_metric"), run)


def _names(held: FromClause, run: FromClause) -> ColumnElement[list[str]]:
    named = select(held.c.name).where(held.c.run_pk == run.c.id).order_by(held.c.position).correlate_except(held)
    return func.array(named.scalar_subquery(), type_=ARRAY(Text))
