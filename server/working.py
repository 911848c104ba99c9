"""The worker of this process: in the server beside the requests, or by itself."""

import asyncio
import importlib
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import structlog
import uvloop
from prometheus_client import start_http_server

from resolvers.acting import RUNS, channel
from runs.figures import Counted
from runs.worker import Worker, WorkerSettings
from server.beside import running
from server.changes import Herald
from server.database import connector, database_url, write_engine
from server.door import FAILURES
from server.files import FileStore, file_store
from server.listening import Listener
from server.logs import configure_logs
from server.migrations import migrate
from server.refusal import Fault, Refusal
from server.settings import Settings

log = structlog.get_logger(__name__)

if TYPE_CHECKING:
    from runs.providers import Providers


class Lazily:
    """The providers of models, which take seconds to load: in a thread, when the first model is called."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._lock = asyncio.Lock()
        self._providers: Providers | None = None

    async def providers(self) -> Counted:
        async with self._lock:
            if self._providers is None:
                module = await asyncio.to_thread(importlib.import_module, "runs.providers")
                self._providers = module.Providers(module.CallPolicy(timeout=self._timeout))
            return Counted(self._providers)

    async def aclose(self) -> None:
        if self._providers is not None:
            await self._providers.aclose()


@asynccontextmanager
async def worker(
    dsn: str, files: FileStore, listener: Listener, herald: Herald, settings: Settings
) -> AsyncIterator[Worker]:
    """A worker with connections of its own, which hears of work that is announced."""
    chosen, lazily = WorkerSettings(settings.worker_concurrency), Lazily(settings.call_timeout)
    # A worker that is frozen or cut off in a transaction would keep others from the rows that it holds.
    idle = chosen.lease / 2
    engine, heart = write_engine(dsn, settings.worker_connections - 1, idle), write_engine(dsn, 1, idle)
    made = Worker(engine, heart, files, lazily.providers, herald.tell, FAILURES, chosen)
    listener.on(channel(RUNS), made.hear)
    try:
        yield made
    finally:
        await lazily.aclose()
        await engine.dispose()
        await heart.dispose()


async def work(dsn: str, files: FileStore, settings: Settings, stopping: asyncio.Event) -> None:
    """A worker by itself, until it is to stop."""
    engine = write_engine(dsn)
    listener, herald = Listener(connector(settings.listen_database_url or dsn)), Herald(engine)
    async with (
        worker(dsn, files, listener, herald, settings) as made,
        running(listener.run, herald.run),
        running(made.run),
    ):
        await stopping.wait()
        log.info("worker_stopping", finishes_or_gives_back="what is under way")
    await herald.send()
    await engine.dispose()


def show_figures(host: str, port: int) -> None:
    try:
        server, _ = start_http_server(port, addr=host)
    except OSError as error:
        place = f"{host}:{port}"
        raise Refusal(
            Fault(place, "ADDRESS_UNAVAILABLE", f"{error.strerror}; choose another --metrics-port")
        ) from error
    print(f"Figures: http://{host}:{server.server_port}/metrics", flush=True)


def work_until_stopped(settings: Settings, metrics_port: int | None = None) -> None:
    configure_logs(settings)
    if metrics_port is not None:
        show_figures(settings.host, metrics_port)
    # Ended like the server is: through every `finally`, also while we start.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt), database_url(settings) as dsn:
        uvloop.run(_worked(dsn, settings))


async def _worked(dsn: str, settings: Settings) -> None:
    await migrate(dsn)
    stopping, loop = asyncio.Event(), asyncio.get_running_loop()
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, stopping.set)
    print("Working.", flush=True)
    await work(dsn, file_store(settings), settings, stopping)
