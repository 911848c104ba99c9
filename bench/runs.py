"""Cells a second that runs generate, beside the provider layer alone: no items, no leases, nothing stored.

The layer, one worker and three take turns. The model answers in 200 ms and is allowed 64 calls at once.
"""

import asyncio
import os
import statistics
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from time import perf_counter

from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine

from bench.databases import connection, database
from bench.report import Figure
from bench.serving import process
from models.base import GenerationScope
from resolvers.acting import Acting, announce
from resolvers.starting import GenerationGiven, RunGiven, start
from runs.calls import Endpoint, Sampling
from runs.providers import Providers
from runs.worker import Worker, WorkerSettings
from server.database import write_engine
from server.door import FAILURES

MODEL = (sys.executable, "-m", "bench.peers.model")
CELLS = 2_000
AT_ONCE = 64
ROUNDS = 3
LEAST = 0.85
# As fast, as far as two measurements of the same thing agree.
NO_SLOWER = 0.97
# Work that warms a worker up: what it imports, its connections, its plans.
WARMING = 4 * AT_ONCE
SMALL, LARGE = 1_000, 50_000
SAME = 1.1

FILL = """
INSERT INTO models (name, provider, model_name, base_url, input_price, output_price, max_concurrency, version)
VALUES ('m', 'openai', 'm', '{url}/v1', 1, 1, 64, 1);
INSERT INTO benchmarks (name, kind, auto_capture, version) VALUES ('b', 'CONVERSATION', true, 1);
INSERT INTO tracks (benchmark_pk, position, name, model_pk, version) VALUES (1, 0, 'a', 1, 1);
UPDATE benchmarks SET source_track_pk = 1;
INSERT INTO benchmark_rows (benchmark_pk, position, input, version)
SELECT 1, place, 'What about ' || place, 1 FROM generate_series(0, {rows} - 1) place;
"""
ENDED = "SELECT extract(epoch FROM finished_at - created_at)::float FROM runs WHERE id = $1"


async def layer(url: str, cells: int) -> float:
    """Cells a second."""
    providers, places = Providers(), asyncio.Semaphore(AT_ONCE)
    endpoint = Endpoint("openai", "m", f"{url}/v1")

    async def one(number: int) -> None:
        async with places:
            await providers.call(endpoint, f"What about {number}", (), Sampling(), None)

    try:
        await asyncio.gather(*(one(number) for number in range(AT_ONCE)))
        began = perf_counter()
        await asyncio.gather(*(one(number) for number in range(cells)))
        return cells / (perf_counter() - began)
    finally:
        await providers.aclose()


@asynccontextmanager
async def workers(dsn: str, directory: Path, number: int) -> AsyncIterator[None]:
    command = [str(Path(sys.executable).with_name("assay")), "worker"]
    environment = {**os.environ, "ASSAY_DATABASE_URL": dsn, "ASSAY_DATA_DIR": str(directory)}
    processes = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # noqa: S603, ASYNC220
        for _ in range(number)
    ]
    try:
        for process in processes:
            assert process.stdout is not None
            await asyncio.to_thread(process.stdout.readline)
        yield
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            await asyncio.to_thread(process.wait)


async def ran(dsn: str, engine: AsyncEngine, rows: Sequence[int]) -> float:
    """Cells a second of one run over these rows, from its start to its end."""
    generation = GenerationGiven([1], GenerationScope.SELECTED, rows, None)
    async with engine.begin() as opened:
        acting = Acting(opened, "bench")
        run_pk, _ = await start(acting, RunGiven(1, generation, None, False, None, None))
    async with engine.begin() as opened:
        await announce(opened, acting.topics)
    async with connection(dsn) as asking:
        seconds = None
        while seconds is None:
            await asyncio.sleep(0.05)
            seconds = await asking.fetchval(ENDED, run_pk)
    return len(rows) / float(seconds)


async def measured(dsn: str, directory: Path, engine: AsyncEngine, number: int) -> float:
    rows = range(1, CELLS + 1)
    async with workers(dsn, directory, number):
        await ran(dsn, engine, rows[: WARMING * number])
        return await ran(dsn, engine, rows)


async def filled(dsn: str, name: str, url: str, rows: int) -> str:
    made = await database(dsn, name)
    async with connection(made) as filling:
        await filling.execute(FILL.format(url=url, rows=rows))
        await filling.execute("ANALYZE")
    return made


async def statements(dsn: str, name: str, url: str, rows: int) -> float:
    """Statements of a worker for each cell of a run, in a table of so many rows."""
    made = await filled(dsn, name, url, rows)
    starting, working, heart = write_engine(made), write_engine(made, 4), write_engine(made)
    count = 0

    @event.listens_for(working.sync_engine, "before_cursor_execute")
    def _(*_: object) -> None:
        nonlocal count
        count += 1

    providers = Providers()

    async def caller() -> Providers:
        return providers

    worker = Worker(
        working, heart, _NoFiles(), caller, lambda _: None, FAILURES, WorkerSettings(AT_ONCE, timedelta(minutes=1))
    )
    running = asyncio.create_task(worker.run())
    try:
        await ran(made, starting, range(1, SMALL + 1))
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await providers.aclose()
        for engine in (starting, working, heart):
            await engine.dispose()
    return count / SMALL


class _NoFiles:
    async def read(self, sha256: str) -> bytes:
        raise FileNotFoundError(sha256)


async def compare(dsn: str, directory: Path) -> list[Figure]:
    with process(MODEL, dsn, directory) as url:
        return [*await rates(dsn, directory, url), *await costs(dsn, url)]


async def rates(dsn: str, directory: Path, url: str) -> list[Figure]:
    made = await filled(dsn, "runs", url, CELLS)
    engine = write_engine(made)
    alone, one, three = [], [], []
    try:
        for _ in range(ROUNDS):
            alone.append(await layer(url, CELLS))
            one.append(await measured(made, directory, engine, 1))
            three.append(await measured(made, directory, engine, 3))
    finally:
        await engine.dispose()
    base, single, triple = (statistics.median(each) for each in (alone, one, three))
    what = f"{CELLS} cells"
    return [
        Figure(what, "provider layer alone", f"{base:.0f} a second", 1.0),
        Figure(what, "a worker", f"{single:.0f} a second", single / base, least=LEAST),
        Figure(f"{what}, of one worker", "three workers", f"{triple:.0f} a second", triple / single, least=NO_SLOWER),
    ]


async def costs(dsn: str, url: str) -> list[Figure]:
    small = await statements(dsn, "runs_small", url, SMALL)
    large = await statements(dsn, "runs_large", url, LARGE)
    return [
        Figure("statements a cell", f"{SMALL:,} rows", f"{small:.2f}", 1.0),
        Figure("statements a cell", f"{LARGE:,} rows", f"{large:.2f}", large / small, most=SAME),
    ]
