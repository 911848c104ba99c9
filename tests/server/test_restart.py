"""A server process whose Postgres is killed while somebody watches."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import orjson

from tests.server.processes import eventually, postmaster
from tests.server.test_changes import CHANGES, WRITE, defect
from tests.server.test_serving import serving


def events(response: httpx.Response) -> Iterator[Any]:
    for line in response.iter_lines():
        if line.startswith("data: {"):
            yield orjson.loads(line.removeprefix("data: "))


def is_written(client: httpx.Client) -> bool:
    sent = client.post("/files", content=b"evidence")
    if sent.is_error:
        return False
    variables = {"id": "one", "defect": defect(sent.json()["sha256"])}
    answer = client.post("/graphql", json={"query": WRITE, "variables": variables})
    return answer.is_success and "errors" not in answer.json()


def shown(event: Any) -> int | None:
    return event["data"]["overviewChanges"]["agents"]["totalCount"] if event.get("data") else None


def is_said(event: Any) -> bool:
    """That it ended because the database was away for too long."""
    return any(error.get("extensions") == {"code": "UNAVAILABLE"} for error in event.get("errors", ()))


def test_a_stream_goes_on_after_postgres_was_killed_or_ends_and_says_why(data_dir: Path) -> None:
    headers = {"accept": "text/event-stream"}
    with (
        serving(data_dir) as (_, address),
        httpx.Client(base_url=address, timeout=60) as client,
        client.stream("POST", "/graphql", json={"query": CHANGES}, headers=headers) as response,
    ):
        told = events(response)
        first = next(told)
        os.kill(postmaster(data_dir), signal.SIGKILL)
        assert eventually(lambda: is_written(client), 60)

        last = next(event for event in told if is_said(event) or shown(event) == 1)

    assert shown(first) == 0
    assert last
