"""Rows of a benchmark between files and the database."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from models.base import AgentKind, FieldType, Origin

# What a file says of a row.
NAMES: Final = ("key", "input", "expected_output", "files", "origin", "locked")
# A conversation's text stands under this name.
TEXT: Final = ""


@dataclass(frozen=True, slots=True)
class Table:
    """What rows are read and written for."""

    pk: int
    name: str
    kind: AgentKind
    # The types of an automation's fields, in their order.
    fields: Mapping[str, FieldType]


@dataclass(frozen=True, slots=True)
class ValueRecord:
    """An expected value: `text` of a conversation, `value` as JSON text of a field; neither where it was emptied."""

    text: str | None
    value: str | None
    origin: Origin
    locked: bool


@dataclass(frozen=True, slots=True)
class RowRecord:
    """A row, and in which line of a file it stands; 0 where it comes from no file."""

    line: int
    key: str | None
    input: str
    # The digest and the name of each.
    files: tuple[tuple[str, str], ...] = ()
    expected: Mapping[str, ValueRecord] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ScoreRecord:
    """A score of a metric's variable: one of the values where it is SCORED, none otherwise."""

    metric: str
    variable: str
    status: str
    stale: bool
    number: float | None
    boolean: bool | None
    text: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class CellRecord:
    """What a track answered to a row: `fields` is JSON text."""

    track: str
    status: str
    output: str | None
    fields: str | None
    error: str | None
    latency_ms: int | None
    input_tokens: int | None
    output_tokens: int | None
    cost: Decimal | None
    # By metric and variable.
    scores: Mapping[tuple[str, str], ScoreRecord] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row with a cell for every track."""

    row: RowRecord
    cells: tuple[CellRecord, ...]
