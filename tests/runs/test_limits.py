"""What holds runs back, with any number of workers: the pace of models, limits of cost, a cancellation, other runs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from decimal import Decimal
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from models.base import RunItemStatus
from tests.provider import Provider
from tests.runs.service import Answer, Bench, Refused, Service, made, service
from tests.waiting import eventually

DOLLAR_A_CALL = {"inputPrice": "100000", "outputPrice": "0"}
TEN_TOKENS = "counted:10"
LOOK = "SELECT cost, (SELECT count(*) FROM run_items WHERE started_at IS NOT NULL) AS started FROM runs"


@pytest.fixture
async def three(database: str, tmp_path: Path) -> AsyncIterator[Service]:
    """One of three services, each with a worker inside."""
    async with AsyncExitStack() as stack:
        running = [await stack.enter_async_context(service(database, tmp_path)) for _ in range(3)]
        yield running[0]


async def table(running: Service, provider: Provider, rows: int, **model: Any) -> Bench:
    inputs = [f"Question {number}." for number in range(rows)]
    return await made(running, provider, tracks=("one",), inputs=inputs, model=model)


async def judging(bench: Bench) -> None:
    judge = {"judgeModelId": bench.models[0], "judgePrompt": "Judge {agent_response}"}
    variables = [{"name": "good", "type": "BOOLEAN"}]
    await bench.set_metrics(await bench.add_metric("judge", "LLM_JUDGE", variables=variables, **judge))


async def asked(provider: Provider, count: int) -> None:
    async def is_so() -> bool:
        return len(provider.asked()) >= count

    await eventually(is_so)


async def started_when_known(dsn: str, cost: int) -> int:
    """How many items had started when that cost was known, as one look at the database says."""
    connection = await asyncpg.connect(dsn)
    looked: list[asyncpg.Record] = []

    async def is_known() -> bool:
        looked.append(await connection.fetchrow(LOOK))
        return bool(looked[-1]["cost"] >= cost)

    try:
        await eventually(is_known)
    finally:
        await connection.close()
    return int(looked[-1]["started"])


def statuses(run: Answer) -> list[str]:
    return [item["status"] for item in run["items"]["nodes"]]


async def test_a_call_that_is_limited_twice_takes_three_attempts(running: Service, provider: Provider) -> None:
    bench = await table(running, provider, 1)
    provider.on(behaviours=["429:1", "429:1"])

    run = await bench.generate()

    first, second, third = (call.at for call in provider.asked())
    assert [(item["status"], item["attempts"]) for item in run["items"]["nodes"]] == [("SUCCEEDED", 3)]
    assert (second - first >= 1, third - second >= 1) == (True, True)


async def test_no_more_calls_are_under_way_than_the_model_takes(three: Service, provider: Provider) -> None:
    bench = await table(three, provider, 60, maxConcurrency=5)
    provider.on(delay_ms=50)

    run = await bench.generate()

    assert run["progress"]["succeeded"] == 60
    assert provider.most_at_once("one") == 5


async def test_no_more_judgements_are_under_way_than_the_model_takes(three: Service, provider: Provider) -> None:
    """Answers and judgements of one model count together, and an item goes from the one to the other at any worker."""
    bench = await table(three, provider, 40, maxConcurrency=4)
    await judging(bench)
    provider.on(delay_ms=30)

    run = await bench.generate()

    assert run["progress"]["succeeded"] == 40
    assert len(provider.asked()) == 80
    assert provider.most_at_once("one") == 4


async def test_calls_and_their_repetitions_keep_the_pace_of_the_model(three: Service, provider: Provider) -> None:
    calls_a_second = 10
    bench = await table(three, provider, 40, requestsPerMinute=60 * calls_a_second, maxConcurrency=64)
    provider.on(behaviour="503", fail_every=5)

    run = await bench.generate()

    times = [call.at for call in provider.asked()]
    assert run["progress"]["succeeded"] == 40
    assert len(times) > 40
    # The first may have started a little late.
    assert len(times) <= calls_a_second * (times[-1] - times[0] + 1)


async def test_nothing_starts_once_the_cost_has_reached_its_limit(
    three: Service, provider: Provider, database: str
) -> None:
    bench = await table(three, provider, 60, maxConcurrency=8, **DOLLAR_A_CALL)
    provider.on(behaviours=[TEN_TOKENS] * 5 + ["slow:200"] * 55)
    run = await bench.start(generation={"trackIds": bench.tracks, "scope": "ALL"}, maxCost="5")

    started = await started_when_known(database, 5)
    done = await bench.ended(run)

    assert 5 <= started < 60
    assert done["progress"]["succeeded"] == started == len(provider.asked())
    assert done["progress"]["outOfBudget"] == 60 - started
    assert Decimal(done["cost"]) == sum(Decimal(item["cost"] or 0) for item in done["items"]["nodes"])
    assert done["status"] == "SUCCEEDED"


async def test_the_limit_is_exceeded_by_at_most_what_was_under_way(three: Service, provider: Provider) -> None:
    bench = await table(three, provider, 40, maxConcurrency=3, **DOLLAR_A_CALL)
    provider.on(behaviour=TEN_TOKENS)

    run = await bench.generate(maxCost="5")

    assert 5 <= Decimal(run["cost"]) == len(provider.asked()) < 5 + 3


async def test_judgements_count_towards_the_limit(three: Service, provider: Provider) -> None:
    bench = await table(three, provider, 40, maxConcurrency=2, **DOLLAR_A_CALL)
    await judging(bench)
    provider.on(behaviour=TEN_TOKENS, delay_ms=50)

    run = await bench.generate(maxCost="6")

    judged = [call for call in provider.asked() if "Judge " in call.prompt]
    started = len(provider.asked()) - len(judged)
    assert Decimal(run["cost"]) == len(provider.asked())
    # What was started is judged.
    assert len(judged) == started == run["progress"]["succeeded"]
    assert run["progress"]["outOfBudget"] == 40 - started > 0


async def test_a_limit_of_cost_needs_prices(running: Service, provider: Provider) -> None:
    bench = await table(running, provider, 1, inputPrice=None)

    with pytest.raises(Refused) as refused:
        await bench.generate(maxCost="1")

    assert (refused.value.kind, refused.value.answer["path"]) == ("InvalidInput", ["maxCost"])


async def test_nothing_starts_after_a_run_is_cancelled_and_old_answers_stay(three: Service, provider: Provider) -> None:
    bench = await table(three, provider, 10, maxConcurrency=2)
    await bench.generate()
    before = await bench.cells()
    provider.on(behaviour="hang")
    run = await bench.start(generation={"trackIds": bench.tracks, "scope": "ALL"})
    await asked(provider, 12)

    await three.act("cancelRun", "run { status }", id=run)
    cancelled = await bench.look(run)
    kept = await bench.cells()
    provider.on()
    await bench.generate()

    assert (cancelled["status"], statuses(cancelled)) == ("CANCELLED", [RunItemStatus.CANCELLED] * 10)
    assert kept == before
    assert len(provider.asked()) == 10 + 2 + 10


async def test_of_runs_that_touch_one_cell_at_once_one_runs(three: Service, provider: Provider) -> None:
    bench = await table(three, provider, 5)
    provider.on(behaviour="hang")
    started = [bench.start(generation={"trackIds": bench.tracks, "scope": "ALL"}) for _ in range(6)]

    answers = await asyncio.gather(*started, return_exceptions=True)

    [run] = [answer for answer in answers if isinstance(answer, str)]
    refused = [answer for answer in answers if isinstance(answer, Refused)]
    assert [each.answer["run"] for each in refused if each.kind == "RunInProgress"] == [{"id": run}] * 5
    await three.act("cancelRun", "run { status }", id=run)
