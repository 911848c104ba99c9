"""The process that keeps Postgres running while somebody uses it: its parent, and its end.

Users hold a shared lock. Whoever gets it alone is last, and the kernel drops it for a user that was killed. So the
keeper waits for that lock, and a start never finds anything left behind but files.
"""

import ctypes
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

from server.postgres import cluster as clusters
from server.postgres.cluster import HOST, Account, Cluster, ClusterError

READY = "ready"
BUSY = "busy"

ATTEMPTS = 5
PATIENCE = 60.0

PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Postgres is stopped when its keeper is killed. Only Linux can say so; elsewhere the next start ends it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGINT)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def open_log(cluster: Cluster) -> IO[bytes]:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_NOFOLLOW
    return os.fdopen(os.open(cluster.log, flags, 0o600), "wb")


def working_directory(pid: int) -> Path | None:
    try:
        return Path(f"/proc/{pid}/cwd").readlink()
    except OSError:
        return None


def clear_remains(cluster: Cluster) -> None:
    """Ends a Postgres that outlived its keeper, and removes the pid file of a dead one.

    We hold the keeper's lock, so no other keeper is at work here. Postgres itself refuses to start when the pid in the
    file belongs to anybody by now, which is common in containers.
    """
    pid_file = cluster.data / "postmaster.pid"
    try:
        pid = int(pid_file.read_text().split()[0])
    except (OSError, IndexError, ValueError):
        pid_file.unlink(missing_ok=True)
        return
    if working_directory(pid) == cluster.data.resolve() or clusters.living_port(cluster):
        clusters.stop(cluster)
    elif Path("/proc/self").exists():
        pid_file.unlink(missing_ok=True)


def wait_until_ready(cluster: Cluster, server: subprocess.Popen[bytes]) -> bool:
    limit = time.monotonic() + PATIENCE
    while server.poll() is None and time.monotonic() < limit:
        if clusters.living_port(cluster):
            return True
        time.sleep(0.02)
    return False


class Keeper:
    def __init__(self, cluster: Cluster, log: IO[bytes]) -> None:
        self.cluster = cluster
        self.log = log
        self.server: subprocess.Popen[bytes] | None = None
        self.alone = threading.Event()

    def start(self, port: Callable[[], int]) -> int:
        """Tries again because a port may be lost to another and the children of a killed Postgres take a moment."""
        for attempt in range(ATTEMPTS):
            time.sleep(attempt * 0.2)
            chosen = port()
            self.server = clusters.start(self.cluster, chosen, self.log, die_with_parent)
            if wait_until_ready(self.cluster, self.server):
                return chosen
            self.interrupt()
            self.server.wait()
        raise ClusterError(f"Postgres does not start: {self.last_words()} (all of it: {self.cluster.log})")

    def last_words(self) -> str:
        lines = self.cluster.log.read_text(errors="replace").splitlines()
        return " / ".join(lines[-3:])

    def interrupt(self) -> None:
        if self.server is not None:
            self.server.send_signal(signal.SIGINT)

    def stop_when_alone(self, users_lock: int) -> None:
        fcntl.flock(users_lock, fcntl.LOCK_EX)
        self.alone.set()
        self.interrupt()

    def keep(self, port: int) -> None:
        """A Postgres that was killed starts again where its users look for it. One that was stopped stays so."""
        while self.server is not None and self.server.wait() != 0 and not self.alone.is_set():
            self.start(lambda: port)
            if self.alone.is_set():
                self.interrupt()


def report(text: str) -> None:
    """Tells the one who started us, who reads to the end of our output."""
    print(text, flush=True)
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def lock_file(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)


def begin(cluster: Cluster) -> tuple[Keeper, int]:
    if not cluster.data.exists():
        clusters.create(cluster)
    clear_remains(cluster)
    keeper = Keeper(cluster, open_log(cluster))
    return keeper, keeper.start(free_port)


def outlive_signals() -> None:
    """Our end is the users' end, not a signal to the whole group. Handlers, because what is ignored is inherited."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)


def serve(cluster: Cluster) -> None:
    try:
        fcntl.flock(lock_file(cluster.keeper_lock), fcntl.LOCK_EX | fcntl.LOCK_NB)
        keeper, port = begin(cluster)
    except BlockingIOError:
        report(BUSY)
        return
    except (ClusterError, OSError) as error:
        report(str(error))
        return
    threading.Thread(target=keeper.stop_when_alone, args=[lock_file(cluster.users_lock)], daemon=True).start()
    report(READY)
    with suppress(ClusterError):
        keeper.keep(port)


def main(arguments: str) -> None:
    if os.fork():
        # Nobody waits for a keeper: whoever started it reads its word and goes on.
        os._exit(0)
    outlive_signals()
    home, binaries, account = json.loads(arguments)
    serve(Cluster(Path(home), Path(binaries), account and Account(*account)))


if __name__ == "__main__":
    main(sys.argv[1])
