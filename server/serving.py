import asyncio
import gc
import signal
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import uvicorn
from starlette.applications import Starlette

from resolvers.access import any_holds
from server.app import create_app
from server.database import database_url, write_engine
from server.demo import load_demo
from server.files import file_store
from server.following import Followed, require_root
from server.http import MAX_BODY_BYTES
from server.logs import configure_logs
from server.migrations import migrate
from server.refusal import Fault, Refusal
from server.settings import Settings

BACKLOG = 2048
OBJECTS_BETWEEN_COLLECTIONS = 10_000


async def require_token(settings: Settings, dsn: str) -> None:
    """Refuses an address that others can reach as long as nobody could prove to be let in."""
    if settings.is_local:
        return
    engine = write_engine(dsn)
    try:
        async with engine.connect() as connection:
            if await any_holds(connection):
                return
    finally:
        await engine.dispose()
    message = f"others can reach {settings.host}, which needs a token: assay token create --name NAME --role ADMIN"
    raise Refusal(Fault("ASSAY_HOST", "TOKENS_NEEDED", message))


@contextmanager
def listening(settings: Settings) -> Iterator[socket.socket]:
    """Taken before anything starts: a port in use is told at once, and callers wait until we are ready."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family) as listener:
        # The last server's connections may linger; only a listening one is in our way.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((settings.host, settings.port))
            listener.listen(BACKLOG)
        except OSError as error:
            place = f"{settings.host}:{settings.port}"
            raise Refusal(Fault(place, "ADDRESS_UNAVAILABLE", f"{error.strerror}; set ASSAY_PORT")) from error
        yield listener


def address(listener: socket.socket) -> str:
    host, port, *_ = listener.getsockname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def spare_collections() -> None:
    """What a start has built stays: to look through it for garbage took a tenth of the time of a look-up."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)


class Service(uvicorn.Server):
    """Says where it is once it answers, and ends what would stay open before it waits for the rest."""

    def __init__(self, config: uvicorn.Config, app: Starlette) -> None:
        super().__init__(config)
        self._app = app

    async def startup(self, sockets: Sequence[socket.socket] | None = None) -> None:
        await super().startup(sockets=list(sockets or []))
        spare_collections()
        for listener in sockets or ():
            print(f"GraphiQL: {address(listener)}/graphql", flush=True)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.state.services.door.end_all()
        await super().shutdown(sockets)


def service(settings: Settings, dsn: str, tree: Followed | None) -> Service:
    app = create_app(settings, dsn, tree)
    config = uvicorn.Config(
        app,
        loop="uvloop",
        http="httptools",
        ws_max_size=MAX_BODY_BYTES,
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=settings.shutdown_seconds,
    )
    return Service(config, app)


async def prepare(settings: Settings, dsn: str, *, with_demo: bool, tree: Followed | None) -> None:
    await migrate(dsn)
    await require_token(settings, dsn)
    if with_demo:
        await load_demo(dsn, file_store(settings))
    if tree:
        await require_root(dsn, tree)


def serve(settings: Settings, *, with_demo: bool = False, tree: Followed | None = None) -> None:
    configure_logs(settings)
    # SIGTERM ends us as Ctrl-C does: through every `finally`, also while we start.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt), listening(settings) as listener, database_url(settings) as dsn:
        asyncio.run(prepare(settings, dsn, with_demo=with_demo, tree=tree))
        service(settings, dsn, tree).run(sockets=[listener])
