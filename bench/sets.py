"""What it costs to capture 10,000 rows anew and to clear them, beside a plain UPDATE of as many values."""

import statistics
from collections.abc import Awaitable, Callable
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
PLAIN = {
    "CONVERSATION": "UPDATE expected_values SET text = text || '.'",
    "AUTOMATION": "UPDATE expected_values SET value = to_json((value #>> '{}') || '.')",
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


async def compare(dsn: str) -> list[Figure]:
    return [figure for kind in ANSWERS for figure in await compare_kind(dsn, kind)]


async def compare_kind(dsn: str, kind: str) -> list[Figure]:
    engine = write_engine(await database(dsn, f"sets_{kind.lower()}"))
    column, answer = ANSWERS[kind]
    plain, switches, toggles = [], [], []
    try:
        async with engine.begin() as connection:
            for statement in FILL.format(kind=kind, rows=ROWS, column=column, answer=answer).split(";\n"):
                await connection.exec_driver_sql(statement)
        for number in range(ROUNDS):
            version = 3 * number + 1
            switches.append(await timed(engine, recapture(2 - number % 2, version)))
            plain.append(await timed(engine, lambda connection: connection.execute(text(PLAIN[kind]))))
            toggles.append(await timed(engine, toggle(False, version + 1)))
            await timed(engine, toggle(True, version + 2))
    finally:
        await engine.dispose()
    return figures(kind, statistics.median(plain), statistics.median(switches), statistics.median(toggles))


def figures(kind: str, plain: float, switch: float, toggle: float) -> list[Figure]:
    what = f"{ROWS:,} rows, {kind.lower()}"
    return [
        Figure(what, "UPDATE of their values", f"{plain:.2f} s", 1.0),
        Figure(what, "switch with RECAPTURE", f"{switch:.2f} s", switch / plain, most=MOST),
        Figure(what, "toggle off", f"{toggle:.2f} s", toggle / plain, most=MOST),
    ]
