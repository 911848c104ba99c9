"""Runs whose rows, tracks, metrics or table go while they run: they end, and what remains is done."""

import asyncpg

from tests.databases import execute
from tests.provider import Provider
from tests.runs.service import Bench, Service, made
from tests.waiting import eventually

JUDGE = {"judgePrompt": "Judge {agent_response}", "variables": [{"name": "good", "type": "BOOLEAN"}]}
REFUSE = "ALTER TABLE cells ADD CONSTRAINT refused CHECK (output NOT LIKE '%poison%')"
ACCEPT = "ALTER TABLE cells DROP CONSTRAINT refused"


async def asked(provider: Provider, words: str = "", count: int = 1) -> None:
    async def is_so() -> bool:
        return sum(words in call.prompt for call in provider.asked()) >= count

    await eventually(is_so)


async def version_of(bench: Bench, type_: str, id_: str) -> int:
    query = f"query ($id: ID!) {{ node(id: $id) {{ ... on {type_} {{ version }} }} }}"
    version: int = (await bench.service.ask(query, id=id_))["node"]["version"]
    return version


async def delete(bench: Bench, id_: str, type_: str, **more: str) -> None:
    mutation = {"Benchmark": "deleteBenchmark", "Metric": "deleteMetric", "Track": "removeTrack"}[type_]
    version = await version_of(bench, type_, id_)
    await bench.service.act(mutation, "__typename", id=id_, expectedVersion=version, **more)


async def start(bench: Bench) -> str:
    return await bench.start(generation={"trackIds": bench.tracks, "scope": "ALL"})


async def test_a_run_whose_rows_are_all_removed_ends(bench: Bench, provider: Provider) -> None:
    provider.on(behaviour="hang")
    run = await start(bench)
    await asked(provider, count=4)

    await bench.service.act("removeRows", "__typename", ids=bench.rows)
    ended = await bench.ended(run)

    assert ended["status"] == "FAILED"
    assert [item["status"] for item in ended["items"]["nodes"]] == ["CANCELLED"] * 4


async def test_the_rows_that_remain_are_answered(bench: Bench, provider: Provider) -> None:
    provider.on(behaviour="hang", contains="1?")
    run = await start(bench)
    await asked(provider, "1?", count=2)

    await bench.service.act("removeRows", "__typename", ids=bench.rows[:1])
    ended = await bench.ended(run)

    assert (ended["status"], ended["progress"]["succeeded"], ended["progress"]["cancelled"]) == ("SUCCEEDED", 2, 2)
    assert [cell["status"] for cell in await bench.cells()] == ["SUCCEEDED"]


async def test_scores_that_wait_for_a_source_that_goes_are_computed(bench: Bench, provider: Provider) -> None:
    await bench.set_metrics(await bench.add_metric("valid", "JSON_VALID"))
    await bench.generate(tracks=[1], autoEvaluate=False)
    provider.on(behaviour="hang", model="one")
    generation = {"trackIds": bench.tracks[:1], "scope": "ALL"}
    evaluation = {"trackIds": bench.tracks[1:], "scope": "ALL"}
    run = await bench.start(generation=generation, evaluation=evaluation)
    await asked(provider, count=4)

    await delete(bench, bench.tracks[0], "Track", newSourceTrackId=bench.tracks[1])
    ended = await bench.ended(run)

    assert (ended["status"], ended["progress"]["succeeded"], ended["progress"]["cancelled"]) == ("SUCCEEDED", 2, 2)
    assert [[score["status"] for score in cell["scores"]] for cell in await bench.cells(1)] == [["SCORED"]] * 2


async def test_a_metric_that_is_deleted_while_it_is_judged_leaves_no_score(bench: Bench, provider: Provider) -> None:
    judge = await bench.add_metric("judge", "LLM_JUDGE", judgeModelId=bench.models[1], **JUDGE)
    await bench.set_metrics(judge, await bench.add_metric("valid", "JSON_VALID"))
    provider.on(contains="Judge ", delay_ms=1500)
    run = await bench.start(generation={"trackIds": bench.tracks[:1], "scope": "ALL"})
    await asked(provider, "Judge ", count=2)

    await delete(bench, judge, "Metric")
    ended = await bench.ended(run)

    assert (ended["status"], ended["progress"]["succeeded"]) == ("SUCCEEDED", 2)
    assert [[score["metric"]["name"] for score in cell["scores"]] for cell in await bench.cells()] == [["valid"]] * 2


async def test_a_table_that_is_deleted_takes_its_runs_and_no_others(
    running: Service, bench: Bench, provider: Provider, database: str
) -> None:
    other = await made(running, provider, tracks=("three",), name="other")
    provider.on(behaviour="hang", model="one")
    provider.on(delay_ms=1000, model="three")
    await start(bench)
    run = await start(other)
    await asked(provider, count=6)

    await delete(bench, bench.id, "Benchmark")
    ended = await other.ended(run)

    connection = await asyncpg.connect(database)
    items = await connection.fetchval("SELECT count(*) FROM run_items")
    await connection.close()
    assert (ended["progress"]["succeeded"], items) == (2, 2)


async def test_an_answer_that_the_database_refuses_fails_its_cell_and_no_other(
    running: Service, provider: Provider, database: str
) -> None:
    bench = await made(running, provider, tracks=("one",), inputs=("fine", "poison", "good"))
    await execute(database, REFUSE)
    try:
        run = await bench.generate()
    finally:
        await execute(database, ACCEPT)

    kinds = [(item["status"], item["error"] and item["error"]["kind"]) for item in run["items"]["nodes"]]
    assert kinds == [("SUCCEEDED", None), ("FAILED", "INTERNAL"), ("SUCCEEDED", None)]
    assert len(provider.asked()) == 3
