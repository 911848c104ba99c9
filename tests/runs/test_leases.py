"""Workers that die, freeze or leave: what they held is another's soon, and nothing is stored twice."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from runs.storing import committed
from runs.worker import DIED, WorkerSettings
from tests.databases import execute, name_of, named
from tests.provider import Provider
from tests.runs.service import Bench, Service, made, service
from tests.runs.workers import KEY, working
from tests.waiting import eventually

# How long a stop may take that is asked for.
POLITE = 10
# Longer than a lease that nobody renews.
PAST_LEASE = WorkerSettings().lease.total_seconds() + 1

HELD = "SELECT count(*) FROM run_items WHERE token IS NOT NULL"
EXPIRE = "UPDATE run_items SET lease_until = now() - interval '1 second' WHERE token IS NOT NULL"
SHOW_OUT = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
LOCK_BENCHMARK = "SELECT FROM benchmarks FOR UPDATE"
LOCK_ROWS = "SELECT FROM benchmark_rows FOR UPDATE"
WAITS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND wait_event_type = 'Lock'
"""
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


async def asked(provider: Provider, count: int) -> None:
    async def is_so() -> bool:
        return len(provider.asked()) >= count

    await eventually(is_so, 40)


async def start(bench: Bench) -> str:
    return await bench.start(generation={"trackIds": bench.tracks, "scope": "ALL"})


def callers(provider: Provider) -> list[str]:
    return [call.key for call in provider.asked()]


async def value(dsn: str, query: str) -> Any:
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


async def is_answered(asking: Service) -> bool:
    return "errors" not in (await asking.client.post("/graphql", json={"query": "{ runs { totalCount } }"})).json()


async def something_waits(dsn: str) -> bool:
    return bool(await value(dsn, WAITS))


@asynccontextmanager
async def held(dsn: str, lock: str) -> AsyncIterator[None]:
    connection = await asyncpg.connect(dsn)
    try:
        async with connection.transaction():
            await connection.execute(lock)
            yield
    finally:
        await connection.close()


@asynccontextmanager
async def stuck(bench: Bench, provider: Provider, dsn: str, lock: str) -> AsyncIterator[str]:
    """A run whose only result waits to be stored as long as this lasts."""
    provider.on(delay_ms=2000)
    run = await start(bench)
    await asked(provider, 1)
    async with held(dsn, lock):
        await eventually(lambda: something_waits(dsn))
        yield run


@asynccontextmanager
async def away(dsn: str) -> AsyncIterator[None]:
    """The database takes nobody in, and shows out who is there."""
    server, name = named(dsn, "postgres"), name_of(dsn)
    await execute(server, f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
    await execute(server, SHOW_OUT.format(name=name))
    try:
        yield
    finally:
        await execute(server, f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')


async def test_what_a_killed_worker_held_is_done_by_another(
    asking: Service, provider: Provider, database: str, tmp_path: Path
) -> None:
    bench = await table(asking, provider)
    provider.on(behaviours=["hang"])
    async with working(database, tmp_path) as workers:
        run = await start(bench)
        await asked(provider, 1)
        workers.all[0].kill()
        await workers.start()
        done = await bench.ended(run)

    assert done["status"] == "SUCCEEDED"
    assert callers(provider) == [worker.key for worker in workers.all]
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


async def test_a_worker_that_was_frozen_while_it_stored_hinders_nobody(
    asking: Service, provider: Provider, database: str, tmp_path: Path
) -> None:
    bench = await table(asking, provider)
    async with working(database, tmp_path) as workers:
        async with stuck(bench, provider, database, LOCK_ROWS) as run:
            workers.all[0].freeze()
        await workers.start()
        done = await bench.ended(run)
        workers.all[0].wake()
        assert await workers.all[0].stop() == 0

    assert done["status"] == "SUCCEEDED"
    assert await value(database, REVISIONS) == [1]


async def test_an_item_whose_worker_dies_three_times_ends_as_internal(
    asking: Service, provider: Provider, database: str, tmp_path: Path
) -> None:
    bench = await table(asking, provider)
    provider.on(behaviour="hang")
    async with working(database, tmp_path, 4) as workers:
        run = await start(bench)
        for deaths in range(1, 4):
            await asked(provider, deaths)
            workers.by_key(callers(provider)[-1]).kill()
            await execute(database, EXPIRE)
        done = await bench.ended(run)

    assert [(cell["status"], cell["error"]["kind"]) for cell in await bench.cells()] == [("FAILED", "INTERNAL")]
    assert [item["error"]["message"] for item in done["items"]["nodes"]] == [DIED]
    assert done["status"] == "FAILED"
    assert len(provider.asked()) == 3


async def test_a_worker_that_is_asked_to_stop_finishes_what_is_soon_done(
    asking: Service, provider: Provider, database: str, tmp_path: Path
) -> None:
    bench = await table(asking, provider)
    provider.on(delay_ms=2000)
    async with working(database, tmp_path) as workers:
        run = await start(bench)
        await asked(provider, 1)
        assert await workers.all[0].stop(POLITE) == 0

    assert (await bench.look(run))["status"] == "SUCCEEDED"
    assert len(provider.asked()) == 1


async def test_a_worker_that_is_asked_to_stop_gives_back_what_takes_too_long(
    asking: Service, provider: Provider, database: str, tmp_path: Path
) -> None:
    bench = await table(asking, provider, rows=3)
    provider.on(behaviour="hang")
    async with working(database, tmp_path) as workers:
        await start(bench)
        await asked(provider, 3)
        assert await workers.all[0].stop(POLITE) == 0

    assert await value(database, HELD) == 0
    assert await value(database, DEATHS) == [0, 0, 0]


async def test_a_worker_that_is_asked_to_stop_does_not_wait_for_a_database_that_is_away(
    asking: Service, provider: Provider, database: str, tmp_path: Path
) -> None:
    bench = await table(asking, provider)
    provider.on(delay_ms=1000)
    async with working(database, tmp_path) as workers:
        await start(bench)
        await asked(provider, 1)
        async with away(database):
            assert await workers.all[0].stop(POLITE) == 0


async def test_no_living_worker_loses_its_lease_while_the_database_is_away(
    asking: Service, provider: Provider, database: str, tmp_path: Path
) -> None:
    bench = await table(asking, provider, rows=2)
    provider.on(delay_ms=1000 * (PAST_LEASE + 3))
    async with working(database, tmp_path, 2, worker_concurrency="1") as workers:
        run = await start(bench)
        await asked(provider, 2)
        async with away(database):
            await asyncio.sleep(PAST_LEASE)
        await eventually(lambda: is_answered(asking))
        done = await bench.ended(run)

    assert done["progress"]["succeeded"] == 2
    assert sorted(callers(provider)) == [worker.key for worker in workers.all]
    assert await value(database, DEATHS) == [0, 0]


async def test_no_lease_is_lost_while_a_result_waits_for_its_table(
    asking: Service, provider: Provider, database: str, tmp_path: Path
) -> None:
    bench = await table(asking, provider)
    async with working(database, tmp_path, 2, worker_connections="2"):
        async with stuck(bench, provider, database, LOCK_BENCHMARK) as run:
            await asyncio.sleep(PAST_LEASE)
        await bench.ended(run)

    assert await value(database, DEATHS) == [0]
    assert len(provider.asked()) == 1


async def test_an_item_that_is_judged_before_its_answer_is_done_with_keeps_its_lease(
    database: str, provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is stored, and the item claimed for its judge, while the task of the answer still has to end."""

    async def is_judging() -> bool:
        return any("Judge " in call.prompt for call in provider.asked())

    async def late(*given: Any) -> Any:
        done = await committed(*given)
        await eventually(is_judging, 40)
        return done

    monkeypatch.setattr("runs.storing.committed", late)
    provider.on(contains="Judge ", delay_ms=1000 * (PAST_LEASE + 2))
    async with service(database, tmp_path) as running:
        bench = await table(running, provider, apiKeyVariable=None)
        judge = {"judgeModelId": bench.models[0], "judgePrompt": "Judge {agent_response}"}
        variables = [{"name": "good", "type": "BOOLEAN"}]
        await bench.set_metrics(await bench.add_metric("judge", "LLM_JUDGE", variables=variables, **judge))
        done = await bench.ended(await start(bench))

    assert done["progress"]["succeeded"] == 1
    assert len(provider.asked()) == 2
    assert await value(database, DEATHS) == [0]
