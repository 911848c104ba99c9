"""Answers that were generated elsewhere: stored whole or named as wrong, and captured by the same rules as runs'."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Integer, Numeric, Row, Text, and_, cast, func, literal, select, tuple_
from sqlalchemy.dialects.postgresql import insert

from models.base import AgentKind, CellErrorKind, CellStatus, ExpectedOutputChange, FieldType, JsonText, ReasonCode
from resolvers.acting import Acting
from resolvers.capture import outputs, store
from resolvers.errors import InvalidInput
from resolvers.forms import UNSTORABLE, storable_text
from resolvers.sql import among, sent
from resolvers.tables import cells, field_types, locked_rows, shared, topic, tracks, values
from resolvers.values import MONEY, fault_of, is_money, written

MOST_CELLS = 1_000
WHAT: Mapping[str, Any] = {
    "status": Text(),
    "output": Text(),
    "fields": JsonText(),
    "error_kind": Text(),
    "error_message": Text(),
    "error_attempts": Integer(),
    "latency_ms": Integer(),
    "input_tokens": Integer(),
    "output_tokens": Integer(),
    "cost": Numeric(),
    "run_pk": BigInteger(),
}
COLUMNS: Mapping[str, Any] = {"row_pk": BigInteger(), "track_pk": BigInteger(), **WHAT}


@dataclass(frozen=True, slots=True)
class Answer:
    """What one track answered to one row: an output, fields, or an error alone. No key is nobody's."""

    row_pk: int | None
    track_pk: int | None
    output: str | None = None
    fields: Any = None
    error: str | None = None
    latency_ms: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: Decimal | None = None
    error_kind: CellErrorKind = CellErrorKind.EXTERNAL
    error_attempts: int = 1
    # The run that asked for it.
    run_pk: int | None = None

    @property
    def status(self) -> CellStatus:
        """A blank answer was made and paid for, but says nothing."""
        if self.error is not None:
            return CellStatus.FAILED
        says = self.fields if self.output is None else self.output.strip()
        return CellStatus.SUCCEEDED if says else CellStatus.EMPTY


@dataclass(frozen=True, slots=True)
class Kept:
    """The rows whose ground truth is now their answer, and the rows of which some value was locked."""

    captured: frozenset[int] = frozenset()
    locked: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Recorded:
    """Why each answer was not stored, or None; and what capture did."""

    faults: list[str | None]
    captured: int
    locked_skipped: int


async def record(acting: Acting, benchmark_pk: int, answers: Sequence[Answer]) -> Recorded:
    if len(answers) > MOST_CELLS:
        message = f"At most {MOST_CELLS} cells can be sent at once, not {len(answers)}."
        raise InvalidInput(message, ("cells",), ReasonCode.INVALID_FIELD)
    benchmark = await shared(acting, benchmark_pk)
    types = await field_types(acting, benchmark_pk)
    its_tracks = select(tracks.c.id).where(tracks.c.benchmark_pk == benchmark_pk)
    known_tracks = set((await acting.connection.execute(its_tracks)).scalars())
    named = [answer.row_pk for answer in answers if answer.row_pk is not None]
    known_rows = await locked_rows(acting, benchmark_pk, named)
    taken: set[tuple[int | None, int | None]] = set()
    faults: list[str | None] = []
    sound: list[Answer] = []
    for answer in answers:
        place = (answer.row_pk, answer.track_pk)
        fault = _place_fault(place, known_rows, known_tracks, taken) or _fault(answer, benchmark.kind, types)
        faults.append(fault)
        if fault is None:
            taken.add(place)
            sound.append(answer)
    kept = await keep(acting, benchmark, sound) if sound else Kept()
    return Recorded(faults, len(kept.captured), len(kept.locked))


async def keep(acting: Acting, benchmark: Row[Any], answers: Sequence[Answer]) -> Kept:
    """Store answers to rows that the caller holds in a benchmark that it holds shared, and capture the source's."""
    await _store(acting, answers)
    acting.topics.add(topic(benchmark.id))
    return await _capture(acting, benchmark, answers)


def _place_fault(
    place: tuple[int | None, int | None],
    known_rows: set[int],
    known_tracks: set[int],
    taken: set[tuple[int | None, int | None]],
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
        return UNSTORABLE
    if answer.fields is not None and not isinstance(answer.fields, dict):
        return "fields must be an object of values by the names of fields."
    if fault := fault_of(answer.fields or {}, types):
        return fault[1]
    return _measure_fault(answer)


def _measure_fault(answer: Answer) -> str | None:
    for name in ("latency_ms", "input_tokens", "output_tokens"):
        measure = getattr(answer, name)
        if measure is not None and measure < 0:
            return f"{name} must be 0 or more."
    if answer.cost is not None and not is_money(answer.cost):
        return f"cost must be {MONEY}."
    return None


def _row(answer: Answer) -> tuple[Any, ...]:
    """In the order of `COLUMNS`."""
    is_kept, is_failure = answer.status == CellStatus.SUCCEEDED, answer.status == CellStatus.FAILED
    return (
        answer.row_pk,
        answer.track_pk,
        answer.status.value,
        answer.output if is_kept else None,
        written(answer.fields) if is_kept and answer.fields is not None else None,
        answer.error_kind.value if is_failure else None,
        answer.error,
        answer.error_attempts if is_failure else None,
        answer.latency_ms,
        answer.input_tokens,
        answer.output_tokens,
        answer.cost,
        answer.run_pk,
    )


async def _store(acting: Acting, answers: Sequence[Answer]) -> None:
    """All in one statement; an answer that is there already is not touched."""
    given = sent("given", COLUMNS, [_row(answer) for answer in answers])
    answered = select(*given.c, literal(1)).order_by(given.c.row_pk, given.c.track_pk)
    insertion = insert(cells).from_select([*COLUMNS, "revision"], answered, include_defaults=False)
    new = insertion.excluded
    await acting.connection.execute(
        insertion.on_conflict_do_update(
            index_elements=["row_pk", "track_pk"],
            set_={
                **{name: new[name] for name in WHAT},
                "revision": cells.c.revision + 1,
                "updated_at": func.now(),
            },
            where=_what(cells.c).is_distinct_from(_what(new)),
        )
    )


def _what(columns: Any) -> ColumnElement[Any]:
    return tuple_(*(_comparable(columns[name]) for name in WHAT))


def _comparable(column: ColumnElement[Any]) -> ColumnElement[Any]:
    return cast(column, Text) if isinstance(column.type, JsonText) else column


async def _capture(acting: Acting, benchmark: Row[Any], answers: Sequence[Answer]) -> Kept:
    source = benchmark.source_track_pk
    answered = [
        answer.row_pk for answer in answers if answer.track_pk == source and answer.status == CellStatus.SUCCEEDED
    ]
    if not benchmark.auto_capture or not answered:
        return Kept()
    found = outputs(benchmark.kind, source, among(cells.c.row_pk, answered))
    await store(acting, found, source, ExpectedOutputChange.CAPTURED)
    same = and_(values.c.row_pk == found.c.row_pk, values.c.field == found.c.field)
    held = select(found.c.row_pk, values.c.locked).join_from(found, values, same).distinct()
    rows = (await acting.connection.execute(held)).all()
    return Kept(
        frozenset(row.row_pk for row in rows if not row.locked), frozenset(row.row_pk for row in rows if row.locked)
    )
