"""Runs among people who record, edit, switch and remove at the same time: all of it ends, and the books are right."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from decimal import Decimal
from pathlib import Path
from random import Random

import asyncpg
import pytest

from tests.databases import execute, name_of
from tests.provider import Provider
from tests.runs.service import Answer, Bench, Refused, Service, made, service

ROWS, RUNS = 30, 6
# What people meet who are not alone.
MAY_BE = ("Conflict", "NotFound")
ENDED = {"SUCCEEDED", "FAILED", "CANCELLED"}
BOOKS = """
SELECT run.id, run.cost, (SELECT coalesce(sum(cost), 0) FROM run_items WHERE run_pk = run.id) AS of_items,
    (SELECT count(*) FROM run_items WHERE run_pk = run.id AND (token IS NOT NULL OR finished_at IS NULL)) AS open
FROM runs run
"""


@pytest.fixture
async def three(database: str, tmp_path: Path) -> AsyncIterator[Service]:
    # Long enough for a test to make a deadlock before somebody looks for one.
    await execute(database, f"ALTER DATABASE {name_of(database)} SET deadlock_timeout = '200ms'")
    async with AsyncExitStack() as stack:
        running = [await stack.enter_async_context(service(database, tmp_path)) for _ in range(3)]
        yield running[0]


class Crowd:
    """People who act on one table until its runs have ended. What may be refused is told apart from what went wrong."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.is_over = False
        self.edited: dict[str, str] = {}
        self.acts = 0

    async def until_over(self, act: Callable[[Random], Awaitable[None]], seed: int) -> None:
        random = Random(seed)  # noqa: S311 -- the same each time
        while not self.is_over:
            try:
                await act(random)
                self.acts += 1
            except Refused as refused:
                if refused.kind not in MAY_BE:
                    raise
            await asyncio.sleep(0.02)

    async def record(self, random: Random) -> None:
        places = [(row, track) for row in random.sample(self.bench.rows, 5) for track in self.bench.tracks]
        random.shuffle(places)
        cells = [{"rowId": row, "trackId": track, "output": f"Said {random.random()}"} for row, track in places]
        await self.bench.service.act("recordCells", "__typename", benchmarkId=self.bench.id, cells=cells)

    async def edit(self, random: Random) -> None:
        row = random.choice(self.bench.rows[: ROWS // 2])
        query = "query ($id: ID!) { node(id: $id) { ... on Row { expectedOutput { revision } } } }"
        found = (await self.bench.service.ask(query, id=row))["node"]
        said = f"Edited {random.random()}"
        given = {"rowId": row, "expectedRevision": found["expectedOutput"]["revision"], "text": said}
        await self.bench.service.act("editExpectedOutput", "__typename", **given)
        self.edited[row] = said

    async def switch(self, random: Random) -> None:
        given = {"benchmarkId": self.bench.id, "trackId": random.choice(self.bench.tracks), "existing": "RECAPTURE"}
        version = (await self.bench.table())["version"]
        await self.bench.service.act("setSourceTrack", "__typename", **given, expectedVersion=version)

    async def remove(self, random: Random) -> None:
        """Of the rows that nobody edits, as long as some are left."""
        if len(self.bench.rows) > ROWS - 8:
            going = [self.bench.rows.pop() for _ in range(2)]
            random.shuffle(going)
            await self.bench.service.act("removeRows", "__typename", ids=going)


async def run_often(crowd: Crowd) -> list[Answer]:
    bench, ended = crowd.bench, []
    for number in range(RUNS):
        run = await bench.start(generation={"trackIds": bench.tracks, "scope": "ALL"}, maxCost="0.0005")
        if number % 3 == 2:
            await bench.service.act("cancelRun", "__typename", id=run)
        ended.append(await bench.ended(run))
    return ended


async def test_runs_among_a_crowd_end_with_their_books_in_order(
    three: Service, provider: Provider, database: str
) -> None:
    inputs = [f"Question {number}." for number in range(ROWS)]
    bench = await made(three, provider, inputs=inputs, model={"maxConcurrency": 16})
    judge = {"judgePrompt": "Judge {agent_response} by {expected_output}"}
    variables = [{"name": "good", "type": "BOOLEAN"}]
    judging = await bench.add_metric("judge", "LLM_JUDGE", judgeModelId=bench.models[1], variables=variables, **judge)
    await bench.set_metrics(judging, await bench.add_metric("exact", "EXACT_MATCH"))
    provider.on(behaviour="400", fail_every=7)
    crowd = Crowd(bench)
    acts = (crowd.record, crowd.record, crowd.edit, crowd.edit, crowd.switch, crowd.remove)
    people = [asyncio.create_task(crowd.until_over(act, seed)) for seed, act in enumerate(acts)]

    try:
        runs = await run_often(crowd)
    finally:
        crowd.is_over = True
        await asyncio.gather(*people)

    assert len(runs) == RUNS
    assert {run["status"] for run in runs} <= ENDED
    assert crowd.acts > RUNS
    await assert_books(database)
    shown = {row["id"]: row["expectedOutput"] for row in (await bench.table())["rows"]["nodes"]}
    assert {row: shown[row]["text"] for row in crowd.edited} == crowd.edited


async def assert_books(dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    books = await connection.fetch(BOOKS)
    await connection.close()
    assert [Decimal(run["cost"]) for run in books] == [Decimal(run["of_items"]) for run in books]
    assert {run["open"] for run in books} == {0}
