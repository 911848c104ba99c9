"""Ground truth by hand: an edit locks what it touches, and only a person unlocks it."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import BigInteger, Integer, Row, Text, cast, func, literal, select, true, tuple_, update
from sqlalchemy.dialects.postgresql import insert

from models import ExpectedValue
from models.base import AgentKind, ExpectedOutputChange, FieldType, JsonText, Origin, ReasonCode
from resolvers.acting import Acting
from resolvers.errors import Conflict, InvalidInput, Named, NotFound, Subject
from resolvers.forms import require_storable
from resolvers.sql import among, sent
from resolvers.tables import field_types, locked_rows, revisions, rows, shared, told, topic, values
from resolvers.values import fault_of, written

# Under which a conversation's text is kept.
TEXT = ""

# What a person says: values by field, as the columns `text` and `value` hold them. Neither is an emptied value.
Edits = Mapping[str, tuple[str | None, str | None]]

GIVEN: Mapping[str, Any] = {
    "row_pk": BigInteger(),
    "field": Text(),
    "text": Text(),
    "value": JsonText(),
    "edited_revision": Integer(),
}


async def edit_text(acting: Acting, row_pk: int, expected_revision: int, text: str | None) -> int:
    """Store the text that a person says is right, and lock it; None empties it."""
    benchmark = await _benchmark_of(acting, row_pk, AgentKind.CONVERSATION)
    require_storable(text, ("text",))
    return await _edit(acting, benchmark, row_pk, expected_revision, {TEXT: (text, None)})


async def edit_fields(
    acting: Acting, row_pk: int, expected_revision: int, given: Mapping[str, Any], emptied: Sequence[str]
) -> int:
    """Store the fields that a person edited, and lock each; a null is a value, an emptied field is none."""
    benchmark = await _benchmark_of(acting, row_pk, AgentKind.AUTOMATION)
    types = await field_types(acting, benchmark.id)
    return await _edit(acting, benchmark, row_pk, expected_revision, field_edits(given, emptied, types))


def field_edits(
    given: Mapping[str, Any],
    emptied: Sequence[str],
    types: Mapping[str, FieldType],
    path: tuple[str, ...] = ("fields",),
) -> Edits:
    named = {**given, **dict.fromkeys(emptied)}
    if not named:
        raise InvalidInput("At least one field must be given.", path, ReasonCode.INVALID_FIELD)
    if fault := fault_of(named, types):
        raise InvalidInput(fault[1], (*path, Named(fault[0])), ReasonCode.INVALID_FIELD)
    return {
        **{name: (None, written(value)) for name, value in given.items()},
        **dict.fromkeys(emptied, (None, None)),
    }


async def unlock(acting: Acting, row_pk: int, expected_revision: int, fields: Sequence[str] | None) -> int:
    """Free values for later captures. They stay a person's, and no toggle clears them."""
    benchmark = await _benchmark_of(acting, row_pk, None)
    types = await field_types(acting, benchmark.id)
    if unknown := [name for name in fields or () if name not in types]:
        raise InvalidInput(f"The benchmark has no field {unknown[0]}.", ("fields",), ReasonCode.INVALID_FIELD)
    held = await _held(acting, row_pk)
    names = [name for name in held if fields is None or name in fields]
    revision = await _unseen_by(acting, row_pk, expected_revision, [held[name] for name in names])
    await told(acting, ExpectedOutputChange.UNLOCKED, by_person=True)
    await acting.connection.execute(
        update(values)
        .where(values.c.row_pk == row_pk, among(values.c.field, names), values.c.locked)
        .values(locked=False, edited_revision=revision + 1)
    )
    acting.topics.add(topic(benchmark.id))
    return row_pk


async def _edit(acting: Acting, benchmark: Row[Any], row_pk: int, expected_revision: int, edits: Edits) -> int:
    held = await _held(acting, row_pk)
    touched = [held[name] for name in edits if name in held]
    revision = await _unseen_by(acting, row_pk, expected_revision, touched)
    await told(acting, ExpectedOutputChange.EDITED, by_person=True)
    await write(acting, {(row_pk, name): edit for name, edit in edits.items()}, {row_pk: revision + 1})
    acting.topics.add(topic(benchmark.id))
    return row_pk


async def write(
    acting: Acting, edits: Mapping[tuple[int, str], tuple[str | None, str | None]], revision_of: Mapping[int, int]
) -> None:
    """Values of a person, all locked, in one statement; equal ones are not touched."""
    given = sent(
        "given",
        GIVEN,
        [(row_pk, name, *edit, revision_of[row_pk]) for (row_pk, name), edit in edits.items()],
    )
    said = {
        **{name: given.c[name] for name in GIVEN},
        "origin": literal(Origin.MANUAL.value),
        "locked": true(),
        "edited_by": literal(acting.actor),
        "edited_at": func.now(),
    }
    in_order = select(*said.values()).order_by(given.c.row_pk, given.c.field)
    insertion = insert(values).from_select(list(said), in_order, include_defaults=False)
    new = insertion.excluded
    await acting.connection.execute(
        insertion.on_conflict_do_update(
            index_elements=["row_pk", "field"],
            set_={
                "text": new.text,
                "value": new.value,
                "origin": new.origin,
                "locked": new.locked,
                "source_track_pk": None,
                "edited_by": new.edited_by,
                "edited_at": new.edited_at,
                "edited_revision": new.edited_revision,
            },
            where=_state(values.c).is_distinct_from(_state(new)),
        )
    )


def _state(columns: Any) -> Any:
    return tuple_(columns.text, cast(columns.value, Text), columns.origin, columns.locked)


async def _benchmark_of(acting: Acting, row_pk: int, kind: AgentKind | None) -> Row[Any]:
    """The benchmark, held shared, and the row after it."""
    owner = await acting.connection.scalar(select(rows.c.benchmark_pk).where(rows.c.id == row_pk))
    if owner is None:
        raise NotFound("There is no such row.", ("row_id",))
    benchmark = await shared(acting, owner, ("row_id",))
    if row_pk not in await locked_rows(acting, owner, [row_pk]):
        raise NotFound("There is no such row.", ("row_id",))
    if kind not in (None, benchmark.kind):
        given, wanted = ("text", "fields") if kind == AgentKind.CONVERSATION else ("fields", "text")
        message = f"The expected output of a benchmark of kind {benchmark.kind} is edited by its {wanted}."
        raise InvalidInput(message, (given,), ReasonCode.INVALID_FIELD)
    return benchmark


async def _held(acting: Acting, row_pk: int) -> dict[str, Row[Any]]:
    found = await acting.connection.execute(select(values).where(values.c.row_pk == row_pk))
    return {row.field: row for row in found}


async def _unseen_by(acting: Acting, row_pk: int, expected_revision: int, touched: Sequence[Row[Any]]) -> int:
    """The present revision, unless a person changed one of these values since the one that the caller saw."""
    last = select(func.coalesce(func.max(revisions.c.revision), 0)).where(revisions.c.row_pk == row_pk)
    revision = int((await acting.connection.execute(last)).scalar_one())
    if expected_revision > revision or any(row.edited_revision > expected_revision for row in touched):
        message = "A person changed these values since that revision."
        if expected_revision > revision:
            message = "The expected output has no such revision yet."
        raise Conflict(message, Subject(ExpectedValue, row_pk), revision)
    return revision
