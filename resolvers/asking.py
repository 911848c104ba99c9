"""What models are asked: the inputs and settings that were fixed when the run started, and the files of rows."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, Select, Text, and_, cast, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from models import File, RunInput, RunInputFile, RunItem, RunTrack
from models.base import AgentKind, FieldType, table
from resolvers.queue import Held
from resolvers.sql import among
from resolvers.tables import benchmarks, fields, tracks

items, inputs, input_files = table(RunItem), table(RunInput), table(RunInputFile)
run_tracks, files = table(RunTrack), table(File)

UNKNOWN_TYPE = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class FileNamed:
    sha256: str
    name: str
    media_type: str


@dataclass(frozen=True, slots=True)
class FieldAsked:
    name: str
    type: FieldType
    description: str | None


@dataclass(frozen=True, slots=True)
class Question:
    """`settings` is the track's row in the run: its model, and how that is asked."""

    kind: AgentKind
    input: str
    settings: Row[Any]
    fields: Sequence[FieldAsked]
    files: Sequence[FileNamed]


async def questions(connection: AsyncConnection, held: Sequence[Held]) -> dict[int, Question]:
    """By item; those whose row or track is gone are missing."""
    found = await connection.execute(_questions().where(among(items.c.id, [item.id for item in held])))
    return {row.id: _question(row) for row in found}


def _questions() -> Select[Any]:
    settings = and_(run_tracks.c.run_pk == items.c.run_pk, run_tracks.c.track_pk == items.c.track_pk)
    its_input = and_(inputs.c.run_pk == items.c.run_pk, inputs.c.row_pk == items.c.row_pk)
    joined = (
        items.join(run_tracks, settings)
        .join(inputs, its_input)
        .join(tracks, tracks.c.id == items.c.track_pk)
        .join(benchmarks, benchmarks.c.id == tracks.c.benchmark_pk)
    )
    field = func.json_build_array(fields.c.name, fields.c.type, fields.c.description, fields.c.position)
    its_fields = select(cast(func.json_agg(field), Text)).where(fields.c.benchmark_pk == benchmarks.c.id)
    return select(
        items.c.id,
        benchmarks.c.kind,
        inputs.c.input,
        *(column for column in run_tracks.c if column.name not in ("run_pk", "name")),
        its_fields.scalar_subquery().label("fields"),
        _files().label("files"),
    ).select_from(joined)


def _files() -> Any:
    file = func.json_build_array(
        input_files.c.position,
        input_files.c.sha256,
        input_files.c.name,
        func.coalesce(files.c.media_type, UNKNOWN_TYPE),
    )
    return (
        select(cast(func.json_agg(file), Text))
        .select_from(input_files.join(files, files.c.sha256 == input_files.c.sha256))
        .where(input_files.c.run_pk == items.c.run_pk, input_files.c.row_pk == items.c.row_pk)
        .correlate(items)
        .scalar_subquery()
    )


def _question(row: Row[Any]) -> Question:
    its_fields = sorted(json.loads(row.fields or "[]"), key=lambda field: field[3])
    return Question(
        row.kind,
        row.input,
        row,
        [FieldAsked(name, FieldType(type_), description) for name, type_, description, _ in its_fields],
        _named(row.files),
    )


def _named(files: str | None) -> list[FileNamed]:
    return [FileNamed(*rest) for _, *rest in sorted(json.loads(files or "[]"))]


async def files_of(connection: AsyncConnection, held: Sequence[Held]) -> Mapping[int, Sequence[FileNamed]]:
    """The files of the items' rows, as they were when the run started."""
    found = select(items.c.id, _files().label("files")).where(among(items.c.id, [item.id for item in held]))
    return {row.id: _named(row.files) for row in await connection.execute(found)}
