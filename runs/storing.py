"""Results on their way into the database: gathered, so that one transaction stores many, and kept until it has."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
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
from resolvers.transient import is_refused, is_transient
from runs import figures

log = structlog.get_logger(__name__)

Result = Generated | Scored
Tell = Callable[[set[str]], None]
# Results of one run and one kind are stored together.
Lane = tuple[type[Result], int]

GATHERING: Final = 0.01
PAUSE: Final = 0.25
GRACE: Final = 1.0
TRIES: Final = 5
ACTOR: Final = "system"


@dataclass(slots=True)
class _Waiting:
    result: Result
    stored: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Storer:
    """Stores the results of each run one batch after the other. What cannot be stored now is tried again."""

    def __init__(self, engine: AsyncEngine, tell: Tell, failures: tuple[type[Exception], ...]) -> None:
        self._engine = engine
        self._tell = tell
        self._failures = failures
        self._waiting: dict[Lane, list[_Waiting]] = {}
        self._storing: dict[Lane, asyncio.Task[None]] = {}

    async def store(self, result: Result) -> None:
        """Comes back once the result is stored, or its item was found to be another worker's.

        Raises what the database said where it will never take the result.
        """
        waiting, lane = _Waiting(result), (type(result), result.item.run_pk)
        self._waiting.setdefault(lane, []).append(waiting)
        if lane not in self._storing:
            self._storing[lane] = asyncio.create_task(self._store_all(lane))
        await waiting.stored

    async def aclose(self) -> None:
        """What is stored already has its run ended, if that was the last of it."""
        tasks = list(self._storing.values())
        if tasks:
            await asyncio.wait(tasks, timeout=GRACE)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _store_all(self, lane: Lane) -> None:
        try:
            await asyncio.sleep(GATHERING)
            while batch := self._waiting.pop(lane, None):
                await self._stored(batch)
                if lane not in self._waiting:
                    await self._finished(lane[1])
        finally:
            del self._storing[lane]

    async def _finished(self, run_pk: int) -> None:
        """End the run if that was the last of it. Where it fails, whoever looks after runs does it a little later."""
        with suppress(*self._failures):
            await committed(self._engine, self._tell, lambda acting: finish(acting, [run_pk]))

    async def _stored(self, batch: Sequence[_Waiting]) -> None:
        try:
            await self._persistently(batch)
        except Exception as error:
            if len(batch) == 1:
                _settle(batch[0], error)
                return
            # One of them is at fault, and not the others.
            for waiting in batch:
                await self._stored([waiting])
            return
        for waiting in batch:
            _settle(waiting)

    async def _persistently(self, batch: Sequence[_Waiting]) -> None:
        while True:
            try:
                return await self._tried(batch)
            except self._failures as error:
                if is_refused(error):
                    raise
                log.warning("results_not_stored", results=len(batch), exc_info=True)
                await asyncio.sleep(PAUSE)

    async def _tried(self, batch: Sequence[_Waiting]) -> None:
        run_pk = batch[0].result.item.run_pk
        results: Any = [waiting.result for waiting in batch]
        store: Callable[..., Awaitable[Any]] = generating.store if isinstance(results[0], Generated) else scoring.store
        stored = await committed(self._engine, self._tell, lambda acting: store(acting, run_pk, results))
        figures.end(results, stored)


def _settle(waiting: _Waiting, error: Exception | None = None) -> None:
    if waiting.stored.done():
        return
    if error is None:
        waiting.stored.set_result(None)
    else:
        waiting.stored.set_exception(error)


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
