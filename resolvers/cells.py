"""Answers that were generated elsewhere: stored whole or named as wrong, and captured by the same rules as runs'."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Row,
    Text,
    and_,
    cast,
    func,
    select,
    tuple_,
)
from sqlalchemy.dialects.postgresql import insert

from models.base import AgentKind, CellErrorKind, CellStatus, ExpectedOutputChange, FieldType, JsonText
from resolvers.acting import Acting
from resolvers.capture import outputs, store
from resolvers.forms import storable_text
from resolvers.sql import among
from resolvers.tables import cells, field_types, locked_rows, shared, topic, tracks, values
from resolvers.values import fault_of, written

MOST_CELLS = 1_000
LARGEST_COUNT = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Answer:
    """What one track answered to one row: an output, fields, or an error alone."""

    row_pk: int
    track_pk: int
    output: str | None = None
    fields: Any = None
    error: str | None = None
    latency_ms: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Recorded:
    """Why each answer was not stored, or None; and what capture did."""

    faults: list[str | None]
    captured: int
    locked_skipped: int


async def record(acting: Acting, benchmark_pk: int, answers: Sequence[Answer]) -> Recorded:
    benchmark = await shared(acting, benchmark_pk)
    types = await field_types(acting, benchmark_pk)
    known_tracks = set(
        (await acting.connection.execute(select(tracks.c.id).where(tracks.c.benchmark_pk == benchmark_pk))).scalars()
    )
    known_rows = await locked_rows(acting, benchmark_pk, (answer.row_pk for answer in answers))
    taken: set[tuple[int, int]] = set()
    faults: list[str | None] = []
    sound: list[Answer] = []
    for answer in answers:
        place = (answer.row_pk, answer.track_pk)
        fault = _place_fault(place, known_rows, known_tracks, taken) or _fault(answer, benchmark.kind, types)
        faults.append(fault)
        if fault is None:
            taken.add(place)
            sound.append(answer)
    captured, skipped = 0, 0
    if sound:
        await _store(acting, sound)
        captured, skipped = await _capture(acting, benchmark, sound)
        acting.topics.add(topic(benchmark_pk))
    return Recorded(faults, captured, skipped)


def _place_fault(
    place: tuple[int, int], known_rows: set[int], known_tracks: set[int], taken: set[tuple[int, int]]
) -> str | None:
    if place[0] not in known_rows:
        return "The benchmark has no such row."
    if place[1] not in known_tracks:
        return "The benchmark has no such track."
    return "This cell is given twice." if place in taken else None


def _fault(answer: Answer, kind: AgentKind, types: Mapping[str, FieldType]) -> str | None:
    given = [name for name in ("output", "fields", "error") if getattr(answer, name) is not None]
    wanted = "output" if kind == AgentKind.CONVERSATION else "fields"
    if given not in ([wanted], ["error"]):
        return f"A cell of a benchmark of kind {kind} takes its {wanted}, or an error alone."
    if any(storable_text(text) is None for text in (answer.output, answer.error) if text is not None):
        return "Text cannot hold NUL or half of a surrogate pair."
    if wanted in given and kind == AgentKind.AUTOMATION:
        if not isinstance(answer.fields, dict):
            return "fields must be an object of values by the names of fields."
        if fault := fault_of(answer.fields, types):
            return fault[1]
        if _is_unspeakable(answer.fields):
            return "Text cannot hold half of a surrogate pair."
    return _measure_fault(answer)


def _is_unspeakable(value: Any) -> bool:
    try:
        written(value).encode()
    except UnicodeEncodeError:
        return True
    return False


def _measure_fault(answer: Answer) -> str | None:
    for name in ("latency_ms", "input_tokens", "output_tokens", "cost"):
        measure = getattr(answer, name)
        if measure is not None and measure < 0:
            return f"{name} must be 0 or more."
    return None


def _status(answer: Answer) -> CellStatus:
    """A blank answer was made and paid for, but says nothing."""
    if answer.error is not None:
        return CellStatus.FAILED
    says = answer.fields if answer.output is None else answer.output.strip()
    return CellStatus.SUCCEEDED if says else CellStatus.EMPTY


def _row(answer: Answer) -> dict[str, Any]:
    status = _status(answer)
    succeeded = status == CellStatus.SUCCEEDED
    return {
        "row_pk": answer.row_pk,
        "track_pk": answer.track_pk,
        "status": status,
        "output": answer.output if succeeded else None,
        "fields": written(answer.fields) if succeeded and answer.fields is not None else None,
        "error_kind": CellErrorKind.EXTERNAL if status == CellStatus.FAILED else None,
        "error_message": answer.error,
        "error_attempts": 1 if status == CellStatus.FAILED else None,
        "latency_ms": answer.latency_ms,
        "input_tokens": answer.input_tokens,
        "output_tokens": answer.output_tokens,
        "cost": answer.cost,
        "revision": 1,
    }


async def _store(acting: Acting, answers: Sequence[Answer]) -> None:
    """All in one statement; an answer that is there already is not touched."""
    insertion = insert(cells).values(sorted(map(_row, answers), key=lambda row: (row["row_pk"], row["track_pk"])))
    new = insertion.excluded
    names = [name for name in _row(answers[0]) if name not in ("row_pk", "track_pk", "revision")]
    await acting.connection.execute(
        insertion.on_conflict_do_update(
            index_elements=["row_pk", "track_pk"],
            set_={
                **{name: new[name] for name in names},
                "revision": cells.c.revision + 1,
                "updated_at": func.now(),
            },
            where=tuple_(*(_comparable(cells.c[name]) for name in names)).is_distinct_from(
                tuple_(*(_comparable(new[name]) for name in names))
            ),
        )
    )


def _comparable(column: ColumnElement[Any]) -> ColumnElement[Any]:
    return cast(column, Text) if isinstance(column.type, JsonText) else column


async def _capture(acting: Acting, benchmark: Row[Any], answers: Sequence[Answer]) -> tuple[int, int]:
    """Rows whose ground truth is now their answer, and rows of which some value was locked."""
    source = benchmark.source_track_pk
    answered = [
        answer.row_pk for answer in answers if answer.track_pk == source and _status(answer) == CellStatus.SUCCEEDED
    ]
    if not benchmark.auto_capture or not answered:
        return 0, 0
    found = outputs(benchmark.kind, source, among(cells.c.row_pk, answered))
    await store(acting, found, source, ExpectedOutputChange.CAPTURED)
    same = and_(values.c.row_pk == found.c.row_pk, values.c.field == found.c.field)
    counts = select(
        func.count(func.distinct(found.c.row_pk)).filter(~values.c.locked),
        func.count(func.distinct(found.c.row_pk)).filter(values.c.locked),
    ).join_from(found, values, same)
    captured, skipped = (await acting.connection.execute(counts)).one()
    return captured, skipped
