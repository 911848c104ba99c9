"""Results on their way into the database: gathered, so that one transaction stores many, and kept until it has."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import structlog
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine

from resolvers import generating, scoring
from resolvers.acting import Acting
from resolvers.ending import finish
from resolvers.generating import Generated
from resolvers.scoring import Scored
from resolvers.transient import is_transient

log = structlog.get_logger(__name__)

Result = Generated | Scored
Tell = Callable[[set[str]], None]

GATHERING: Final = 0.01
PAUSE: Final = 0.25
TRIES: Final = 5
ACTOR: Final = "system"


@dataclass(slots=True)
class _Waiting:
    result: Result
    stored: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Storer:
    """Stores results one batch after the other. What cannot be stored now is tried again until it can be."""

    def __init__(self, engine: AsyncEngine, tell: Tell, failures: tuple[type[Exception], ...]) -> None:
        self._engine = engine
        self._tell = tell
        self._failures = failures
        self._waiting: list[_Waiting] = []
        self._told = asyncio.Event()

    async def store(self, result: Result) -> None:
        """Comes back once the result is stored, or its item was found to be another worker's."""
        waiting = _Waiting(result)
        self._waiting.append(waiting)
        self._told.set()
        await waiting.stored

    async def run(self) -> None:
        while True:
            await self._told.wait()
            await asyncio.sleep(GATHERING)
            self._told.clear()
            batch, self._waiting = self._waiting, []
            await asyncio.gather(*(self._stored(of_run) for of_run in _by_run(batch)))

    async def _stored(self, batch: Sequence[_Waiting]) -> None:
        while True:
            try:
                await self._tried(batch)
                break
            except self._failures:
                log.warning("results_not_stored", results=len(batch), exc_info=True)
                await asyncio.sleep(PAUSE)
        for waiting in batch:
            if not waiting.stored.done():
                waiting.stored.set_result(None)

    async def _tried(self, batch: Sequence[_Waiting]) -> None:
        run_pk = batch[0].result.item.run_pk
        results: Any = [waiting.result for waiting in batch]
        store: Callable[..., Awaitable[Any]] = generating.store if isinstance(results[0], Generated) else scoring.store
        await committed(self._engine, self._tell, lambda acting: store(acting, run_pk, results))
        await committed(self._engine, self._tell, lambda acting: finish(acting, [run_pk]))


def _by_run(batch: Sequence[_Waiting]) -> list[list[_Waiting]]:
    found: dict[tuple[type, int], list[_Waiting]] = {}
    for waiting in batch:
        found.setdefault((type(waiting.result), waiting.result.item.run_pk), []).append(waiting)
    return list(found.values())


async def committed(engine: AsyncEngine, tell: Tell, work: Callable[[Acting], Awaitable[Any]]) -> Any:
    """Do it in a transaction, again where others were in the way, and tell of it afterwards."""
    for tries in range(1, TRIES + 1):
        acting: Acting | None = None
        try:
            async with engine.begin() as connection:
                acting = Acting(connection, ACTOR)
                done = await work(acting)
        except DBAPIError as error:
            if tries == TRIES or not is_transient(error):
                raise
            continue
        tell(acting.topics)
        return done
    raise AssertionError("the last try returns or raises")
