"""What is shown of a table: a cell for every row and track, the ground truth of each row, and their sums."""

from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    FromClause,
    Numeric,
    Select,
    and_,
    case,
    cast,
    func,
    literal,
    or_,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import aggregate_order_by

from models import File
from models.base import CellStatus, Origin, table
from resolvers.sql import total
from resolvers.tables import benchmarks, cells, fields, revisions, rows, tracks, values

files = table(File)

STORED = (
    "output",
    "fields",
    "error_kind",
    "error_message",
    "error_attempts",
    "latency_ms",
    "input_tokens",
    "output_tokens",
    "cost",
    "run_pk",
    "updated_at",
)


def _cell(row_pk: ColumnElement[int], track: FromClause, cell: FromClause) -> Select[Any]:
    return select(
        func.concat(row_pk, "-", track.c.id).label("key"),
        row_pk.label("row_pk"),
        track.c.id.label("track_pk"),
        track.c.position.label("position"),
        func.coalesce(cell.c.status, CellStatus.EMPTY.value).label("status"),
        *(cell.c[name] for name in STORED),
    )


def cells_of(row: FromClause, given: dict[str, Any]) -> Select[Any]:
    """The cells of one row, one for every track or the given ones."""
    track, cell = tracks.alias("its_track"), cells.alias("its_cell")
    stored = and_(cell.c.row_pk == row.c.id, cell.c.track_pk == track.c.id)
    meant = _cell(row.c.id, track, cell).select_from(track.outerjoin(cell, stored))
    track_ids = given.get("track_ids")
    if track_ids is not None:
        meant = meant.where(track.c.id == func.any(track_ids))
    return meant.where(track.c.benchmark_pk == row.c.benchmark_pk)


def all_cells(_parent: None = None) -> Select[Any]:
    track, cell, row = tracks.alias("its_track"), cells.alias("its_cell"), rows.alias("its_row")
    stored = and_(cell.c.row_pk == row.c.id, cell.c.track_pk == track.c.id)
    in_table = row.join(track, track.c.benchmark_pk == row.c.benchmark_pk)
    return _cell(row.c.id, track, cell).select_from(in_table.outerjoin(cell, stored))


def cell_by_key(cell: FromClause, key: ColumnElement[str]) -> ColumnElement[bool]:
    """By the two keys that a cell's key is made of, which are what is indexed."""
    return and_(cell.c.row_pk == _part(key, "^([0-9]{1,18})-"), cell.c.track_pk == _part(key, "-([0-9]{1,18})$"))


def _part(key: ColumnElement[str], pattern: str) -> ColumnElement[int]:
    return cast(func.substring(key, pattern), BigInteger)


def ground_truth() -> FromClause:
    """The expected output of every row, by the row's id."""
    row, held = rows.alias("its_row"), values.alias("held")
    present = held.c.origin != Origin.EMPTY
    source = func.max(held.c.source_track_pk).filter(present)
    summed = (
        select(
            func.max(held.c.text).filter(held.c.field == "").label("text"),
            func.count().filter(present).label("present"),
            func.count().filter(held.c.origin == Origin.AUTO).label("captured"),
            func.count().filter(held.c.origin == Origin.MANUAL).label("edited"),
            func.coalesce(func.bool_or(held.c.locked), literal(False)).label("locked"),
            case((func.min(held.c.source_track_pk).filter(present) == source, source)).label("source_track_pk"),
            func.max(held.c.edited_at).label("edited_at"),
            func.array_agg(aggregate_order_by(held.c.edited_by, held.c.edited_at.desc().nulls_last()))[1].label(
                "edited_by"
            ),
        )
        .where(held.c.row_pk == row.c.id)
        .lateral("summed")
    )
    revision = select(func.coalesce(func.max(revisions.c.revision), 0)).where(revisions.c.row_pk == row.c.id)
    origin = case(
        (summed.c.present == 0, Origin.EMPTY.value),
        (summed.c.captured == summed.c.present, Origin.AUTO.value),
        (summed.c.edited == summed.c.present, Origin.MANUAL.value),
        else_=Origin.MIXED.value,
    )
    return (
        select(
            row.c.id,
            row.c.benchmark_pk,
            summed.c.text,
            origin.label("origin"),
            summed.c.locked,
            summed.c.source_track_pk,
            summed.c.edited_by,
            summed.c.edited_at,
            revision.scalar_subquery().label("revision"),
        )
        .join(summed, true())
        .subquery("ground_truth")
    )


def fields_of(expected: FromClause) -> Select[Any]:
    """Every field of the benchmark, with its value where the row has one."""
    field, held = fields.alias("its_field"), values.alias("held")
    same = and_(held.c.row_pk == expected.c.id, held.c.field == field.c.name)
    return (
        select(
            field.c.name,
            field.c.position,
            held.c.value,
            func.coalesce(held.c.origin, Origin.EMPTY.value).label("origin"),
            func.coalesce(held.c.locked, literal(False)).label("locked"),
            held.c.source_track_pk,
            held.c.edited_by,
            held.c.edited_at,
        )
        .select_from(field.outerjoin(held, same))
        .where(field.c.benchmark_pk == expected.c.benchmark_pk)
    )


def _any_value(row: FromClause, which: Any) -> ColumnElement[bool]:
    held = values.alias("some_value")
    return select(held.c.row_pk).where(held.c.row_pk == row.c.id, which(held)).correlate(row).exists()


def has_expected(row: FromClause) -> ColumnElement[bool]:
    """A value that a person emptied is known to be none."""
    return _any_value(row, lambda held: or_(held.c.text.is_not(None), held.c.value.is_not(None)))


def is_locked(row: FromClause) -> ColumnElement[bool]:
    return _any_value(row, lambda held: held.c.locked)


def is_captured(row: FromClause) -> ColumnElement[bool]:
    return _any_value(row, lambda held: held.c.origin == Origin.AUTO)


def origin_of(row: FromClause) -> ColumnElement[str]:
    captured = is_captured(row)
    edited = _any_value(row, lambda held: held.c.origin == Origin.MANUAL)
    return case(
        (and_(captured, edited), Origin.MIXED.value),
        (captured, Origin.AUTO.value),
        (edited, Origin.MANUAL.value),
        else_=Origin.EMPTY.value,
    )


def count_rows(benchmark: FromClause, *which: Any) -> ColumnElement[int]:
    row = rows.alias("counted_row")
    conditions = [condition(row) for condition in which]
    return (
        select(func.count())
        .select_from(row)
        .where(row.c.benchmark_pk == benchmark.c.id, *conditions)
        .correlate(benchmark)
        .scalar_subquery()
    )


def track_summary(track: FromClause) -> Select[Any]:
    """One row: the figures of a track's cells."""
    cell, row = cells.alias("counted_cell"), rows.alias("counted_row")
    in_table = select(func.count()).select_from(row).where(row.c.benchmark_pk == track.c.benchmark_pk)
    succeeded = func.count().filter(cell.c.status == CellStatus.SUCCEEDED)
    failed = func.count().filter(cell.c.status == CellStatus.FAILED)
    answered = cell.c.status != CellStatus.FAILED
    return (
        select(
            track.c.id.label("track_pk"),
            succeeded.label("succeeded"),
            failed.label("failed"),
            (in_table.correlate(track).scalar_subquery() - succeeded - failed).label("empty"),
            func.percentile_cont(0.5).within_group(cell.c.latency_ms).label("latency_p50_ms"),
            func.percentile_cont(0.95).within_group(cell.c.latency_ms).label("latency_p95_ms"),
            total(cell.c.input_tokens).label("input_tokens"),
            total(cell.c.output_tokens).label("output_tokens"),
            cast(total(cell.c.cost), Numeric).label("cost"),
            func.count().filter(and_(answered, cell.c.cost.is_(None))).label("unpriced_cells"),
        )
        .where(cell.c.track_pk == track.c.id)
        .correlate(track)
    )


def track_summaries(benchmark: FromClause) -> Select[Any]:
    track = tracks.alias("summed_track")
    figures = track_summary(track).lateral("figures")
    return (
        select(*figures.c, track.c.position)
        .select_from(track.join(figures, true()))
        .where(track.c.benchmark_pk == benchmark.c.id)
    )


def is_source(track: FromClause) -> ColumnElement[bool]:
    source = select(benchmarks.c.id).where(benchmarks.c.source_track_pk == track.c.id).correlate(track)
    return source.exists()


def media_type(attachment: FromClause) -> ColumnElement[str]:
    """What the server found in the bytes."""
    file = files.alias("its_file")
    found = select(file.c.media_type).where(file.c.sha256 == attachment.c.sha256).correlate(attachment)
    return func.coalesce(found.scalar_subquery(), "application/octet-stream")
