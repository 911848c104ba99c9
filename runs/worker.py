"""A worker: claims items of runs, asks models, computes scores, and stores what comes of it under the items' tokens."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, TypeVar
from uuid import UUID, uuid4

import structlog
from sqlalchemy.ext.asyncio import AsyncEngine

from models.base import CellErrorKind, RunStage
from resolvers import ending, queue, scoring
from resolvers.acting import Acting
from resolvers.queue import Held
from resolvers.transient import is_refused
from runs import figures
from runs.calls import Caller, Document, Usage
from runs.evaluating import evaluate
from runs.generating import failed, generate
from runs.leases import Leases
from runs.loading import FileLost, Files, Loaded, documents_of, load
from runs.storing import Storer, committed

log = structlog.get_logger(__name__)

T = TypeVar("T")

# Nobody waits longer than this for work that was announced to nobody.
LOOK: Final = 1.0
# Places that come free together are filled together.
GATHERING: Final = 0.005
# A worker that took all places at once would let the others wait, and then wait for all of its calls together.
MOST_AT_ONCE: Final = 16
# Who is asked to stop has ten seconds in all, and leaves what a database that is away does not take back.
PATIENCE: Final = 6.0
PARTING: Final = 2.0
PAUSE: Final = 0.25
OWN_FAULT: Final = "Something went wrong here, not at the provider."
DIED: Final = f"Its worker died {queue.MOST_DEATHS} times."


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """`lease` is how long a worker that says nothing is taken for alive."""

    concurrency: int = 64
    lease: timedelta = timedelta(seconds=6)


@dataclass(slots=True, eq=False)
class _Task:
    """`has_called` once no model is being called any more, though nothing is stored yet."""

    item: Held
    running: asyncio.Task[None] | None = None
    has_called: bool = False

    @property
    def leaves_its_place(self) -> bool:
        """To the next, before it is stored; but where cost is limited, the next must know what this one cost."""
        return self.has_called and not self.item.is_limited


class Worker:
    """`heart` is a connection of its own, by which it says that it lives."""

    def __init__(
        self,
        engine: AsyncEngine,
        heart: AsyncEngine,
        files: Files,
        caller: Callable[[], Awaitable[Caller]],
        tell: Callable[[set[str]], None],
        failures: tuple[type[Exception], ...],
        settings: WorkerSettings | None = None,
    ) -> None:
        self._engine = engine
        # For what is one statement.
        self._single = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._files = files
        self._caller = caller
        self._tell = tell
        self._failures = failures
        self._settings = settings or WorkerSettings()
        self._storer = Storer(engine, tell, failures)
        self._leases = Leases(heart, self._settings.lease)
        self._tasks: set[_Task] = set()
        # Of claims that nobody told the end of: items may be held by them.
        self._unheard: set[UUID] = set()
        # The runs of the claim before.
        self._begun: set[int] = set()
        self._woken = asyncio.Event()

    def hear(self, subject: str) -> None:
        """Of runs: that there is work, or that some of ours may be ours no longer."""
        if subject == "lost":
            self._leases.doubt()
        self._woken.set()

    async def run(self) -> None:
        """Until it is cancelled; then what is under way has a while to be finished, and the rest is given back."""
        renewing = asyncio.create_task(self._leases.renew_always(self._held, self._lose))
        taking = asyncio.create_task(self._leases.take_back_always(self._engine, self._follow))
        try:
            await self._claim_always()
        finally:
            await self._leave()
            for task in (renewing, taking):
                task.cancel()
            await asyncio.gather(renewing, taking, self._storer.aclose(), return_exceptions=True)

    async def _leave(self) -> None:
        running = [task.running for task in self._tasks if task.running]
        if running:
            await asyncio.wait(running, timeout=PATIENCE)
        left = self._held()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        with suppress(*self._failures):
            async with asyncio.timeout(PARTING):
                await committed(self._engine, self._tell, lambda acting: queue.release(acting.connection, left))
                await self._let_go()

    async def _let_go(self) -> None:
        """Give back what was claimed without a word of it."""
        if self._unheard:
            async with self._engine.begin() as connection:
                await queue.release_claims(connection, self._unheard)
            self._unheard.clear()

    async def _claim_always(self) -> None:
        while True:
            self._woken.clear()
            due_in: float | None = None
            free = self._free()
            try:
                due_in = await self._claim(free) if free > 0 else None
            except self._failures:
                log.warning("nothing_claimed", exc_info=True)
            with suppress(TimeoutError):
                async with asyncio.timeout(min(LOOK, due_in or LOOK)):
                    await self._woken.wait()
            await asyncio.sleep(GATHERING if len(self._tasks) > 1 else 0)

    def _free(self) -> int:
        """What waits to be stored leaves its place, but not for more than as much again: it is paid for already."""
        places, calling = self._settings.concurrency, sum(not task.leaves_its_place for task in self._tasks)
        return min(MOST_AT_ONCE, places - calling, 2 * places - len(self._tasks))

    async def _claim(self, free: int) -> float | None:
        await self._let_go()
        called, token = [task.item for task in self._tasks if task.leaves_its_place], uuid4()
        async with self._single.connect() as connection:
            self._unheard.add(token)
            claimed = await queue.claim(connection, token, free, called=called, lease=self._settings.lease)
        self._unheard.discard(token)
        if claimed.held:
            await self._begin(claimed.held)
        if len(claimed.held) == free:
            # There may be more.
            self._woken.set()
        return claimed.due_in

    async def _begin(self, held: Sequence[Held]) -> None:
        loading = asyncio.create_task(self._load(held))
        for item in held:
            task = _Task(item)
            self._tasks.add(task)
            task.running = asyncio.create_task(self._work(task, loading))
            figures.hold(task.running)

        await self._say_begun({item.run_pk for item in held})
        if any(item.model_pk is not None for item in held):
            # Places in a model's pace that were taken meanwhile would all be used at once.
            await self._caller()

    async def _say_begun(self, runs: set[int]) -> None:
        async def begun() -> None:
            async with self._engine.begin() as connection:
                await queue.begin(connection, sorted(runs))

        if not runs <= self._begun:
            await self._persistently(begun)
        self._begun = runs

    async def _load(self, held: Sequence[Held]) -> Loaded:
        async def loaded() -> Loaded:
            async with self._single.connect() as connection:
                return await load(connection, held)

        return await self._persistently(loaded)

    async def _work(self, task: _Task, loading: asyncio.Task[Loaded]) -> None:
        try:
            loaded = await asyncio.shield(loading)
            step = self._generate if task.item.stage == RunStage.GENERATE else self._evaluate
            await step(task, loaded)
        except FileLost as lost:
            log.exception("file_lost", item=task.item.id)
            await self._fail(task.item, f"The file {lost} could not be read.")
        except Exception:
            log.exception("item_failed", item=task.item.id)
            await self._fail(task.item, OWN_FAULT)
        finally:
            self._tasks.discard(task)
            self._woken.set()

    async def _generate(self, task: _Task, loaded: Loaded) -> None:
        item, question = task.item, loaded.questions.get(task.item.id)
        if question is None:
            return
        documents = await documents_of(self._files, question.files)
        generated = await generate(await self._caller(), item, question, documents, self._pacing(item))
        task.has_called = True
        self._woken.set()
        await self._storer.store(generated)

    async def _evaluate(self, task: _Task, loaded: Loaded) -> None:
        item, cell = task.item, loaded.facts.get(task.item.id)
        if cell is None:
            return

        async def documents() -> Sequence[Document]:
            return await documents_of(self._files, loaded.files.get(item.id, ()))

        scored = await evaluate(self._caller, item, cell, loaded.metrics, documents, self._pacing(item))
        task.has_called = True
        self._woken.set()
        await self._storer.store(scored)

    def _pacing(self, item: Held) -> Callable[[], Awaitable[None]]:
        async def paced() -> float:
            async with self._engine.begin() as connection:
                return 0.0 if item.model_pk is None else await queue.pace(connection, item.model_pk)

        async def pace() -> None:
            await asyncio.sleep(await self._persistently(paced))

        return pace

    async def _persistently(self, work: Callable[[], Awaitable[T]]) -> T:
        """Again until the database is there: what was claimed is ours as long as its lease is renewed."""
        while True:
            try:
                return await work()
            except self._failures as error:
                if is_refused(error):
                    raise
                log.warning("database_awaited", exc_info=True)
                await asyncio.sleep(PAUSE)

    async def _fail(self, item: Held, message: str) -> None:
        if item.stage == RunStage.GENERATE:
            await self._storer.store(failed(item, CellErrorKind.INTERNAL, message, Usage()))
            return

        async def give_up(acting: Acting) -> None:
            await scoring.give_up(acting, item.run_pk, [item], CellErrorKind.INTERNAL, message)

        await self._persistently(lambda: committed(self._engine, self._tell, give_up))
        figures.STAGES.labels(item.stage, figures.FAILED).inc()

    def _held(self) -> list[Held]:
        return [task.item for task in self._tasks]

    def _lose(self, lost: Sequence[Held]) -> None:
        """Others do it now, or nobody any more. What has been called is left to find that out when it is stored."""
        for task in self._tasks:
            if task.item in lost and task.running and not task.has_called:
                figures.LOST_LEASES.inc()
                task.running.cancel()

    async def _follow(self, hopeless: Sequence[Held]) -> None:
        for item in hopeless:
            await self._fail(item, DIED)
        await committed(self._engine, self._tell, ending.settle)
        self._woken.set()
