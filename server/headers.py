from collections.abc import Sequence

from starlette.types import ASGIApp, Message, Receive, Scope, Send

# What an answer that says nothing of its own may do in a browser: nothing.
DEFAULTS = {
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


ENCODED = [(name.encode(), value.encode()) for name, value in DEFAULTS.items()]


def with_defaults(headers: Sequence[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    present = {name for name, _ in headers}
    return [*headers, *(header for header in ENCODED if header[0] not in present)]


class SafeHeaders:
    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = with_defaults(message["headers"])
            await send(message)

        await self.app(scope, receive, send_safely)
