"""What it costs to capture 10,000 rows anew and to clear them, beside an UPDATE of as many values."""

import statistics
from collections.abc import Awaitable, Callable, Mapping
from time import perf_counter

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from bench.databases import database
from bench.report import Figure
from models.base import ExistingGroundTruth
from resolvers import capture
from resolvers.acting import Acting
from server.database import write_engine

ROWS = 10_000
ROUNDS = 5
MOST = 3.0
BARE, KEPT = "UPDATE, no triggers", "UPDATE, history kept"
SWITCH, TOGGLE = "switch with RECAPTURE", "toggle off"

Work = Callable[[AsyncConnection], Awaitable[object]]

FILL = """
INSERT INTO models (name, provider, model_name, max_concurrency, version) VALUES ('m', 'openai', 'm', 8, 1);
INSERT INTO benchmarks (name, kind, auto_capture, version) VALUES ('b', '{kind}', true, 1);
INSERT INTO benchmark_fields (benchmark_pk, name, position, type)
SELECT 1, field, place, 'STRING' FROM unnest(ARRAY['answer', 'reason']) WITH ORDINALITY AS its (field, place)
WHERE '{kind}' = 'AUTOMATION';
INSERT INTO tracks (benchmark_pk, position, name, model_pk, version) VALUES (1, 0, 'a', 1, 1), (1, 1, 'b', 1, 1);
UPDATE benchmarks SET source_track_pk = 1;
INSERT INTO benchmark_rows (benchmark_pk, position, input, version)
SELECT 1, place, 'What about ' || place, 1 FROM generate_series(0, {rows} - 1) place;
INSERT INTO cells (row_pk, track_pk, status, {column}, revision)
SELECT benchmark_rows.id, tracks.id, 'SUCCEEDED', {answer}, 1 FROM benchmark_rows, tracks;
ANALYZE;
"""
SAID = "'Answer ' || tracks.name || benchmark_rows.position || repeat(' word', 10)"
ANSWERS = {
    "CONVERSATION": ("output", SAID),
    "AUTOMATION": ("fields", f"json_build_object('answer', {SAID}, 'reason', {SAID})"),
}
# The same columns change, as often, where no trigger keeps a history: with the table's keys, checks and indexes.
PLAIN = """
CREATE TABLE plain_values (LIKE expected_values INCLUDING ALL);
ALTER TABLE plain_values ADD FOREIGN KEY (row_pk) REFERENCES benchmark_rows, ADD FOREIGN KEY (source_track_pk)
REFERENCES tracks;
INSERT INTO plain_values SELECT * FROM expected_values;
ANALYZE plain_values;
"""
UPDATE = {
    "CONVERSATION": "UPDATE {table} SET text = text || '.', source_track_pk = 3 - source_track_pk",
    "AUTOMATION": (
        "UPDATE {table} SET value = to_json((value #>> '{{}}') || '.'), source_track_pk = 3 - source_track_pk"
    ),
}


async def timed(engine: AsyncEngine, work: Work) -> float:
    began = perf_counter()
    async with engine.begin() as connection:
        await work(connection)
    return perf_counter() - began


def recapture(track: int, version: int) -> Work:
    return lambda connection: capture.set_source(
        Acting(connection, "bench"), 1, version, track, ExistingGroundTruth.RECAPTURE
    )


def toggle(enabled: bool, version: int) -> Work:
    return lambda connection: capture.toggle(Acting(connection, "bench"), 1, version, enabled)


def rewrite(kind: str, table: str) -> Work:
    statement = text(UPDATE[kind].format(table=table))
    return lambda connection: connection.execute(statement)


async def run(connection: AsyncConnection, script: str) -> None:
    for statement in script.split(";\n"):
        await connection.exec_driver_sql(statement)


async def compare(dsn: str) -> list[Figure]:
    return [figure for kind in ANSWERS for figure in await compare_kind(dsn, kind)]


async def compare_kind(dsn: str, kind: str) -> list[Figure]:
    engine = write_engine(await database(dsn, f"sets_{kind.lower()}"))
    column, answer = ANSWERS[kind]
    took: dict[str, list[float]] = {name: [] for name in (BARE, KEPT, SWITCH, TOGGLE)}
    try:
        async with engine.begin() as connection:
            await run(connection, FILL.format(kind=kind, rows=ROWS, column=column, answer=answer))
        await timed(engine, recapture(1, 1))
        async with engine.begin() as connection:
            await run(connection, PLAIN)
        for number in range(ROUNDS):
            version = 3 * number + 2
            took[SWITCH].append(await timed(engine, recapture(2 - number % 2, version)))
            took[BARE].append(await timed(engine, rewrite(kind, "plain_values")))
            took[KEPT].append(await timed(engine, rewrite(kind, "expected_values")))
            took[TOGGLE].append(await timed(engine, toggle(False, version + 1)))
            await timed(engine, toggle(True, version + 2))
    finally:
        await engine.dispose()
    return figures(kind, {name: statistics.median(each) for name, each in took.items()})


def figures(kind: str, took: Mapping[str, float]) -> list[Figure]:
    what, bars = f"{ROWS:,} rows, {kind.lower()}", {SWITCH: MOST, TOGGLE: MOST}
    return [
        Figure(what, name, f"{seconds:.3f} s", seconds / took[BARE], most=bars.get(name))
        for name, seconds in took.items()
    ]
