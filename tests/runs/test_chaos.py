"""Workers and Postgres die all the time, a provider fails often, and still each cell is answered once and paid once."""

import os
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from random import Random

import asyncpg
import pytest

from resolvers.queue import MOST_DEATHS
from server.migrations import migrate
from server.postgres import embedded
from tests.provider import Provider, providing
from tests.provider.rules import Asked
from tests.runs.service import Answer, made, service
from tests.runs.workers import KEY, Workers, working
from tests.server.processes import postmaster, was_replaced
from tests.waiting import eventually

ROWS, TRACKS, WORKERS = 200, ("one", "two"), 4
# What the provider never takes.
WRONG = "wrong"
# What happens, each time after so many calls more.
BLOWS = ["kill", "kill", "kill", "freeze", "postgres", "postgres", "stop"]
CALLS_BETWEEN = 50
SEED = 20

ITEMS = """
SELECT item.status, item.attempts, item.deaths, item.error_kind, item.cost, item.captured,
    track.name AS model, its_row.input AS prompt,
    cell.status AS cell_status, cell.revision, cell.error_kind AS cell_error_kind,
    cell.cost AS cell_cost, cell.run_pk = item.run_pk AS is_of_run,
    EXISTS (SELECT FROM expected_values WHERE row_pk = item.row_pk AND text = cell.output) AS is_expected
FROM run_items item
JOIN tracks track ON track.id = item.track_pk
JOIN benchmark_rows its_row ON its_row.id = item.row_pk
LEFT JOIN cells cell ON cell.row_pk = item.row_pk AND cell.track_pk = item.track_pk
"""
LEFT = """
SELECT (SELECT count(*) FROM run_items WHERE token IS NOT NULL OR lease_until IS NOT NULL)
    + (SELECT count(*) FROM run_inputs) + (SELECT count(*) FROM run_input_files)
"""


@dataclass(frozen=True)
class Aftermath:
    run: Answer
    items: Sequence[asyncpg.Record]
    left: int
    calls: Sequence[Asked]
    workers: Workers

    def calls_of(self, item: asyncpg.Record) -> list[Asked]:
        return [call for call in self.calls if (call.model, call.prompt) == (item["model"], item["prompt"])]


@contextmanager
def data_directory() -> Iterator[Path]:
    """One that the account which runs Postgres for root may enter."""
    directory = Path(tempfile.mkdtemp(prefix="assay-chaos-"))
    directory.chmod(0o711)
    try:
        yield directory
    finally:
        shutil.rmtree(directory)


@pytest.fixture(scope="module")
async def aftermath() -> AsyncIterator[Aftermath]:
    with data_directory() as directory, providing() as provider, embedded(directory) as dsn:
        await migrate(dsn)
        provider.on(behaviour="503", fail_every=5, delay_ms=300)
        provider.on(contains=WRONG, behaviour="400", delay_ms=300)
        inputs = [f"{WRONG if number % 20 == 0 else 'Question'} {number}" for number in range(ROWS)]
        model = {"apiKeyVariable": KEY, "maxConcurrency": 12}
        async with (
            service(dsn, directory, worker=False) as asking,
            working(dsn, directory, WORKERS, worker_concurrency="6") as workers,
        ):
            bench = await made(asking, provider, tracks=TRACKS, inputs=inputs, model=model)
            run = await bench.start(generation={"trackIds": bench.tracks, "scope": "ALL"})
            await strike(provider, workers, directory)
            ended = await bench.ended(run)
            await thaw(workers)
        connection = await asyncpg.connect(dsn)
        yield Aftermath(
            ended, await connection.fetch(ITEMS), await connection.fetchval(LEFT), provider.asked(), workers
        )
        await connection.close()


async def strike(provider: Provider, workers: Workers, directory: Path) -> None:
    random = Random(SEED)  # noqa: S311 -- the same each time
    blows = random.sample(BLOWS, len(BLOWS))
    for number, blow in enumerate(blows, start=1):
        await until_asked(provider, number * CALLS_BETWEEN + random.randrange(CALLS_BETWEEN // 2))
        match blow:
            case "postgres":
                await restart(directory, workers.dsn)
            case "freeze":
                random.choice(workers.sound).freeze()
            case "kill":
                random.choice(workers.sound).kill()
                await workers.start()
            case "stop":
                assert await random.choice(workers.sound).stop() == 0
                await workers.start()


async def answers(dsn: str) -> bool:
    try:
        await (await asyncpg.connect(dsn)).close()
    except (OSError, asyncpg.PostgresError):
        return False
    return True


async def until_asked(provider: Provider, count: int) -> None:
    async def is_so() -> bool:
        return len(provider.asked()) >= count

    await eventually(is_so, 60)


async def thaw(workers: Workers) -> None:
    """Those that froze find out what they lost: they leave only once nothing waits to be stored."""
    for worker in workers.all:
        if worker.was_frozen:
            worker.wake()
            assert await worker.stop() == 0


async def restart(directory: Path, dsn: str) -> None:
    killed = postmaster(directory)
    os.kill(killed, signal.SIGKILL)

    async def is_back() -> bool:
        return was_replaced(directory, killed) and await answers(dsn)

    await eventually(is_back, 60)


def endings_of(aftermath: Aftermath, item: asyncpg.Record) -> set[tuple[str, str | None]]:
    """By the last answer to each worker that can have stored it: who made as many calls as the item says."""
    if item["deaths"] >= MOST_DEATHS:
        return {("FAILED", "INTERNAL")}
    behaviours: dict[str, list[str]] = {}
    for call in aftermath.calls_of(item):
        behaviours.setdefault(call.key, []).append(call.behaviour)
    last = [each[-1] for each in behaviours.values() if len(each) == item["attempts"]]
    return {("SUCCEEDED", None) if behaviour == "ok" else ("FAILED", "PROVIDER") for behaviour in last}


def test_the_run_has_ended_well(aftermath: Aftermath) -> None:
    assert aftermath.run["status"] == "SUCCEEDED"


def test_each_cell_ended_as_the_provider_decided(aftermath: Aftermath) -> None:
    for item in aftermath.items:
        assert (item["cell_status"], item["cell_error_kind"]) in endings_of(aftermath, item), dict(item)
    assert len(aftermath.items) == ROWS * len(TRACKS)


def test_each_item_says_what_its_cell_says(aftermath: Aftermath) -> None:
    of_items = [(item["status"], item["error_kind"], item["cost"], True) for item in aftermath.items]

    assert of_items == [
        (item["cell_status"], item["cell_error_kind"], item["cell_cost"], item["is_of_run"]) for item in aftermath.items
    ]


def test_each_cell_was_stored_once(aftermath: Aftermath) -> None:
    assert {item["revision"] for item in aftermath.items} == {1}


def test_only_what_was_lost_with_its_worker_was_asked_for_again(aftermath: Aftermath) -> None:
    """No cell was asked for by two workers that neither died nor froze, and the attempts are the calls of one."""
    for item in aftermath.items:
        calls = Counter(call.key for call in aftermath.calls_of(item))
        sound = [key for key in calls if not aftermath.workers.by_key(key).was_lost]
        assert len(sound) <= 1, dict(item)
        assert item["attempts"] in {calls[key] for key in sound or calls}, dict(item)


def test_some_calls_were_lost_with_their_workers(aftermath: Aftermath) -> None:
    """Else the others would have shown nothing."""
    assert len(aftermath.calls) > sum(item["attempts"] for item in aftermath.items)


def test_counts_and_cost_are_those_of_the_cells(aftermath: Aftermath) -> None:
    progress = aftermath.run["progress"]
    succeeded = [item for item in aftermath.items if item["cell_status"] == "SUCCEEDED"]

    assert (progress["total"], progress["remaining"]) == (ROWS * len(TRACKS), 0)
    assert (progress["succeeded"], progress["failed"]) == (len(succeeded), len(aftermath.items) - len(succeeded))
    assert Decimal(aftermath.run["cost"]) == sum(item["cell_cost"] for item in succeeded)
    assert aftermath.run["cost"] != "0"


def test_the_answers_of_the_source_are_the_ground_truth(aftermath: Aftermath) -> None:
    captured = [item for item in aftermath.items if item["captured"]]

    assert {item["model"] for item in captured} == {TRACKS[0]}
    assert all(item["is_expected"] for item in captured)
    assert aftermath.run["progress"]["captured"] == len(captured)
    assert len(captured) == sum(
        item["model"] == TRACKS[0] and item["cell_status"] == "SUCCEEDED" for item in aftermath.items
    )


def test_no_lease_and_no_input_is_left(aftermath: Aftermath) -> None:
    assert aftermath.left == 0
