"""Workers as processes of their own: started, stopped, frozen and killed at will, each known by the key it sends."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.server.processes import stream

ASSAY = Path(sys.executable).parent / "assay"
# The variable that models of tests name; the provider sees its value with every call.
KEY = "KEY_OF_WORKER"
PATIENCE = 60


@dataclass(eq=False)
class Process:
    name: str
    process: subprocess.Popen[str]
    was_killed: bool = False
    was_frozen: bool = False

    @property
    def key(self) -> str:
        """As the provider logs it."""
        return f"Bearer {self.name}"

    @property
    def was_lost(self) -> bool:
        return self.was_killed or self.was_frozen

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)
        self.was_killed = True

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)
        self.was_frozen = True

    def wake(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    async def stop(self, seconds: float = PATIENCE) -> int:
        """Politely; the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return await asyncio.to_thread(self.process.wait, seconds)


@dataclass
class Workers:
    """Those of one database, dead ones too."""

    dsn: str
    directory: Path
    settings: dict[str, str]
    all: list[Process] = field(default_factory=list)

    @property
    def sound(self) -> list[Process]:
        return [worker for worker in self.all if worker.process.poll() is None and not worker.was_frozen]

    def by_key(self, key: str) -> Process:
        return next(worker for worker in self.all if worker.key == key)

    async def start(self, count: int = 1) -> list[Process]:
        """Comes back once they work."""
        started = [self._started() for _ in range(count)]
        for worker in started:
            greeting = await asyncio.to_thread(stream(worker.process.stdout).readline)
            assert greeting == "Working.\n", f"{worker.name} said {greeting!r}; see {self.directory}"
        return started

    def _started(self) -> Process:
        name = f"worker-{len(self.all) + 1}"
        settings = {"ASSAY_DATABASE_URL": self.dsn, "ASSAY_DATA_DIR": str(self.directory), KEY: name, **self.settings}
        with (self.directory / f"{name}.log").open("w") as log:
            process = subprocess.Popen(
                [str(ASSAY), "worker"], stdout=subprocess.PIPE, stderr=log, text=True, env={**os.environ, **settings}
            )
        self.all.append(Process(name, process))
        return self.all[-1]


@contextmanager
def _ended(workers: Workers) -> Iterator[Workers]:
    try:
        yield workers
    finally:
        for worker in workers.all:
            with worker.process:
                worker.process.kill()


@asynccontextmanager
async def working(dsn: str, directory: Path, count: int = 1, **settings: str) -> AsyncIterator[Workers]:
    with _ended(Workers(dsn, directory, {f"ASSAY_{name.upper()}": value for name, value in settings.items()})) as made:
        await made.start(count)
        yield made
