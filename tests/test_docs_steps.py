"""Pages that go step by step: each block works with what the ones before it answered."""

import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from graphql import OperationDefinitionNode, OperationType, parse

from server.app import create_app
from server.settings import Settings
from tests.databases import execute
from tests.live import serving
from tests.provider import Provider
from tests.test_docs import FENCED, PROJECT, STEPS, fits

PAGES = [PROJECT / "docs" / name for name in sorted(STEPS)]
SENT = ("csv", "text")
# What the pages' models answer, by their names and what they are asked; any other question is answered somehow.
ANSWERS: tuple[tuple[str, str, Any], ...] = (
    ("gpt-small", "When are you open?", "From nine to five."),
    ("claude-large", "When are you open?", "On weekdays, 9:00 to 17:00."),
    ("gpt-small", "How long does a refund take?", "Five working days."),
    ("claude-large", "How long does a refund take?", "It takes five working days."),
    ("gpt-small", "Is there parking?", "Yes, behind the house."),
    ("claude-large", "Is there parking?", "Yes, ten places behind the house."),
    ("gpt-small", "I lost my umbrella.", "Please call 030 1234."),
    ("claude-large", "I lost my umbrella.", "Please call 030 1234."),
    ("gpt-small", "Read the invoice.", {"number": "17", "total": 129.0, "due": "2026-11-03", "items": ["paper"]}),
    (
        "claude-large",
        "Read the invoice.",
        {"number": "0017", "total": 129.0, "due": "2026-11-30", "items": ["paper", "pens"]},
    ),
    ("gpt-large", "How well does that help?", {"score": 4, "polite": True, "why": "It answers the question."}),
)


PLAYED = """
UPDATE models
SET input_price = 1, output_price = 2, base_url = CASE provider WHEN 'openai' THEN 'ROOT/v1' ELSE 'ROOT' END
WHERE base_url IS NULL
"""


@pytest.fixture
async def client(
    database: str, tmp_path: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[httpx.AsyncClient]:
    monkeypatch.setenv("OPENAI_API_KEY", "a key")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "another key")
    for model, asked, answer in ANSWERS:
        provider.on(model=model, contains=asked, content=answer)
    async with (
        serving(create_app(Settings(data_dir=tmp_path), database)) as host,
        httpx.AsyncClient(base_url=f"http://{host}", timeout=30) as client,
    ):
        yield client


async def play_models(database: str, provider: Provider) -> None:
    """Pages call models where these are; here the provider of this test answers instead, at prices of its own."""
    await execute(database, PLAYED.replace("ROOT", provider.root))


def named(answer: Any) -> Iterator[tuple[str, Any]]:
    """`benchmark` is the id of what was answered under that name, `benchmarkVersion` its version."""
    if isinstance(answer, list):
        for item in answer:
            yield from named(item)
    elif isinstance(answer, dict):
        for name, value in answer.items():
            if isinstance(value, dict) and "id" in value:
                yield name, value["id"]
                yield f"{name}Version", value.get("version")
            yield from named(value)


def blocks(page: Path) -> Iterator[re.Match[str]]:
    return FENCED.finditer(page.read_text())


def operation(text: str) -> OperationDefinitionNode:
    [definition] = parse(text).definitions
    assert isinstance(definition, OperationDefinitionNode)
    return definition


async def answered(client: httpx.AsyncClient, text: str, known: dict[str, Any]) -> Any:
    asked = operation(text)
    variables = {each.variable.name.value: known[each.variable.name.value] for each in asked.variable_definitions or ()}
    body = {"query": text, "variables": variables}
    if asked.operation is not OperationType.SUBSCRIPTION:
        return (await client.post("/graphql", json=body)).json()
    found: Any = None
    async with client.stream("POST", "/graphql", json=body, headers={"accept": "text/event-stream"}) as stream:
        async for line in stream.aiter_lines():
            if line.startswith("data:") and line[5:].strip() and "payload" not in (event := orjson.loads(line[5:])):
                found = event
                if "runProgress" not in text:
                    break
    assert found is not None, "the stream ended without an event"
    return found


async def send(client: httpx.AsyncClient, text: str) -> str:
    headers = {"content-type": "application/octet-stream"}
    return str((await client.post("/files", content=text.encode(), headers=headers)).json()["sha256"])


def is_failure(answer: Any) -> bool:
    """A payload that was asked for and did not come."""
    return "errors" in answer or any(value in ({}, None) for value in answer["data"].values())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
async def test_every_step_is_answered_as_the_page_shows(
    client: httpx.AsyncClient, database: str, provider: Provider, page: Path
) -> None:
    known: dict[str, Any] = {}
    answer: Any = None
    for block in blocks(page):
        place = f"{page.name}:{block.string.count(chr(10), 0, block.start()) + 1}"
        if block[1] in SENT:
            known["file"] = await send(client, block[2])
        elif block[1] == "graphql":
            await play_models(database, provider)
            answer = await answered(client, block[2], known)
            assert not is_failure(answer), (place, answer)
            known.update({name: value for name, value in named(answer["data"]) if value is not None})
        elif block[1] == "json":
            assert fits(orjson.loads(block[2]), answer), f"{place}: {orjson.dumps(answer).decode()}"


def test_the_pages_go_through_every_kind_of_operation() -> None:
    text = "".join(page.read_text() for page in PAGES)
    kinds = {operation(block[2]).operation for block in FENCED.finditer(text) if block[1] == "graphql"}

    assert kinds == set(OperationType)
    assert len(re.findall("^## ", text, re.MULTILINE)) >= len(PAGES)
