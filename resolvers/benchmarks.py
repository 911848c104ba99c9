"""Benchmarks and their tracks: made, changed and taken away, with nothing that a person locked lost unasked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Row, and_, delete, func, insert, select, update

from models import Agent, Benchmark, LanguageModel, Track
from models.base import AgentKind, ExpectedOutputChange, FieldType, Origin, ReasonCode, table
from resolvers.acting import Acting
from resolvers.capture import Switched, require_track, switch
from resolvers.errors import Conflict, Duplicate, InvalidInput, Locked, NotFound, Subject
from resolvers.forms import identity, require_text
from resolvers.sql import among
from resolvers.tables import alone, benchmarks, cells, changed, fields, rows, told, topic, tracks, values

agents, models = table(Agent), table(LanguageModel)


@dataclass(frozen=True, slots=True)
class FieldGiven:
    """A field as a caller defines it."""

    name: str
    type: FieldType
    description: str | None


@dataclass(frozen=True, slots=True)
class Removed:
    """What the removal of a track took along, and what became of the ground truth it had captured."""

    benchmark_pk: int
    cells: int
    switched: Switched


async def create(
    acting: Acting,
    *,
    name: str,
    kind: AgentKind,
    agent_id: str | None,
    description: str | None,
    given: Sequence[FieldGiven],
    auto_capture: bool,
) -> int:
    require_text(name, ("name",))
    _require_fields(kind, given)
    await _require_free_name(acting, name, None)
    agent_pk = None if agent_id is None else await _agent(acting, agent_id)
    made = insert(benchmarks).values(
        name=name, kind=kind, agent_pk=agent_pk, description=description, auto_capture=auto_capture, version=1
    )
    key = int((await acting.connection.execute(made.returning(benchmarks.c.id))).scalar_one())
    await _define(acting, key, given)
    return key


async def change(
    acting: Acting,
    key: int,
    expected_version: int,
    *,
    changes: Mapping[str, Any],
    given: Sequence[FieldGiven] | None,
) -> int:
    """How many values went because their field was dropped or retyped."""
    benchmark = await alone(acting, key, expected_version, ("id",))
    if "name" in changes:
        require_text(changes["name"] or "", ("name",))
        await _require_free_name(acting, changes["name"], key)
    dropped = 0
    if given is not None:
        _require_fields(benchmark.kind, given)
        dropped = await _drop_values(acting, key, given)
        await acting.connection.execute(delete(fields).where(fields.c.benchmark_pk == key))
        await _define(acting, key, given)
    await changed(acting, benchmark, **changes)
    return dropped


async def remove(acting: Acting, key: int, expected_version: int, *, include_locked: bool) -> int:
    """How many rows went with the benchmark."""
    benchmark = await alone(acting, key, expected_version, ("id",))
    await require_unlocked(acting, rows.c.benchmark_pk == key, include_locked=include_locked)
    count = await acting.connection.scalar(select(func.count()).where(rows.c.benchmark_pk == key))
    await told(acting, ExpectedOutputChange.CLEARED, by_person=True)
    await acting.connection.execute(update(benchmarks).where(benchmarks.c.id == key).values(source_track_pk=None))
    await acting.connection.execute(delete(benchmarks).where(benchmarks.c.id == key))
    acting.topics.add(topic(benchmark.id))
    return int(count or 0)


async def require_unlocked(acting: Acting, which: ColumnElement[bool], *, include_locked: bool) -> None:
    """Rows with values that a person locked go only when the caller says so."""
    if include_locked:
        return
    held = (
        select(rows.c.id)
        .where(which, select(values.c.row_pk).where(values.c.row_pk == rows.c.id, values.c.locked).exists())
        .order_by(rows.c.id)
    )
    locked = (await acting.connection.execute(held)).scalars().all()
    if locked:
        raise Locked(f"{len(locked)} rows hold values that a person locked.", locked)


async def add_track(
    acting: Acting,
    benchmark_pk: int,
    model_pk: int,
    *,
    name: str | None,
    position: int | None,
    settings: Mapping[str, Any],
) -> int:
    """The first track is the source until someone chooses another."""
    benchmark = await _held(acting, benchmark_pk)
    model = await _model(acting, model_pk)
    _require_settings(settings)
    name = await _track_name(acting, benchmark_pk, name, model)
    place = await _make_place(acting, benchmark_pk, position)
    made = insert(tracks).values(
        benchmark_pk=benchmark_pk, model_pk=model_pk, name=name, position=place, version=1, **settings
    )
    key = int((await acting.connection.execute(made.returning(tracks.c.id))).scalar_one())
    if benchmark.source_track_pk is None:
        await changed(acting, benchmark, source_track_pk=key)
    acting.topics.add(topic(benchmark_pk))
    return key


async def change_track(acting: Acting, key: int, expected_version: int, changes: Mapping[str, Any]) -> int:
    track = await _track(acting, key, expected_version)
    settings = dict(changes)
    _require_settings(settings)
    if "model_pk" in settings:
        await _model(acting, settings["model_pk"])
    if "name" in settings:
        require_text(settings["name"] or "", ("name",))
        await _require_free_track(acting, track.benchmark_pk, settings["name"], key)
    if "position" in settings:
        settings["position"] = await _move(acting, track, settings["position"])
    await acting.connection.execute(
        update(tracks).where(tracks.c.id == key).values(version=track.version + 1, **settings)
    )
    acting.topics.add(topic(track.benchmark_pk))
    return key


async def remove_track(
    acting: Acting, key: int, expected_version: int, new_source: int | None, recapture: bool | None
) -> Removed:
    """Take a track away with its cells. The source is followed by another, while there is one."""
    track = await _track(acting, key, expected_version)
    benchmark = await _held(acting, track.benchmark_pk)
    others = select(tracks.c.id).where(tracks.c.benchmark_pk == benchmark.id, tracks.c.id != key)
    left = (await acting.connection.execute(others)).scalars().all()
    switched, source = Switched(), benchmark.source_track_pk
    if source == key and left:
        source = await _successor(acting, benchmark.id, key, new_source)
        switched = await switch(acting, benchmark, source, recapture)
    elif source == key:
        source = None
    count = await acting.connection.scalar(select(func.count()).where(cells.c.track_pk == key))
    await changed(acting, benchmark, source_track_pk=source)
    await acting.connection.execute(delete(tracks).where(tracks.c.id == key))
    return Removed(benchmark.id, int(count or 0), switched)


async def _successor(acting: Acting, benchmark_pk: int, going: int, new_source: int | None) -> int:
    path = ("new_source_track_id",)
    if new_source is None or new_source == going:
        message = "The source track goes and others remain: name the one that is the source from then on."
        raise InvalidInput(message, path, ReasonCode.INVALID_FIELD)
    await require_track(acting, benchmark_pk, new_source, path)
    return new_source


async def _held(acting: Acting, benchmark_pk: int) -> Row[Any]:
    found = select(benchmarks).where(benchmarks.c.id == benchmark_pk).with_for_update()
    row: Row[Any] | None = (await acting.connection.execute(found)).one_or_none()
    if row is None:
        raise NotFound("There is no such benchmark.", ("benchmark_id",))
    return row


async def _agent(acting: Acting, agent_id: str) -> int:
    require_text(agent_id, ("agent_id",))
    found = select(agents.c.id).where(agents.c.agent_id == agent_id, agents.c.retired_at.is_(None))
    if (key := await acting.connection.scalar(found)) is None:
        raise NotFound(f"No agent {agent_id} is registered.", ("agent_id",))
    return int(key)


async def _model(acting: Acting, model_pk: int) -> Row[Any]:
    row: Row[Any] | None = (
        await acting.connection.execute(select(models).where(models.c.id == model_pk))
    ).one_or_none()
    if row is None:
        raise NotFound("There is no such model.", ("model_id",))
    return row


async def _track(acting: Acting, key: int, expected_version: int) -> Row[Any]:
    """The track, its benchmark held alone before it: the order of all who hold both."""
    owner = await acting.connection.scalar(select(tracks.c.benchmark_pk).where(tracks.c.id == key))
    if owner is None:
        raise NotFound("There is no such track.", ("id",))
    await _held(acting, owner)
    row: Row[Any] | None = (await acting.connection.execute(select(tracks).where(tracks.c.id == key))).one_or_none()
    if row is None:
        raise NotFound("There is no such track.", ("id",))
    if row.version != expected_version:
        raise Conflict("The track was changed since that version.", Subject(Track, key), row.version)
    return row


async def _require_free_name(acting: Acting, name: str, own: int | None) -> None:
    taken = await acting.connection.scalar(select(benchmarks.c.id).where(benchmarks.c.name == name))
    if taken is not None and taken != own:
        raise Duplicate(f"A benchmark {name} exists.", Subject(Benchmark, taken))


async def _require_free_track(acting: Acting, benchmark_pk: int, name: str, own: int | None) -> None:
    same = select(tracks.c.id).where(tracks.c.benchmark_pk == benchmark_pk, tracks.c.name == name)
    taken = await acting.connection.scalar(same)
    if taken is not None and taken != own:
        raise Duplicate(f"The benchmark has a track {name}.", Subject(Track, taken))


async def _track_name(acting: Acting, benchmark_pk: int, name: str | None, model: Row[Any]) -> str:
    """The name given, which must be free; else the model's, with a number where that is taken."""
    if name is not None:
        require_text(name, ("name",))
        await _require_free_track(acting, benchmark_pk, name, None)
        return name
    held = select(tracks.c.name).where(tracks.c.benchmark_pk == benchmark_pk)
    taken = set((await acting.connection.execute(held)).scalars())
    number, free = 1, str(model.name)
    while free in taken:
        number += 1
        free = f"{model.name} {number}"
    return free


async def _make_place(acting: Acting, benchmark_pk: int, position: int | None) -> int:
    """A position among the tracks; those from there on move one further."""
    held = select(func.count()).where(tracks.c.benchmark_pk == benchmark_pk)
    count = int((await acting.connection.execute(held)).scalar_one())
    place = count if position is None else min(position, count)
    if place < 0:
        raise InvalidInput("A position is 0 or more.", ("position",), ReasonCode.INVALID_FIELD)
    await _shift(acting, and_(tracks.c.benchmark_pk == benchmark_pk, tracks.c.position >= place), 1)
    return place


async def _move(acting: Acting, track: Row[Any], position: int | None) -> int:
    await _shift(acting, and_(tracks.c.benchmark_pk == track.benchmark_pk, tracks.c.position > track.position), -1)
    held = select(func.count()).where(tracks.c.benchmark_pk == track.benchmark_pk, tracks.c.id != track.id)
    count = int((await acting.connection.execute(held)).scalar_one())
    place = count if position is None else min(position, count)
    if place < 0:
        raise InvalidInput("A position is 0 or more.", ("position",), ReasonCode.INVALID_FIELD)
    others = and_(tracks.c.benchmark_pk == track.benchmark_pk, tracks.c.id != track.id, tracks.c.position >= place)
    await _shift(acting, others, 1)
    return place


async def _shift(acting: Acting, which: ColumnElement[bool], by: int) -> None:
    await acting.connection.execute(update(tracks).where(which).values(position=tracks.c.position + by))


def _require_settings(settings: Mapping[str, Any]) -> None:
    for name, least, most in (("temperature", 0.0, 2.0), ("top_p", 0.0, 1.0)):
        value = settings.get(name)
        if value is not None and not least <= value <= most:
            raise InvalidInput(f"This must be from {least:g} to {most:g}.", (name,), ReasonCode.INVALID_FIELD)
    if settings.get("max_output_tokens") is not None and settings["max_output_tokens"] < 1:
        raise InvalidInput("This must be 1 or more.", ("max_output_tokens",), ReasonCode.INVALID_FIELD)
    if settings.get("system_prompt"):
        require_text(settings["system_prompt"], ("system_prompt",))


def _require_fields(kind: AgentKind, given: Sequence[FieldGiven]) -> None:
    if kind == AgentKind.CONVERSATION and given:
        raise InvalidInput("A conversation answers in text, not in fields.", ("fields",), ReasonCode.INVALID_FIELD)
    names: set[str] = set()
    for place, field in enumerate(given):
        path = ("fields", str(place), "name")
        if identity(field.name) is None:
            raise InvalidInput(
                "A name is text that says something, of at most 500 bytes.", path, ReasonCode.INVALID_FIELD
            )
        if field.name in names:
            raise InvalidInput("A field is named once.", path, ReasonCode.INVALID_FIELD)
        names.add(field.name)


async def _define(acting: Acting, key: int, given: Sequence[FieldGiven]) -> None:
    if given:
        await acting.connection.execute(
            insert(fields),
            [
                {
                    "benchmark_pk": key,
                    "name": field.name,
                    "position": place,
                    "type": field.type,
                    "description": field.description,
                }
                for place, field in enumerate(given)
            ],
        )


async def _drop_values(acting: Acting, key: int, given: Sequence[FieldGiven]) -> int:
    """The values of fields that are dropped or retyped go, unless a person locked one."""
    wanted = {field.name: field.type for field in given}
    held = await acting.connection.execute(select(fields.c.name, fields.c.type).where(fields.c.benchmark_pk == key))
    gone = [row.name for row in held if wanted.get(row.name) != row.type]
    if not gone:
        return 0
    affected = and_(
        among(values.c.field, gone), values.c.row_pk.in_(select(rows.c.id).where(rows.c.benchmark_pk == key))
    )
    locked = select(values.c.row_pk, values.c.field).where(affected, values.c.locked).order_by(values.c.row_pk)
    found = (await acting.connection.execute(locked)).all()
    if found:
        lost = sorted({row.field for row in found})
        message = f"A person locked values of {', '.join(lost)}."
        raise Locked(message, list(dict.fromkeys(row.row_pk for row in found)), lost)
    present = select(func.count()).where(affected, values.c.origin != Origin.EMPTY)
    count = int((await acting.connection.execute(present)).scalar_one())
    await told(acting, ExpectedOutputChange.CLEARED, by_person=False)
    await acting.connection.execute(delete(values).where(affected))
    return count
