from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any, NewType

import httpx
import orjson
import pytest
import strawberry
from starlette.applications import Starlette
from starlette.routing import Route, WebSocketRoute
from strawberry.schema.config import StrawberryConfig
from strawberry.types.scalar import ScalarDefinition
from structlog.testing import capture_logs
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Subprotocol

from schema.masking import MaskedSchema
from server.http import GraphQLView
from tests.live import serving

# JSON as the database finishes it: with line breaks between its tokens.
Document = NewType("Document", bytes)
DOCUMENT = Document(b'{"a":\r\n"line\\nbreak"\n}')


@strawberry.type
class Query:
    @strawberry.field
    def greeting(self) -> str:
        return "Hello"


@strawberry.type
class Mutation:
    @strawberry.mutation
    def rename(self, name: str) -> str:
        return name


@strawberry.type
class Subscription:
    @strawberry.subscription
    async def documents(self) -> AsyncGenerator[Document, None]:
        yield DOCUMENT
        yield DOCUMENT

    @strawberry.subscription
    async def breaking(self) -> AsyncGenerator[int, None]:
        yield 1
        raise RuntimeError("secret at /etc/assay")


SCALARS: Mapping[object, ScalarDefinition] = {Document: strawberry.scalar(name="Document", serialize=orjson.Fragment)}


def application() -> Starlette:
    schema = MaskedSchema(Query, Mutation, Subscription, config=StrawberryConfig(scalar_map=SCALARS))
    view = GraphQLView(schema, allowed_origins=["https://friend.example"])
    return Starlette(routes=[Route("/graphql", view), WebSocketRoute("/graphql", view)])


@pytest.fixture(scope="module")
async def host() -> AsyncIterator[str]:
    async with serving(application()) as host:
        yield host


def socket_to(host: str, protocol: str = "graphql-transport-ws", **options: Any) -> connect:
    return connect(f"ws://{host}/graphql", subprotocols=[Subprotocol(protocol)], **options)


async def say(socket: ClientConnection, **message: object) -> None:
    await socket.send(orjson.dumps(message).decode())


async def hear(socket: ClientConnection) -> Any:
    frame = await socket.recv()
    assert isinstance(frame, str)
    return orjson.loads(frame)


async def greet(socket: ClientConnection) -> None:
    await say(socket, type="connection_init")
    assert await hear(socket) == {"type": "connection_ack"}


async def closing(socket: ClientConnection) -> tuple[int, str]:
    with pytest.raises(ConnectionClosed) as closed:
        await socket.recv()
    assert closed.value.rcvd is not None
    return closed.value.rcvd.code, closed.value.rcvd.reason


async def events(host: str, query: str, accept: str = "text/event-stream") -> httpx.Response:
    async with httpx.AsyncClient() as client:
        return await client.post(f"http://{host}/graphql", json={"query": query}, headers={"accept": accept})


async def test_a_subscription_over_a_socket_arrives_in_text_frames(host: str) -> None:
    async with socket_to(host) as socket:
        await greet(socket)
        await say(socket, type="subscribe", id="1", payload={"query": "subscription { documents }"})
        frames = [await hear(socket) for _ in range(3)]
    payload = {"data": {"documents": {"a": "line\nbreak"}}}
    assert frames == [
        {"type": "next", "id": "1", "payload": payload},
        {"type": "next", "id": "1", "payload": payload},
        {"type": "complete", "id": "1"},
    ]


async def test_queries_and_mutations_run_over_a_socket_too(host: str) -> None:
    async with socket_to(host) as socket:
        await greet(socket)
        await say(socket, type="subscribe", id="1", payload={"query": 'mutation { rename(name: "x") }'})
        answer = await hear(socket)
    assert answer["payload"] == {"data": {"rename": "x"}}


async def test_a_fault_in_the_document_is_an_error_of_its_operation(host: str) -> None:
    async with socket_to(host) as socket:
        await greet(socket)
        await say(socket, type="subscribe", id="1", payload={"query": "subscription { nothing }"})
        answer = await hear(socket)
    assert answer["type"] == "error"
    assert answer["payload"][0]["message"] == "Cannot query field 'nothing' on type 'Subscription'."


async def test_an_unexpected_error_in_a_stream_is_masked(host: str) -> None:
    with capture_logs() as logs:
        async with socket_to(host) as socket:
            await greet(socket)
            await say(socket, type="subscribe", id="1", payload={"query": "subscription { breaking }"})
            first, second = await hear(socket), await hear(socket)
    [entry] = logs
    [error] = second["payload"]["errors"]
    assert first["payload"] == {"data": {"breaking": 1}}
    assert error["extensions"] == {"code": "INTERNAL", "errorId": entry["error_id"]}
    assert "secret" not in str(second)


async def test_the_legacy_protocol_is_not_spoken(host: str) -> None:
    async with socket_to(host, "graphql-ws") as socket:
        assert await closing(socket) == (4406, "Subprotocol not acceptable")


async def test_nothing_runs_before_the_connection_is_acknowledged(host: str) -> None:
    async with socket_to(host) as socket:
        await say(socket, type="subscribe", id="1", payload={"query": "{ greeting }"})
        assert await closing(socket) == (4401, "Unauthorized")


@pytest.mark.parametrize(
    "message",
    [
        "no json",
        "[]",
        "{}",
        '{"type": 1}',
        '{"type": "subscribe"}',
        '{"type": "subscribe", "id": [], "payload": {"query": "{ greeting }"}}',
        '{"type": "subscribe", "id": "1", "payload": []}',
        '{"type": "subscribe", "id": "1", "payload": {"query": 1}}',
        '{"type": "subscribe", "id": "1", "payload": {"query": "{ greeting }", "variables": []}}',
        '{"type": "complete", "id": {}}',
        b"\x00",
    ],
)
async def test_a_message_of_another_shape_closes_the_socket(host: str, message: str | bytes) -> None:
    async with socket_to(host) as socket:
        await greet(socket)
        await socket.send(message)
        code, _ = await closing(socket)
    assert code == 4400


async def test_a_page_on_another_site_cannot_open_a_socket(host: str) -> None:
    with pytest.raises(InvalidStatus, match="403"):
        await socket_to(host, origin="https://stranger.example")


@pytest.mark.parametrize("origin", ["https://friend.example", None])
async def test_a_page_that_is_allowed_can_open_a_socket(host: str, origin: str | None) -> None:
    async with socket_to(host, origin=origin) as socket:
        await greet(socket)


async def test_a_subscription_arrives_as_events_of_one_line_each(host: str) -> None:
    response = await events(host, "subscription { documents }")
    event = 'event: next\r\ndata: {"data":{"documents":{"a":  "line\\nbreak" }}}\r\n\r\n'
    assert response.headers["content-type"] == "text/event-stream"
    assert response.text == event + event + "event: complete\r\ndata: \r\n\r\n"


async def test_a_client_that_prefers_json_gets_json(host: str) -> None:
    accept = "application/graphql-response+json, application/json, text/event-stream"
    response = await events(host, "{ greeting }", accept)
    assert response.json() == {"data": {"greeting": "Hello"}}


async def test_a_subscription_is_not_answered_as_plain_json(host: str) -> None:
    response = await events(host, "subscription { documents }", "application/json")
    assert response.status_code == 406


async def test_a_mutation_by_get_does_not_run_as_a_stream(host: str) -> None:
    async with httpx.AsyncClient(headers={"accept": "text/event-stream"}) as client:
        response = await client.get(f"http://{host}/graphql", params={"query": 'mutation { rename(name: "x") }'})
    assert response.text.startswith('event: next\r\ndata: {"errors":[{"message":"mutations are not allowed"}]}')
