"""Postgres without a service: `embedded` lends the one of a data directory, and the last to leave stops it."""

import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import astuple
from pathlib import Path

from server.postgres import cluster as clusters
from server.postgres.cluster import Cluster, ClusterError
from server.postgres.keeper import BUSY, PATIENCE, READY, lock_file
from server.postgres.places import settle
from server.refusal import Fault

STOPPING = 10.0

__all__ = ["ClusterError", "embedded"]


def start_keeper(cluster: Cluster) -> str:
    account = cluster.account and astuple(cluster.account)
    arguments = json.dumps([str(cluster.home), str(cluster.binaries), account])
    return subprocess.run(  # noqa: S603
        [sys.executable, "-m", "server.postgres.keeper", arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
        cwd="/",
        # Ctrl-C goes to the terminal's whole group; the keeper leaves after its users.
        start_new_session=True,
        text=True,
    ).stdout.strip()


def running_port(cluster: Cluster) -> int:
    """Starts what does not run. Several may try at once: one keeper wins, the others' starters wait for it."""
    limit = time.monotonic() + PATIENCE
    while (port := clusters.living_port(cluster)) is None:
        answer = start_keeper(cluster)
        if answer not in (READY, BUSY):
            raise ClusterError(answer or "the keeper of Postgres ended without a word")
        if time.monotonic() > limit:
            raise ClusterError(f"another process is starting Postgres in {cluster.home} and does not end")
        if answer == BUSY:
            time.sleep(0.05)
    return port


def wait_for_keeper(cluster: Cluster) -> None:
    """Not for ever: a keeper that is just mending a killed Postgres ends only once we are gone."""
    keeper_lock = lock_file(cluster.keeper_lock)
    limit = time.monotonic() + STOPPING
    while time.monotonic() < limit:
        with suppress(BlockingIOError):
            fcntl.flock(keeper_lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            break
        time.sleep(0.005)
    os.close(keeper_lock)


def leave(cluster: Cluster, users_lock: int) -> None:
    """The last one stops Postgres and waits for its keeper, so that nothing runs once we are gone."""
    try:
        fcntl.flock(users_lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        # Others are here, or the keeper is stopping: then this waits for its end.
        fcntl.flock(users_lock, fcntl.LOCK_SH)
        return
    with suppress(ClusterError):
        clusters.stop(cluster)
        wait_for_keeper(cluster)


def enter(data_dir: Path) -> tuple[Cluster, int]:
    try:
        cluster = settle(data_dir)
        return cluster, lock_file(cluster.users_lock)
    except PermissionError as error:
        place = str(data_dir.absolute())
        message = f"{error.filename} belongs to another user; set ASSAY_DATA_DIR or ASSAY_DATABASE_URL"
        raise ClusterError(Fault(place, "DATA_DIR_UNAVAILABLE", message)) from error


@contextmanager
def embedded(data_dir: Path) -> Iterator[str]:
    """Lends the DSN of the server on this directory, which is made and started as needed."""
    cluster, users_lock = enter(data_dir)
    fcntl.flock(users_lock, fcntl.LOCK_SH)
    try:
        yield clusters.dsn(cluster, running_port(cluster))
    finally:
        leave(cluster, users_lock)
        os.close(users_lock)
