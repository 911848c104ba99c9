"""Workers that die, freeze or leave: what they held is another's soon, and nothing is stored twice."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.provider import Provider
from tests.runs.service import Bench, Service, made, service
from tests.runs.workers import KEY, Process, Workers, working
from tests.waiting import eventually

LEFT = "SELECT count(*) FROM run_items WHERE token IS NOT NULL"
REVISIONS = "SELECT array_agg(revision) FROM cells"
DEATHS = "SELECT array_agg(deaths ORDER BY id) FROM run_items"


@pytest.fixture
async def asking(database: str, tmp_path: Path) -> AsyncIterator[Service]:
    """A service without a worker."""
    async with service(database, tmp_path, worker=False) as asking:
        yield asking


async def table(asking: Service, provider: Provider, rows: int = 1, **model: Any) -> Bench:
    inputs = [f"Question {number}." for number in range(rows)]
    return await made(asking, provider, tracks=("one",), inputs=inputs, model={"apiKeyVariable": KEY, **model})


async def value(dsn: str, query: str) -> Any:
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


async def asked(provider: Provider, count: int) -> None:
    async def is_so() -> bool:
        return len(provider.asked()) >= count

    await eventually(is_so, 40)


async def start(bench: Bench) -> str:
    return await bench.start(generation={"trackIds": bench.tracks, "scope": "ALL"})


def callers(provider: Provider, workers: Workers) -> list[Process]:
    return [workers.by_key(call.key) for call in provider.asked()]


async def test_what_a_killed_worker_held_is_done_by_another(
    asking: Service, provider: Provider, database: str, tmp_path: Path
) -> None:
    bench = await table(asking, provider)
    provider.on(behaviours=["hang"])
    async with working(database, tmp_path) as workers:
        run = await start(bench)
        await asked(provider, 1)
        workers.all[0].kill()
        [second] = await workers.start()
        done = await bench.ended(run)

    assert done["status"] == "SUCCEEDED"
    assert callers(provider, workers) == [workers.all[0], second]
    assert await value(database, DEATHS) == [1]
    assert await value(database, REVISIONS) == [1]


async def test_a_worker_that_was_frozen_past_its_lease_stores_nothing(
    asking: Service, provider: Provider, database: str, tmp_path: Path
) -> None:
    bench = await table(asking, provider)
    provider.on(behaviours=["ok"], content="Of the frozen.", delay_ms=500)
    async with working(database, tmp_path) as workers:
        run = await start(bench)
        await asked(provider, 1)
        [frozen] = workers.all
        frozen.freeze()
        provider.on(content="Of the second.")
        await workers.start()
        done = await bench.ended(run)
        before = await bench.cells()
        frozen.wake()
        # It leaves only once all that it had is stored or found to be another's.
        assert await frozen.stop() == 0

    assert done["progress"]["succeeded"] == 1
    assert [cell["output"] for cell in before] == ["Of the second."]
    assert await bench.cells() == before
    assert await value(database, REVISIONS) == [1]
