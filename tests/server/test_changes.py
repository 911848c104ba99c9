"""Changes on their way to whoever watches, between two servers on one database."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import orjson
import pytest

from interchange.imports import import_tree
from server.app import create_app
from server.changes import Feed
from server.database import write_engine
from server.demo import ROOT
from server.files import file_store
from server.settings import Settings
from tests.live import serving
from tests.node import run_script
from tests.tokens import ask, client_of, granted, socket_to

CHANGES = "subscription { overviewChanges { agents { totalCount } totals { suiteCount } } }"
# An agent shows in the overview once it has a defect.
WRITE = """
mutation Write($id: String!, $defect: DefectInput!) {
  registerAgent(input: { agentId: $id }) { __typename }
  confirmDefect(input: { agentId: $id, defectId: "d", defect: $defect }) { __typename }
}
"""
AGENT = """
INSERT INTO agents (agent_id, name, keeper, manifest_state, listed) VALUES ($1, $1, 'API', 'INVALID', true)
"""


@asynccontextmanager
async def server(dsn: str, data: Path) -> AsyncIterator[str]:
    async with serving(create_app(Settings(data_dir=data), dsn)) as host:
        yield host


@pytest.fixture
async def host(database: str, tmp_path: Path) -> AsyncIterator[str]:
    async with server(database, tmp_path) as host:
        yield host


@pytest.fixture
async def other_host(database: str, tmp_path: Path) -> AsyncIterator[str]:
    async with server(database, tmp_path) as host:
        yield host


async def over_socket(host: str, secret: str | None = None) -> AsyncGenerator[Any, None]:
    async with socket_to(host, secret) as socket:
        await socket.send('{"type": "connection_init"}')
        await socket.recv()
        message = {"type": "subscribe", "id": "1", "payload": {"query": CHANGES}}
        await socket.send(orjson.dumps(message).decode())
        async for frame in socket:
            yield orjson.loads(frame)["payload"]["data"]["overviewChanges"]


async def over_events(host: str) -> AsyncGenerator[Any, None]:
    headers = {"accept": "text/event-stream"}
    async with (
        httpx.AsyncClient(timeout=30) as client,
        client.stream("POST", f"http://{host}/graphql", json={"query": CHANGES}, headers=headers) as response,
    ):
        async for line in response.aiter_lines():
            if line.startswith("data: {"):
                yield orjson.loads(line.removeprefix("data: "))["data"]["overviewChanges"]


async def until(events: AsyncGenerator[Any, None], *, agents: int) -> list[int]:
    """The counts of agents that arrive, up to the one that is waited for."""
    seen: list[int] = []
    async with asyncio.timeout(30):
        while not seen or seen[-1] != agents:
            seen.append((await anext(events))["agents"]["totalCount"])
    return seen


def defect(digest: str) -> dict[str, Any]:
    observations = [
        {
            "observationId": name,
            "caseSha256": digest,
            "evidencePath": f"observations/{name}.json",
            "evidenceSha256": digest,
        }
        for name in ("one", "two")
    ]
    texts = dict.fromkeys(("title", "expectedBehavior", "observedBehavior", "confirmedBy"), "said")
    digests = {"sourceSha256": digest, "caseSha256": digest}
    return {**texts, **digests, "confirmedAt": "2026-01-01T00:00:00Z", "observations": observations}


async def write(host: str, *names: str) -> None:
    async with client_of(host) as client:
        digest = (await client.post("/files", content=b"evidence")).json()["sha256"]
        for name in names:
            answer = await ask(client, WRITE, id=name, defect=defect(digest))
            assert answer["data"]["confirmDefect"]["__typename"] == "ConfirmDefectPayload"


@pytest.mark.parametrize("watch", [over_socket, over_events])
async def test_a_change_that_another_server_made_is_told(host: str, other_host: str, watch: Any) -> None:
    async with aclosing(watch(host)) as events:
        first = await anext(events)
        await write(other_host, "one")
        second = await until(events, agents=1)

    assert first == {"agents": {"totalCount": 0}, "totals": {"suiteCount": 0}}
    assert second[-1] == 1


async def test_many_changes_are_told_together_and_the_last_one_always(host: str, other_host: str) -> None:
    names = [f"agent-{number}" for number in range(40)]
    async with aclosing(over_socket(host)) as events:
        await anext(events)
        await asyncio.gather(write(host, *names[:20]), write(other_host, *names[20:]))
        told = await until(events, agents=40)

    assert told == sorted(told)
    assert len(told) < 20


async def test_an_import_is_told(host: str, database: str, tmp_path: Path) -> None:
    engine = write_engine(database)
    async with aclosing(over_events(host)) as events, engine.connect() as connection:
        await anext(events)
        store = file_store(Settings(data_dir=tmp_path))
        await import_tree(connection, ROOT, "demo", batch=store.batch)
        told = await anext(events)
    await engine.dispose()

    assert told["totals"]["suiteCount"] > 0


async def test_a_change_that_nobody_announced_is_found(
    host: str, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.changes.LOOK", 0.2)
    connection = await asyncpg.connect(database)
    async with aclosing(over_socket(host)) as events:
        await anext(events)
        await write(host, "announced")
        await until(events, agents=1)
        await connection.execute(AGENT, "unannounced")
        told = await until(events, agents=2)
    await connection.close()

    assert told[-1] == 2


async def test_changes_are_told_again_after_the_listening_connection_was_cut(host: str, database: str) -> None:
    connection = await asyncpg.connect(database)
    async with aclosing(over_socket(host)) as events:
        await anext(events)
        await connection.execute(AGENT, "unheard")
        await connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
            " AND datname = current_database()"
        )
        told = await until(events, agents=1)
        await write(host, "heard")
        told += await until(events, agents=2)
    await connection.close()

    assert set(told) == {1, 2}


async def test_who_is_slow_hears_once_of_many_changes() -> None:
    feed = Feed()
    async with aclosing(feed.changes(pause=0)) as changes:
        await anext(changes)
        for _ in range(1000):
            feed.change()
        await anext(changes)
        waiting = asyncio.ensure_future(anext(changes))
        await asyncio.sleep(0)
        is_idle = not waiting.done()
        feed.change()
        await waiting

    assert is_idle
    assert feed.subscribers == 0


async def test_a_client_of_the_protocol_receives_what_another_server_changed(
    host: str, other_host: str, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Before its version 22, Node brings a WebSocket on request.
    monkeypatch.setenv("NODE_OPTIONS", "--experimental-websocket")
    secret = await granted(database)
    async with client_of(other_host, secret) as client:
        digest = (await client.post("/files", content=b"evidence")).json()["sha256"]
    change = orjson.dumps({"query": WRITE, "variables": {"id": "one", "defect": defect(digest)}}).decode()

    told = await run_script("changes.mjs", host, other_host, secret, change)

    assert (told[0], told[-1]) == ({"agents": {"totalCount": 0}}, {"agents": {"totalCount": 1}})
