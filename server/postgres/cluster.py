"""One Postgres cluster on disk, and the commands that make, start, ask and stop it.

Both the clients and the keeper import this module, so it needs the standard library alone.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from server.refusal import Refusal

ROLE = "assay"
DATABASE = "postgres"
HOST = "127.0.0.1"

SETTINGS = {
    "listen_addresses": HOST,
    # Clients authenticate with a password, so nobody needs a socket whose path may be too long.
    "unix_socket_directories": "",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_min_messages": "warning",
    "shared_buffers": "256MB",
    "max_connections": "200",
    # Short answers dominate; compiling them costs more than it saves.
    "jit": "off",
}


@dataclass(frozen=True)
class Account:
    """Who runs Postgres, where that is not the caller."""

    uid: int
    gid: int


@dataclass(frozen=True)
class Cluster:
    home: Path
    binaries: Path
    account: Account | None = None

    @property
    def data(self) -> Path:
        return self.home / "data"

    @property
    def log(self) -> Path:
        return self.home / "postgres.log"

    @property
    def password(self) -> Path:
        return self.home / "password"

    @property
    def users_lock(self) -> Path:
        return self.home / "users.lock"

    @property
    def keeper_lock(self) -> Path:
        return self.home / "keeper.lock"


def environment(**extra: str) -> dict[str, str]:
    """The caller's, without what would point the tools at another server."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_", "LANG"))}
    return {**kept, "LC_ALL": "C", **extra}


def spawn(
    cluster: Cluster,
    command: list[str],
    *,
    stdout: int | IO[bytes] = subprocess.DEVNULL,
    env: Mapping[str, str] | None = None,
    in_child: Callable[[], None] | None = None,
) -> subprocess.Popen[bytes]:
    account = cluster.account
    identity: dict[str, Any] = {"user": account.uid, "group": account.gid, "extra_groups": []} if account else {}
    return subprocess.Popen(  # noqa: S603 -- our own binaries, no shell
        [str(cluster.binaries / command[0]), *command[1:]],
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.STDOUT,
        # The account may not be allowed into the caller's directory.
        cwd="/",
        env=env or environment(),
        preexec_fn=in_child,
        **identity,
    )


def run(cluster: Cluster, command: list[str], *, env: Mapping[str, str] | None = None) -> str:
    process = spawn(cluster, command, stdout=subprocess.PIPE, env=env)
    output = process.communicate()[0].decode(errors="replace").strip()
    if process.returncode:
        raise ClusterError(f"{command[0]} failed ({process.returncode}): {output}")
    return output


class ClusterError(Refusal):
    """Postgres could not be made, started or reached; the text is for the user."""


def create(cluster: Cluster) -> None:
    """Makes the cluster beside its place and renames it, so that a half-made one is never taken for whole."""
    made = cluster.home / "data.new"
    if made.exists():
        shutil.rmtree(made)
    made.mkdir(mode=0o700)
    if cluster.account:
        os.chown(made, cluster.account.uid, cluster.account.gid)
    run(
        cluster,
        [
            "initdb",
            f"--pgdata={made}",
            f"--username={ROLE}",
            f"--pwfile={cluster.password}",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C",
            "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8",
        ],
    )
    made.rename(cluster.data)


def start(cluster: Cluster, port: int, log: IO[bytes], in_child: Callable[[], None]) -> subprocess.Popen[bytes]:
    options = [part for name, value in SETTINGS.items() for part in ("-c", f"{name}={value}")]
    return spawn(
        cluster, ["postgres", "-D", str(cluster.data), "-p", str(port), *options], stdout=log, in_child=in_child
    )


def stop(cluster: Cluster) -> None:
    run(cluster, ["pg_ctl", "stop", "-D", str(cluster.data), "--mode=fast", "--wait", "--timeout=60"])


def noted_port(cluster: Cluster) -> int | None:
    """Where the running server listens, or where one did that was killed."""
    try:
        return int((cluster.data / "postmaster.pid").read_text().splitlines()[3])
    except (OSError, IndexError, ValueError):
        return None


def living_port(cluster: Cluster) -> int | None:
    """Judged by a log-in with the cluster's own password: a pid or a port may by now be another's."""
    port = noted_port(cluster)
    if port is None:
        return None
    ask = ["psql", "-X", "-w", "-q", "-h", HOST, "-p", str(port), "-U", ROLE, "-d", DATABASE, "-c", "SELECT"]
    secret = environment(PGPASSWORD=cluster.password.read_text(), PGCONNECT_TIMEOUT="5")
    return port if spawn(cluster, ask, env=secret).wait() == 0 else None


def dsn(cluster: Cluster, port: int) -> str:
    return f"postgresql://{ROLE}:{cluster.password.read_text()}@{HOST}:{port}/{DATABASE}"
