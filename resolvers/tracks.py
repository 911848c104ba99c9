"""Tracks of a benchmark: one of them is the source of what is captured, until someone chooses another."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Row, and_, delete, func, insert, select, update

from models import LanguageModel, Track
from models.base import ExistingGroundTruth, ReasonCode, table
from resolvers.acting import Acting
from resolvers.capture import Switched, require_track, switch, unswitched
from resolvers.errors import Conflict, Duplicate, InvalidInput, NotFound, Subject
from resolvers.forms import require_identity, require_storable
from resolvers.tables import alone, cells, changed, topic, tracks

models = table(LanguageModel)


@dataclass(frozen=True, slots=True)
class Removed:
    """What the removal of a track took along, and what became of the ground truth it had captured."""

    benchmark_pk: int
    cells: int
    switched: Switched


async def add(
    acting: Acting,
    benchmark_pk: int,
    model_pk: int,
    *,
    name: str | None,
    position: int | None,
    settings: Mapping[str, Any],
) -> int:
    """The first track is the source until someone chooses another."""
    benchmark = await alone(acting, benchmark_pk)
    model = await _model(acting, model_pk)
    _require_settings(settings)
    name = await _free_name(acting, benchmark_pk, model) if name is None else name
    await _require_free(acting, benchmark_pk, name, None)
    place = await _make_place(acting, tracks.c.benchmark_pk == benchmark_pk, position)
    made = insert(tracks).values(
        benchmark_pk=benchmark_pk, model_pk=model_pk, name=name, position=place, version=1, **settings
    )
    key = int((await acting.connection.execute(made.returning(tracks.c.id))).scalar_one())
    if benchmark.source_track_pk is None:
        await changed(acting, benchmark, source_track_pk=key)
    acting.topics.add(topic(benchmark_pk))
    return key


async def change(acting: Acting, key: int, expected_version: int, changes: Mapping[str, Any]) -> int:
    """Change what is given of a track; null clears what can be without."""
    _, track = await _held(acting, key, expected_version)
    settings = dict(changes)
    _require_settings(settings)
    if "model_pk" in settings:
        await _model(acting, settings["model_pk"])
    if "name" in settings:
        await _require_free(acting, track.benchmark_pk, settings["name"] or "", key)
    if "position" in settings:
        settings["position"] = await _move(acting, track, settings["position"])
    await acting.connection.execute(
        update(tracks).where(tracks.c.id == key).values(version=track.version + 1, **settings)
    )
    acting.topics.add(topic(track.benchmark_pk))
    return key


async def remove(
    acting: Acting, key: int, expected_version: int, new_source: int | None, existing: ExistingGroundTruth | None
) -> Removed:
    """Take a track away with its cells. The source is followed by another, while there is one."""
    benchmark, track = await _held(acting, key, expected_version)
    if benchmark.source_track_pk == key:
        switched = await _succeed(acting, benchmark, key, new_source, existing)
    else:
        switched = await unswitched(acting, benchmark.id)
    count = await acting.connection.scalar(select(func.count()).where(cells.c.track_pk == key))
    await acting.connection.execute(delete(tracks).where(tracks.c.id == key))
    await _shift(acting, _after(track), -1)
    acting.topics.add(topic(benchmark.id))
    return Removed(benchmark.id, int(count or 0), switched)


async def _succeed(
    acting: Acting, benchmark: Row[Any], going: int, new_source: int | None, existing: ExistingGroundTruth | None
) -> Switched:
    others = select(tracks.c.id).where(tracks.c.benchmark_pk == benchmark.id, tracks.c.id != going).limit(1)
    if await acting.connection.scalar(others) is None:
        await changed(acting, benchmark, source_track_pk=None)
        return await unswitched(acting, benchmark.id)
    path = ("new_source_track_id",)
    if new_source is None or new_source == going:
        message = "The source track goes and others remain: name the one that is the source from then on."
        raise InvalidInput(message, path, ReasonCode.INVALID_FIELD)
    await require_track(acting, benchmark.id, new_source, path)
    switched = await switch(acting, benchmark, new_source, existing)
    await changed(acting, benchmark, source_track_pk=new_source)
    return switched


async def _held(acting: Acting, key: int, expected_version: int) -> tuple[Row[Any], Row[Any]]:
    """The benchmark and the track, the benchmark held first: the order of all who hold both."""
    missing = NotFound("There is no such track.", ("id",))
    owner = await acting.connection.scalar(select(tracks.c.benchmark_pk).where(tracks.c.id == key))
    if owner is None:
        raise missing
    benchmark = await alone(acting, owner, path=("id",))
    row: Row[Any] | None = (await acting.connection.execute(select(tracks).where(tracks.c.id == key))).one_or_none()
    if row is None:
        raise missing
    if row.version != expected_version:
        raise Conflict("The track was changed since that version.", Subject(Track, key), row.version)
    return benchmark, row


async def _model(acting: Acting, model_pk: int) -> Row[Any]:
    found = await acting.connection.execute(select(models).where(models.c.id == model_pk))
    row: Row[Any] | None = found.one_or_none()
    if row is None:
        raise NotFound("There is no such model.", ("model_id",))
    return row


async def _require_free(acting: Acting, benchmark_pk: int, name: str, own: int | None) -> None:
    require_identity(name, ("name",))
    same = select(tracks.c.id).where(tracks.c.benchmark_pk == benchmark_pk, tracks.c.name == name)
    taken = await acting.connection.scalar(same)
    if taken is not None and taken != own:
        raise Duplicate(f"The benchmark has a track {name}.", Subject(Track, taken))


async def _free_name(acting: Acting, benchmark_pk: int, model: Row[Any]) -> str:
    """The model's name, with a number where that is taken."""
    held = select(tracks.c.name).where(tracks.c.benchmark_pk == benchmark_pk)
    taken = set((await acting.connection.execute(held)).scalars())
    number, free = 1, str(model.name)
    while free in taken:
        number += 1
        free = f"{model.name} {number}"
    return free


async def _make_place(acting: Acting, among: ColumnElement[bool], position: int | None) -> int:
    """A position among these tracks, at most the last; those from there on move one further."""
    count = int((await acting.connection.execute(select(func.count()).where(among))).scalar_one())
    place = count if position is None else min(position, count)
    if place < 0:
        raise InvalidInput("A position is 0 or more.", ("position",), ReasonCode.INVALID_FIELD)
    await _shift(acting, and_(among, tracks.c.position >= place), 1)
    return place


async def _move(acting: Acting, track: Row[Any], position: int | None) -> int:
    await _shift(acting, _after(track), -1)
    others = and_(tracks.c.benchmark_pk == track.benchmark_pk, tracks.c.id != track.id)
    return await _make_place(acting, others, position)


def _after(track: Row[Any]) -> ColumnElement[bool]:
    return and_(tracks.c.benchmark_pk == track.benchmark_pk, tracks.c.position > track.position)


async def _shift(acting: Acting, which: ColumnElement[bool], by: int) -> None:
    await acting.connection.execute(update(tracks).where(which).values(position=tracks.c.position + by))


def _require_settings(settings: Mapping[str, Any]) -> None:
    for name, least, most in (("temperature", 0.0, 2.0), ("top_p", 0.0, 1.0)):
        value = settings.get(name)
        if value is not None and not least <= value <= most:
            raise InvalidInput(f"This must be from {least:g} to {most:g}.", (name,), ReasonCode.INVALID_FIELD)
    if settings.get("max_output_tokens") is not None and settings["max_output_tokens"] < 1:
        raise InvalidInput("This must be 1 or more.", ("max_output_tokens",), ReasonCode.INVALID_FIELD)
    require_storable(settings.get("system_prompt"), ("system_prompt",))
