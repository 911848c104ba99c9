"""Sockets and streams that stay open, and end with what let them in."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import orjson
import pytest
from structlog.testing import capture_logs
from websockets.asyncio.client import ClientConnection

from server.app import create_app
from server.beside import always
from server.database import connector, write_engine
from server.door import Door
from server.listening import Listener
from server.settings import Settings
from tests.live import serving
from tests.tokens import ask, bearing, client_of, granted, socket_to
from tests.waiting import eventually

CHANGES = "subscription { overviewChanges { totals { agentCount } } }"
VIEWER = "{ viewer { name } }"
REVOKE_ALL = "UPDATE api_tokens SET revoked_at = now()"


@pytest.fixture
async def host(database: str, tmp_path: Path) -> AsyncIterator[str]:
    async with serving(create_app(Settings(data_dir=tmp_path), database)) as host:
        yield host


async def execute(dsn: str, statement: str) -> None:
    connection = await asyncpg.connect(dsn)
    await connection.execute(statement)
    await connection.close()


async def say(socket: ClientConnection, **message: object) -> None:
    await socket.send(orjson.dumps(message).decode())


async def hear(socket: ClientConnection) -> Any:
    return orjson.loads(await socket.recv())


async def closing(socket: ClientConnection) -> tuple[int, str]:
    await socket.wait_closed()
    return socket.close_code or 0, socket.close_reason or ""


async def introduced(socket: ClientConnection, **payload: object) -> ClientConnection:
    await say(socket, type="connection_init", payload=payload)
    assert await hear(socket) == {"type": "connection_ack"}
    return socket


async def subscribed(socket: ClientConnection) -> ClientConnection:
    await say(socket, type="subscribe", id="1", payload={"query": CHANGES})
    assert (await hear(socket))["payload"]["data"]["overviewChanges"] is not None
    return socket


async def viewer(socket: ClientConnection) -> str:
    await say(socket, type="subscribe", id="v", payload={"query": VIEWER})
    name = (await hear(socket))["payload"]["data"]["viewer"]["name"]
    assert (await hear(socket))["type"] == "complete"
    return str(name)


async def is_shut(host: str) -> bool:
    async with client_of(host) as client:
        return (await client.post("/graphql", json={"query": VIEWER})).status_code == 401


async def test_a_socket_needs_no_token_as_long_as_the_door_is_open(host: str) -> None:
    async with socket_to(host) as socket:
        assert await viewer(await introduced(socket)) == "local"


async def test_a_socket_brings_its_token_in_a_header(host: str, database: str) -> None:
    secret = await granted(database)
    await eventually(lambda: is_shut(host))

    async with socket_to(host, secret) as socket:
        assert await viewer(await introduced(socket)) == "admin"


@pytest.mark.parametrize("name", ["authorization", "Authorization"])
async def test_a_socket_brings_its_token_in_its_first_message(host: str, database: str, name: str) -> None:
    secret = await granted(database)
    await eventually(lambda: is_shut(host))

    async with socket_to(host) as socket:
        assert await viewer(await introduced(socket, **{name: f"Bearer {secret}"})) == "admin"


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        ({}, "A bearer token is needed."),
        ({"authorization": 7}, "A bearer token is needed."),
        ({"authorization": "Bearer assay_none"}, "The token is unknown, expired or revoked."),
    ],
)
async def test_a_socket_without_a_token_is_closed(
    host: str, database: str, payload: dict[str, object], reason: str
) -> None:
    await granted(database)
    await eventually(lambda: is_shut(host))

    async with socket_to(host) as socket:
        await say(socket, type="connection_init", payload=payload)
        await say(socket, type="subscribe", id="1", payload={"query": VIEWER})
        assert await closing(socket) == (4401, reason)


async def test_a_revoked_token_closes_its_sockets_and_no_others(host: str, database: str) -> None:
    stays, goes = await granted(database, "stays"), await granted(database, "goes")
    async with socket_to(host, stays) as staying, socket_to(host, goes) as going, socket_to(host, goes) as idle:
        for socket in (staying, going):
            await subscribed(await introduced(socket))
        await introduced(idle)

        await execute(database, f"{REVOKE_ALL} WHERE name = 'goes'")

        assert await closing(going) == (4401, "The token was revoked.")
        assert await closing(idle) == (4401, "The token was revoked.")
        assert await viewer(staying) == "stays"


async def test_an_expired_token_closes_its_socket(host: str, database: str) -> None:
    secret = await granted(database, expires_at=datetime.now(UTC) + timedelta(seconds=2))
    async with socket_to(host, secret) as socket, client_of(host, secret) as client:
        await subscribed(await introduced(socket))

        assert await closing(socket) == (4401, "The token has expired.")
        assert (await client.post("/graphql", json={"query": VIEWER})).status_code == 401


async def test_the_first_token_closes_sockets_that_were_let_in_without_one(host: str, database: str) -> None:
    async with socket_to(host) as socket:
        await subscribed(await introduced(socket))

        await granted(database)

        assert await closing(socket) == (4401, "A bearer token is needed from now on.")


async def test_a_stream_needs_a_token_like_any_request(host: str, database: str) -> None:
    await granted(database)
    await eventually(lambda: is_shut(host))

    async with client_of(host) as client:
        response = await client.post("/graphql", json={"query": CHANGES}, headers={"accept": "text/event-stream"})

    assert response.status_code == 401
    assert response.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("lasts", "reason"), [(None, "The token was revoked."), (timedelta(seconds=2), "The token has expired.")]
)
async def test_a_stream_ends_with_its_token_and_says_so(
    host: str, database: str, lasts: timedelta | None, reason: str
) -> None:
    secret = await granted(database, expires_at=datetime.now(UTC) + lasts if lasts else None)
    headers = {"accept": "text/event-stream", **bearing(secret)}
    async with (
        client_of(host) as client,
        client.stream("POST", "/graphql", json={"query": CHANGES}, headers=headers) as response,
    ):
        chunks = response.aiter_text()
        first = await anext(chunks)
        if lasts is None:
            await execute(database, REVOKE_ALL)
        rest = "".join([chunk async for chunk in chunks])

    assert first == 'event: next\r\ndata: {"data":{"overviewChanges":{"totals" : {"agentCount" : 0}}}}\r\n\r\n'
    error = f'{{"message":"{reason}","extensions":{{"code":"UNAUTHENTICATED"}}}}'
    assert rest == f'event: next\r\ndata: {{"errors":[{error}]}}\r\n\r\nevent: complete\r\ndata: \r\n\r\n'


async def test_operations_of_one_socket_each_have_a_transaction_of_their_own(host: str) -> None:
    register = """mutation($id: String!) {
      registerAgent(input: { agentId: $id }) { ... on RegisterAgentPayload { agent { agentId } } }
    }"""
    names = [f"agent-{number}" for number in range(12)]
    async with socket_to(host) as socket, client_of(host) as client:
        await introduced(socket)
        for name in names:
            payload = {"query": register, "variables": {"id": name}}
            await say(socket, type="subscribe", id=name, payload=payload)
        answers = [await hear(socket) for _ in range(2 * len(names))]
        stored = await ask(client, "{ agents { nodes { agentId } } }")

    told = {each["id"]: each["payload"]["data"]["registerAgent"] for each in answers if each["type"] == "next"}
    assert told == {name: {"agent": {"agentId": name}} for name in names}
    assert sorted(each["agentId"] for each in stored["data"]["agents"]["nodes"]) == sorted(names)


async def test_sockets_that_break_off_leave_nothing_behind(database: str, tmp_path: Path) -> None:
    app = create_app(Settings(data_dir=tmp_path), database)
    async with serving(app) as host:
        before = {task for task in asyncio.all_tasks() if not task.done()}
        sockets = await asyncio.gather(*(socket_to(host) for _ in range(200)))
        await asyncio.gather(*(introduced(socket) for socket in sockets))
        await asyncio.gather(*(subscribed(socket) for socket in sockets))
        services = app.state.services
        assert services.feeds["overview"].subscribers == 200

        for socket in sockets:
            socket.transport.abort()
        await asyncio.gather(*(socket.wait_closed() for socket in sockets))

        async def is_gone() -> bool:
            left = {task for task in asyncio.all_tasks() if not task.done()} - before
            return services.feeds["overview"].subscribers == 0 and left <= {asyncio.current_task()}

        await eventually(is_gone)
        assert services.database.engine.pool.checkedout() == 0


async def test_streams_that_break_off_leave_nothing_behind(database: str, tmp_path: Path) -> None:
    app = create_app(Settings(data_dir=tmp_path), database)
    body = orjson.dumps({"query": CHANGES})
    head = (
        "POST /graphql HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )

    async def opened(host: str) -> asyncio.StreamWriter:
        reader, writer = await asyncio.open_connection(*host.split(":"))
        writer.write(head.encode() + body)
        await reader.readuntil(b"overviewChanges")
        return writer

    async with serving(app) as host:
        feed = app.state.services.feeds["overview"]
        before = {task for task in asyncio.all_tasks() if not task.done()}
        writers = await asyncio.gather(*(opened(host) for _ in range(50)))
        assert feed.subscribers == 50

        for writer in writers:
            writer.transport.abort()

        async def is_gone() -> bool:
            left = {task for task in asyncio.all_tasks() if not task.done()} - before
            return feed.subscribers == 0 and left <= {asyncio.current_task()}

        await eventually(is_gone)


async def test_a_database_that_stays_away_ends_what_cannot_be_examined(
    host: str, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.door.PATIENCE", 0.5)
    async with socket_to(host) as socket:
        await introduced(socket)
        name = database.rpartition("/")[2]
        other = await asyncpg.connect(database.rpartition("/")[0] + "/postgres")
        try:
            await other.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
            await other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name)

            assert await closing(socket) == (1013, "The database cannot be reached.")
        finally:
            await other.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')
            await other.close()


async def test_a_request_that_cannot_be_examined_is_told_to_come_again(database: str, tmp_path: Path) -> None:
    secret = await granted(database)
    unreachable = "postgresql://nobody:none@127.0.0.1:1/none"
    settings = Settings(data_dir=tmp_path, read_database_url=database)
    async with serving(create_app(settings, unreachable)) as host, client_of(host, secret) as client:
        response: httpx.Response = await client.post("/graphql", json={"query": VIEWER})

    assert response.status_code == 503
    assert response.json()["errors"][0]["extensions"] == {"code": "UNAVAILABLE"}


async def test_what_stands_beside_the_requests_is_put_up_again_when_it_falls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.beside.PAUSE", 0)
    runs = 0
    stands = asyncio.Event()

    async def run() -> None:
        nonlocal runs
        runs += 1
        if runs < 3:
            raise RuntimeError
        stands.set()
        await asyncio.Event().wait()

    with capture_logs() as logs:
        task = asyncio.create_task(always(run))
        await stands.wait()
        task.cancel()

    assert [entry["event"] for entry in logs] == 2 * ["service_failed"]


async def test_a_stay_ends_once(database: str) -> None:
    engine = write_engine(database)
    async with Door(engine, Listener(connector(database)), is_local=True).staying() as stay:
        stay.end("first")
        stay.end("second")
        await asyncio.Event().wait()
    stay.end("late")
    await engine.dispose()

    assert (stay.code, stay.reason) == (4401, "first")
