from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from tests.provider import Provider
from tests.runs.service import Bench, made
from tests.runs.service import service as running

FILES = sorted((Path(__file__).parents[2] / "web" / "src" / "examples").glob("*.graphql"))
EXAMPLES = {file.stem: file.read_text() for file in FILES}

# What the demo tree has to show in each; a new example says it here.
SHOWN = {
    "1-overview": ("benchmarkOverview", "agents", "nodes"),
    "2-agents": ("agents", "nodes"),
    "3-defects": ("defects", "nodes"),
    "4-suites": ("suites", "nodes"),
    "5-refused": ("assessments", "nodes"),
    "6-node": ("node",),
}

# What needs a benchmark, which the demo tree has none of.
OF_RUNS = {"7-scores", "8-run", "9-progress"}


@pytest.fixture
async def client(service: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=service) as client:
        yield client


def found(answer: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        answer = answer[name]
    return answer


@pytest.mark.parametrize("name", sorted(EXAMPLES.keys() - OF_RUNS))
async def test_every_example_shows_something_of_the_demo_tree(client: httpx.AsyncClient, name: str) -> None:
    response = await client.post("/graphql", json={"query": EXAMPLES[name]})
    answer = response.json()
    assert response.status_code == 200
    assert "errors" not in answer
    assert found(answer["data"], SHOWN[name])


async def test_evidence_of_a_defect_can_be_downloaded(client: httpx.AsyncClient) -> None:
    response = await client.post("/graphql", json={"query": EXAMPLES["3-defects"]})
    defect = response.json()["data"]["defects"]["nodes"][0]
    observation = defect["observations"]["nodes"][0]
    file = await client.get(observation["evidence"]["url"])
    assert file.status_code == 200
    assert len(file.content) == observation["evidence"]["size"]
    assert file.headers["etag"] == f'"{observation["evidenceSha256"]}"'


@pytest.fixture
async def bench(database: str, tmp_path: Path, provider: Provider) -> AsyncIterator[Bench]:
    """The first benchmark of a service, whose ids the examples bring, and a worker."""
    async with running(database, tmp_path) as of_runs:
        bench = await made(of_runs, provider, tracks=["one"])
        await bench.set_metrics(await bench.add_metric("Words", "TOKEN_F1"))
        yield bench


async def test_the_examples_of_runs_start_follow_and_sum_up_the_first_one(bench: Bench) -> None:
    started = (await bench.service.ask(EXAMPLES["8-run"]))["startRun"]
    events = await followed(bench.service.client, EXAMPLES["9-progress"])
    [benchmark] = (await bench.service.ask(EXAMPLES["7-scores"]))["benchmarks"]["nodes"]

    assert started["run"]["generation"] == {"trackNames": ["one"], "cellCount": 2}
    assert events[-1]["data"]["runProgress"]["progress"]["succeeded"] == 2
    assert benchmark["runs"]["nodes"][0]["id"] == started["run"]["id"]
    assert benchmark["summary"]["tracks"][0]["scores"][0]["average"] == 1


async def followed(client: httpx.AsyncClient, subscription: str) -> list[Any]:
    headers = {"accept": "text/event-stream"}
    async with client.stream("POST", "/graphql", json={"query": subscription}, headers=headers) as stream:
        lines = [line[5:].strip() async for line in stream.aiter_lines() if line.startswith("data:")]
    return [orjson.loads(line) for line in lines if line]
