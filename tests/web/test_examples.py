from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

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


@pytest.fixture
async def client(service: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=service) as client:
        yield client


def found(answer: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        answer = answer[name]
    return answer


@pytest.mark.parametrize("name", EXAMPLES)
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
