"""The provider in a thread of its own: it answers while the test's own loop is busy, and to other processes."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Any

import uvicorn

from tests.provider.app import create_app
from tests.provider.rules import Asked, Rule, Script


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider that runs at `root`, such as http://127.0.0.1:4711; OpenAI's protocol has its base URL there."""

    root: str
    _script: Script = field(repr=False)

    @property
    def base_url(self) -> str:
        return f"{self.root}/v1"

    def on(self, **rule: Any) -> None:
        """Behave so from now on: the words of tests.provider.rules.Rule."""
        self._script.add(Rule(**rule))

    def asked(self, model: str | None = None) -> list[Asked]:
        return self._script.asked(model)

    def most_at_once(self, model: str) -> int:
        return self._script.most_at_once(model)

    def reset(self) -> None:
        self._script.reset()


class _Announced(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()


@contextmanager
def providing() -> Iterator[Provider]:
    script = Script()
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    # A connection that is cut on command is an error to the server.
    server = _Announced(
        uvicorn.Config(create_app(script), log_config=None, log_level="critical", timeout_graceful_shutdown=1)
    )
    thread = Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    try:
        server.ready.wait()
        yield Provider("http://{}:{}".format(*listener.getsockname()), script)
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
