"""Rows and whole tables of a benchmark as JSON, JSONL or CSV: the same rows are the same bytes each time."""

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

from interchange.scored import Variable, scores_cells, scores_header, scores_members
from interchange.tables import NAMES, TEXT, CellRecord, RowRecord, Table, TableRow, ValueRecord
from models.base import AgentKind, Origin
from resolvers.values import written

Row = TypeVar("Row")
Row_contra = TypeVar("Row_contra", contravariant=True)

# What a cell of a table is shown by, beside its output.
MEASURES: Final = ("status", "error", "latency_ms", "input_tokens", "output_tokens", "cost")

# JSON text by name, in order.
Members = dict[str, str]
Line = Sequence[str | None]


@dataclass(frozen=True, slots=True)
class Layout(Generic[Row]):
    """How rows of a kind are laid out: as members of an object, and as cells under a header."""

    header: Sequence[str]
    members: Callable[[Row], Members]
    cells: Callable[[Row], Line]


class Writer(Protocol[Row_contra]):
    def begin(self) -> str: ...

    def rows(self, rows: Iterable[Row_contra]) -> str: ...

    def end(self) -> str: ...


def writer_of(format: str, layout: Layout[Row]) -> Writer[Row]:
    match format:
        case "JSON":
            return JsonWriter(layout)
        case "JSONL":
            return LinesWriter(layout)
        case _:
            return CsvWriter(layout)


class JsonWriter(Generic[Row]):
    """A list with a row in each line."""

    def __init__(self, layout: Layout[Row]) -> None:
        self._layout = layout
        self._is_empty = True

    def begin(self) -> str:
        return "["

    def rows(self, rows: Iterable[Row]) -> str:
        text = ",\n".join(_object(self._layout.members(row)) for row in rows)
        if not text:
            return ""
        separator = "\n" if self._is_empty else ",\n"
        self._is_empty = False
        return separator + text

    def end(self) -> str:
        return "]\n" if self._is_empty else "\n]\n"


class LinesWriter(Generic[Row]):
    """An object in each line."""

    def __init__(self, layout: Layout[Row]) -> None:
        self._layout = layout

    def begin(self) -> str:
        return ""

    def rows(self, rows: Iterable[Row]) -> str:
        return "".join(f"{_object(self._layout.members(row))}\n" for row in rows)

    def end(self) -> str:
        return ""


class CsvWriter(Generic[Row]):
    """Texts as they are, all else as JSON; an empty cell is none."""

    def __init__(self, layout: Layout[Row]) -> None:
        self._layout = layout

    def begin(self) -> str:
        return _lines([self._layout.header])

    def rows(self, rows: Iterable[Row]) -> str:
        return _lines(self._layout.cells(row) for row in rows)

    def end(self) -> str:
        return ""


def rows_layout(table: Table) -> Layout[RowRecord]:
    """What an import reads."""
    return Layout(NAMES, lambda row: _row_members(row, table), lambda row: _row_cells(row, table))


def table_layout(table: Table, tracks: Sequence[str], variables: Sequence[Variable]) -> Layout[TableRow]:
    """Rows with what every track answered, and how that was scored on these variables."""
    names = ("output", *MEASURES, *scores_header(variables))
    header = (*NAMES, *(f"{name}: {track}" for track in tracks for name in names))

    def members(of: TableRow) -> Members:
        cells = ",".join(
            _object({"track": written(cell.track), **_cell_members(cell), **scores_members(cell, variables)})
            for cell in of.cells
        )
        return {**_row_members(of.row, table), "cells": f"[{cells}]"}

    def cells(of: TableRow) -> Line:
        answered = ([*_cell_cells(cell), *scores_cells(cell, variables)] for cell in of.cells)
        return [*_row_cells(of.row, table), *(shown for cell in answered for shown in cell)]

    return Layout(header, members, cells)


def is_lost_in_csv(row: RowRecord) -> bool:
    """An empty text, which a cell cannot tell from none."""
    expected = row.expected.get(TEXT)
    return expected is not None and expected.text == ""


def _object(members: Members) -> str:
    return "{" + ",".join(f'"{name}":{value}' for name, value in members.items()) + "}"


def _lines(rows: Iterable[Line]) -> str:
    lines = io.StringIO()
    csv.writer(lines, lineterminator="\r\n").writerows(rows)
    return lines.getvalue()


def _row_members(row: RowRecord, table: Table) -> Members:
    expected = _expected_members(row, table)
    found = {
        "key": None if row.key is None else written(row.key),
        "input": written(row.input),
        "expected_output": expected.get("expected_output"),
        "files": _files(row),
        "origin": expected.get("origin"),
        "locked": expected.get("locked"),
    }
    return {name: value for name, value in found.items() if value is not None}


def _row_cells(row: RowRecord, table: Table) -> Line:
    if table.kind == AgentKind.AUTOMATION:
        expected: Mapping[str, str | None] = _expected_members(row, table)
    elif (value := row.expected.get(TEXT)) is not None and (value.text or value.origin == Origin.MANUAL):
        # Nothing was captured where a cell says nothing; a person may have emptied it.
        expected = {"expected_output": value.text, "origin": value.origin.value, "locked": written(value.locked)}
    else:
        expected = {}
    return [
        row.key,
        row.input,
        expected.get("expected_output"),
        _files(row),
        expected.get("origin"),
        expected.get("locked"),
    ]


def _files(row: RowRecord) -> str | None:
    return written([{"sha256": sha256, "name": name} for sha256, name in row.files]) if row.files else None


def _expected_members(row: RowRecord, table: Table) -> Members:
    if table.kind == AgentKind.AUTOMATION:
        return _fields_members({name: row.expected[name] for name in table.fields if name in row.expected})
    value = row.expected.get(TEXT)
    if value is None:
        return {}
    kept = {"origin": written(value.origin.value), "locked": written(value.locked)}
    return kept if value.text is None else {"expected_output": written(value.text), **kept}


def _fields_members(values: Mapping[str, ValueRecord]) -> Members:
    """A field that a person emptied stands under origin and locked alone."""
    if not values:
        return {}
    given = {name: value.value for name, value in values.items() if value.value is not None}
    kept = {
        "origin": written({name: value.origin.value for name, value in values.items()}),
        "locked": written({name: value.locked for name, value in values.items()}),
    }
    return {"expected_output": _fields_object(given), **kept} if given else kept


def _fields_object(values: Mapping[str, str]) -> str:
    return "{" + ",".join(f"{written(name)}:{value}" for name, value in values.items()) + "}"


def _cell_members(cell: CellRecord) -> Members:
    shown = {
        "output": None if cell.output is None else written(cell.output),
        "fields": cell.fields,
        "status": written(cell.status),
        "error": None if cell.error is None else written(cell.error),
        "latency_ms": None if cell.latency_ms is None else str(cell.latency_ms),
        "input_tokens": None if cell.input_tokens is None else str(cell.input_tokens),
        "output_tokens": None if cell.output_tokens is None else str(cell.output_tokens),
        "cost": None if cell.cost is None else written(str(cell.cost)),
    }
    return {name: value for name, value in shown.items() if value is not None}


def _cell_cells(cell: CellRecord) -> Line:
    measures = (getattr(cell, name) for name in MEASURES)
    return [
        cell.fields if cell.output is None else cell.output,
        *(None if value is None else str(value) for value in measures),
    ]
