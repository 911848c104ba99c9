"""Real processes on a data directory, and what they leave behind."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

HOLD = """
import sys
from pathlib import Path
from server.cli import exit_statuses
from server.postgres import embedded

with exit_statuses():
    with embedded(Path(sys.argv[1])) as dsn:
        print(dsn, flush=True)
        sys.stdin.read()
"""


@dataclass
class User:
    """A process that uses an embedded Postgres until told to leave."""

    process: subprocess.Popen[str]
    dsn: str

    def leave(self) -> None:
        stream(self.process.stdin).close()
        assert self.process.wait(30) == 0

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(30)


def stream(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe


def spawn(
    data_dir: Path, *, python: str = sys.executable, uid: int | None = None, env: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [python, "-c", HOLD, str(data_dir)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        user=uid,
        group=uid,
        extra_groups=None if uid is None else [],
        env={**os.environ, **(env or {})},
        cwd="/",
    )


@contextmanager
def using(
    data_dir: Path, *, python: str = sys.executable, uid: int | None = None, env: Mapping[str, str] | None = None
) -> Iterator[User]:
    with spawn(data_dir, python=python, uid=uid, env=env) as process:
        try:
            dsn = stream(process.stdout).readline().strip()
            assert dsn, stream(process.stderr).read()
            yield User(process, dsn)
        finally:
            process.kill()


def command_line(process: Path) -> str:
    try:
        return (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def running_on(data_dir: Path) -> list[int]:
    """The keeper and the Postgres of a data directory: both were started with the place of the cluster."""
    home = str((data_dir / "postgres").resolve())
    processes = [path for path in Path("/proc").iterdir() if path.name.isdigit()]
    return [int(path.name) for path in processes if home in command_line(path)]


def postmaster(data_dir: Path) -> int:
    return int((data_dir / "postgres" / "data" / "postmaster.pid").read_text().split()[0])


def was_replaced(data_dir: Path, killed: int) -> bool:
    try:
        return postmaster(data_dir) != killed
    except (FileNotFoundError, IndexError):
        # Between the two, there is no file or an empty one.
        return False


def keeper(data_dir: Path) -> int:
    [found] = set(running_on(data_dir)) - {postmaster(data_dir)}
    return found


def eventually(true: Callable[[], bool], seconds: float = 20) -> bool:
    limit = time.monotonic() + seconds
    while not true():
        if time.monotonic() > limit:
            return False
        time.sleep(0.02)
    return True


def wait_until_unused(data_dir: Path) -> None:
    assert eventually(lambda: not running_on(data_dir)), f"Postgres still runs on {data_dir}"
