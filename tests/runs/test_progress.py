"""runProgress as a client over Server-Sent Events reads it."""

import json
from collections.abc import AsyncIterator
from typing import Any

from tests.provider import Provider
from tests.runs.service import Bench, Service

PROGRESS = "subscription ($run: ID!) { runProgress(runId: $run) { status progress { total done } finishedAt } }"


async def events(service: Service, run: str) -> AsyncIterator[dict[str, Any]]:
    """Each answer as it comes, until the stream ends."""
    body = {"query": PROGRESS, "variables": {"run": run}}
    headers = {"accept": "text/event-stream"}
    async with service.client.stream("POST", "/graphql", json=body, headers=headers) as response:
        name = ""
        async for line in response.aiter_lines():
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: ") and name == "next":
                yield json.loads(line.removeprefix("data: "))


async def progress(service: Service, run: str) -> list[dict[str, Any]]:
    return [event["data"]["runProgress"] async for event in events(service, run)]


async def test_the_first_event_comes_at_once_and_the_last_one_is_of_the_end(bench: Bench, provider: Provider) -> None:
    provider.on(delay_ms=2000)
    told = await progress(bench.service, await bench.start(generation={"trackIds": bench.tracks, "scope": "ALL"}))

    assert told[0]["progress"] == {"total": 4, "done": 0}
    assert (told[-1]["status"], told[-1]["progress"]) == ("SUCCEEDED", {"total": 4, "done": 4})
    assert told[-1]["finishedAt"] is not None


async def test_a_run_that_has_ended_is_told_of_once(bench: Bench) -> None:
    run = await bench.generate()

    [told] = await progress(bench.service, run["id"])

    assert told["status"] == "SUCCEEDED"


async def test_a_cancelled_run_ends_its_stream(bench: Bench, provider: Provider) -> None:
    provider.on(behaviour="hang")
    run = await bench.start(generation={"trackIds": bench.tracks, "scope": "ALL"})
    told: list[str] = []
    async for event in events(bench.service, run):
        if not told:
            await bench.service.act("cancelRun", "run { id }", id=run)
        told.append(event["data"]["runProgress"]["status"])

    assert told[-1] == "CANCELLED"


async def test_a_run_that_is_not_there_is_an_error(bench: Bench) -> None:
    [answer] = [event async for event in events(bench.service, "UnVuOjk5OTk=")]

    assert [error["message"] for error in answer["errors"]] == ["runId: there is no such run"]
