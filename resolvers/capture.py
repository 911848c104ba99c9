"""Ground truth by itself: what successful answers of the source track leave, and what the toggle and a switch do.

Nothing here touches a locked value: each statement says so, and a trigger refuses it besides.
"""

from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Row,
    Text,
    and_,
    case,
    cast,
    exists,
    false,
    func,
    literal,
    null,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import insert

from models.base import (
    AgentKind,
    CellStatus,
    ExistingGroundTruth,
    ExpectedOutputChange,
    FieldType,
    JsonText,
    Origin,
    ReasonCode,
)
from resolvers.acting import Acting
from resolvers.errors import ConfirmationRequired, InvalidInput
from resolvers.tables import alone, cells, changed, fields, rows, told, tracks, values

# What Postgres calls the values of fields.
JSON_TYPES = {
    FieldType.STRING: "string",
    FieldType.NUMBER: "number",
    FieldType.BOOLEAN: "boolean",
    FieldType.DATE: "string",
    FieldType.LIST: "array",
    FieldType.OBJECT: "object",
}


@dataclass(frozen=True, slots=True)
class Switched:
    """How many rows a switch of the source touched; a row with several values can count in more than one."""

    recaptured: int = 0
    kept: int = 0
    locked: int = 0
    without_output: int = 0


def outputs(kind: AgentKind, track_pk: int, which: ColumnElement[bool]) -> FromClause:
    """The values that the successful cells of a track, as far as they are meant, would leave in their rows."""
    meant = and_(cells.c.track_pk == track_pk, cells.c.status == CellStatus.SUCCEEDED, which)
    if kind == AgentKind.CONVERSATION:
        found = select(
            cells.c.row_pk,
            literal("").label("field"),
            cells.c.output.label("text"),
            cast(null(), JsonText).label("value"),
        ).where(meant)
        return found.subquery("outputs")
    member = func.json_each(cells.c.fields).table_valued("key", "value").render_derived("member")
    return (
        select(
            cells.c.row_pk,
            member.c.key.label("field"),
            cast(null(), Text).label("text"),
            cast(member.c.value, JsonText).label("value"),
        )
        .select_from(
            cells.join(member, literal(True))
            .join(rows, rows.c.id == cells.c.row_pk)
            .join(fields, and_(fields.c.benchmark_pk == rows.c.benchmark_pk, fields.c.name == member.c.key))
        )
        .where(meant, _fits(member.c.value, fields.c.type))
        .subquery("outputs")
    )


def _fits(value: ColumnElement[Any], type_: ColumnElement[Any]) -> ColumnElement[bool]:
    """Whether a value that was stored under another type of its field would pass under the present one."""
    found = func.json_typeof(value)
    is_date = and_(
        cast(value, Text).regexp_match('^"[0-9]{4}-[0-9]{2}-[0-9]{2}"$'),
        func.pg_input_is_valid(func.btrim(cast(value, Text), '"'), "date"),
    )
    wanted = case(*((type_ == word, name) for word, name in JSON_TYPES.items()))
    return or_(found == "null", and_(found == wanted, or_(type_ != FieldType.DATE, is_date)))


async def store(acting: Acting, found: FromClause, track_pk: int, change: ExpectedOutputChange) -> None:
    """Make these outputs the expected values, where nobody locked them; equal ones of the same track stay."""
    await told(acting, change, by_person=False)
    insertion = insert(values).from_select(
        ["row_pk", "field", "text", "value", "origin", "locked", "source_track_pk", "edited_revision"],
        select(
            found.c.row_pk,
            found.c.field,
            found.c.text,
            found.c.value,
            literal(Origin.AUTO.value),
            false(),
            literal(track_pk),
            literal(0),
        ).order_by(found.c.row_pk, found.c.field),
    )
    new = insertion.excluded
    await acting.connection.execute(
        insertion.on_conflict_do_update(
            index_elements=["row_pk", "field"],
            set_={
                "text": new.text,
                "value": new.value,
                "origin": new.origin,
                "source_track_pk": new.source_track_pk,
                "edited_by": None,
                "edited_at": None,
            },
            where=and_(
                ~values.c.locked,
                tuple_(
                    values.c.text, cast(values.c.value, Text), values.c.origin, values.c.source_track_pk
                ).is_distinct_from(tuple_(new.text, cast(new.value, Text), new.origin, new.source_track_pk)),
            ),
        )
    )


async def toggle(acting: Acting, benchmark_pk: int, expected_version: int, enabled: bool) -> tuple[int, int]:
    """Rows cleared, and rows that keep values of a person. Locks outlive it either way."""
    benchmark = await alone(acting, benchmark_pk, expected_version)
    cleared = 0
    if not enabled and benchmark.kind == AgentKind.AUTOMATION:
        cleared = await _clear_captured(acting, benchmark_pk)
    await changed(acting, benchmark, auto_capture=enabled)
    return cleared, await _count(acting, benchmark_pk, values.c.origin == Origin.MANUAL)


async def _clear_captured(acting: Acting, benchmark_pk: int) -> int:
    captured = await _count(acting, benchmark_pk, values.c.origin == Origin.AUTO)
    await told(acting, ExpectedOutputChange.CLEARED, by_person=False)
    await acting.connection.execute(
        update(values)
        .where(_of(benchmark_pk), values.c.origin == Origin.AUTO, ~values.c.locked)
        .values(text=None, value=None, origin=Origin.EMPTY, source_track_pk=None)
    )
    return captured


async def switch(acting: Acting, benchmark: Row[Any], track_pk: int, existing: ExistingGroundTruth | None) -> Switched:
    """Make a track the source. `existing` says what becomes of captured values, and must where there are some.

    The benchmark is held alone by the caller, who writes its new source.
    """
    found = outputs(benchmark.kind, track_pk, _in_benchmark(benchmark.id))
    effect = await _effect(acting, benchmark.id, track_pk, found)
    if existing is None and await _count(acting, benchmark.id, _is_captured()):
        raise ConfirmationRequired(
            "The benchmark holds captured values: say whether they are captured anew or kept.",
            affected_rows=effect.recaptured,
            locked_rows=effect.locked,
            rows_without_output=effect.without_output,
        )
    if existing == ExistingGroundTruth.RECAPTURE:
        await store(acting, found, track_pk, ExpectedOutputChange.RECAPTURED)
        return effect
    return replace(await unswitched(acting, benchmark.id), without_output=effect.without_output)


async def unswitched(acting: Acting, benchmark_pk: int) -> Switched:
    """What stays where nothing is captured anew: all."""
    kept = await _count(acting, benchmark_pk, values.c.origin != Origin.EMPTY)
    return Switched(kept=kept, locked=await _count(acting, benchmark_pk, values.c.locked))


async def set_source(
    acting: Acting, benchmark_pk: int, expected_version: int, track_pk: int, existing: ExistingGroundTruth | None
) -> Switched:
    benchmark = await alone(acting, benchmark_pk, expected_version)
    await require_track(acting, benchmark_pk, track_pk, ("track_id",))
    done = await switch(acting, benchmark, track_pk, existing)
    await changed(acting, benchmark, source_track_pk=track_pk)
    return done


async def require_track(acting: Acting, benchmark_pk: int, track_pk: int, path: tuple[str, ...]) -> None:
    found = select(tracks.c.id).where(tracks.c.id == track_pk, tracks.c.benchmark_pk == benchmark_pk)
    if await acting.connection.scalar(found) is None:
        raise InvalidInput("The benchmark has no such track.", path, ReasonCode.INVALID_FIELD)


async def _effect(acting: Acting, benchmark_pk: int, track_pk: int, found: FromClause) -> Switched:
    """What capturing these outputs anew would do."""
    same = and_(values.c.row_pk == found.c.row_pk, values.c.field == found.c.field)
    open_to = select(found.c.row_pk).where(~exists(select(values.c.row_pk).where(same, values.c.locked)))
    replaced = exists(select(found.c.row_pk).where(same))
    answered = exists(
        select(cells.c.row_pk).where(
            cells.c.row_pk == rows.c.id, cells.c.track_pk == track_pk, cells.c.status == CellStatus.SUCCEEDED
        )
    )
    distinct = select(func.count(func.distinct(open_to.subquery("open_to").c.row_pk)))
    silent = select(func.count()).select_from(rows).where(rows.c.benchmark_pk == benchmark_pk, ~answered)
    stays = and_(~values.c.locked, values.c.origin != Origin.EMPTY, ~replaced)
    return Switched(
        recaptured=int((await acting.connection.execute(distinct)).scalar_one()),
        kept=await _count(acting, benchmark_pk, stays),
        locked=await _count(acting, benchmark_pk, values.c.locked),
        without_output=int((await acting.connection.execute(silent)).scalar_one()),
    )


async def _count(acting: Acting, benchmark_pk: int, which: ColumnElement[bool]) -> int:
    """Rows with such a value."""
    count = select(func.count(func.distinct(values.c.row_pk))).where(_of(benchmark_pk), which)
    return int((await acting.connection.execute(count)).scalar_one())


def _is_captured() -> ColumnElement[bool]:
    return and_(values.c.origin == Origin.AUTO, ~values.c.locked)


def _of(benchmark_pk: int) -> ColumnElement[bool]:
    return values.c.row_pk.in_(select(rows.c.id).where(rows.c.benchmark_pk == benchmark_pk))


def _in_benchmark(benchmark_pk: int) -> ColumnElement[bool]:
    return cells.c.row_pk.in_(select(rows.c.id).where(rows.c.benchmark_pk == benchmark_pk))
