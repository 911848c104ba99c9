"""A server that dies in the middle: what was acknowledged is there, and the rest is whole or absent."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import httpx

from engine.encode import write_global_id
from tests.rules.crowd import Crowd, assert_consistent, write_pairs
from tests.rules.house import Answer, House, operation
from tests.server.processes import stream

ASSAY = Path(sys.executable).parent / "assay"
PEOPLE, CALLS = 32, 20


@contextmanager
def served(dsn: str, data: Path, port: int = 0) -> Iterator[tuple[subprocess.Popen[str], httpx.URL]]:
    settings = {"ASSAY_DATABASE_URL": dsn, "ASSAY_DATA_DIR": str(data), "ASSAY_PORT": str(port)}
    command = [str(ASSAY), "serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **settings}) as process:
        try:
            greeting = stream(process.stdout).readline().strip()
            yield process, httpx.URL(greeting.removeprefix("GraphiQL: "))
        finally:
            process.kill()


@dataclass
class Line:
    """Calls to a server that comes and goes; whoever is cut off waits until it is back."""

    client: httpx.AsyncClient
    answered: int = 0
    is_up: asyncio.Event = field(default_factory=asyncio.Event)

    async def act(self, mutation: str, given: Answer, _: str) -> Answer | None:
        await self.is_up.wait()
        body = {"query": operation(mutation), "variables": {"input": given}}
        try:
            answer = (await self.client.post("/graphql", json=body)).json()
        except httpx.TransportError:
            return None
        assert "errors" not in answer, answer
        self.answered += 1
        return cast(Answer, answer["data"][mutation])

    async def until(self, answered: int) -> None:
        while self.answered < answered:  # noqa: ASYNC110 -- any of the calls may be the one
            await asyncio.sleep(0.01)


async def test_writes_survive_the_server_that_took_them(home: House, database: str, root: Path, tmp_path: Path) -> None:
    pairs = write_pairs(root)
    await home.take(root)
    with served(database, tmp_path / "data") as (first, url):
        async with httpx.AsyncClient(base_url=url.join("/"), timeout=60) as client:
            line = Line(client)
            crowd = Crowd(line.act, pairs)
            line.is_up.set()
            people = asyncio.create_task(crowd.work(PEOPLE, CALLS, bulk=3))
            await line.until(PEOPLE * CALLS // 3)
            line.is_up.clear()
            first.kill()
            await asyncio.to_thread(first.wait)
            with served(database, tmp_path / "data", url.port or 0):
                line.is_up.set()
                await people

    assert crowd.unknown
    await assert_consistent(home, crowd, lambda pk: write_global_id("Assessment", pk), by_name=False)
