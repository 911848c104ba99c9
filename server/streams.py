"""The two ways a subscription travels: server-sent events and the `graphql-transport-ws` protocol."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress

import orjson
from starlette.types import Message, Send
from starlette.websockets import WebSocket, WebSocketDisconnect
from strawberry.asgi import ASGIWebSocketAdapter
from strawberry.http.exceptions import NonJsonMessageReceived, WebSocketDisconnected
from strawberry.http.streaming import SSETransport

from server.negotiation import prefers_stream

# A spliced answer may break lines between its tokens, where a space means the same; inside strings JSON escapes them.
LINE_BREAKS = str.maketrans("\r\n", "  ")


def authorization_of(socket: WebSocket, params: Mapping[str, object]) -> str | None:
    """What the first message says, which pages can send, or else the header of the handshake."""
    said = next((value for name, value in params.items() if name.lower() == "authorization"), None)
    return said if isinstance(said, str) else socket.headers.get("authorization")


async def close(send: Send, code: int, reason: str) -> None:
    # Who has gone meanwhile needs no good-bye.
    with suppress(OSError, RuntimeError):
        await send({"type": "websocket.close", "code": code, "reason": reason})


def farewell(reason: str, code: str) -> Message:
    """The end of a stream, told as an error of its operation."""
    error = {"message": reason, "extensions": {"code": code}}
    told = EVENTS.encode_event("next", orjson.dumps({"errors": [error]}).decode())
    return {"type": "http.response.body", "body": (told + EVENTS.encode_complete()).encode(), "more_body": False}


class EventStream(SSETransport):
    def accepts(self, accept: str) -> bool:
        return prefers_stream(accept)

    def encode_event(self, event: str, data: str | None = None) -> str:
        return super().encode_event(event, data and data.translate(LINE_BREAKS))


EVENTS = EventStream()


class TextSocket(ASGIWebSocketAdapter):
    """Sends text frames, which is all that clients of the protocol read, and closes on messages of another shape."""

    async def iter_json(self, *, ignore_parsing_errors: bool = False) -> AsyncGenerator[object, None]:
        async for message in super().iter_json(ignore_parsing_errors=ignore_parsing_errors):
            if not well_formed(message):
                raise NonJsonMessageReceived
            yield message

    async def send_json(self, message: Mapping[str, object]) -> None:
        try:
            await self.ws.send_text(self.view.encode_json_string(message))
        except WebSocketDisconnect as gone:
            raise WebSocketDisconnected from gone


def well_formed(message: object) -> bool:
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        return False
    if message["type"] not in {"subscribe", "complete"}:
        return True
    if not isinstance(message.get("id"), str):
        return False
    return message["type"] == "complete" or operation_formed(message.get("payload"))


def operation_formed(payload: object) -> bool:
    return (
        isinstance(payload, dict)
        and isinstance(payload.get("query"), str)
        and isinstance(payload.get("variables"), dict | None)
        and isinstance(payload.get("operationName"), str | None)
    )
