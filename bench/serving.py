"""The service and its peers, each in a process of its own."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent
SERVICE = (str(Path(sys.executable).with_name("assay")), "serve")
BARE = (sys.executable, "-m", "bench.peers.bare")
TUNED = (*BARE, "tuned")
LOADERS = (sys.executable, "-m", "bench.peers.loaders")


@contextmanager
def process(command: Sequence[str], dsn: str, directory: Path) -> Iterator[str]:
    """Runs a server on a free port; gives its address."""
    settings = {"ASSAY_DATABASE_URL": dsn, "ASSAY_PORT": "0", "ASSAY_DATA_DIR": str(directory)}
    with subprocess.Popen(  # noqa: S603
        list(command), stdout=subprocess.PIPE, text=True, cwd=ROOT, env={**os.environ, **settings}
    ) as server:
        try:
            yield announced(server)
        finally:
            server.terminate()


def announced(server: subprocess.Popen[str]) -> str:
    assert server.stdout is not None
    for line in server.stdout:
        if found := re.search(r"http://[^\s/]+", line):
            return found[0]
    raise RuntimeError(f"{server.args!r} ended without an address")
