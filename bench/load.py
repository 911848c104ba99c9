"""Requests a second over keep-alive connections: by wrk where there is one, else by a client of our own."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CONNECTIONS = 16
WRK = shutil.which("wrk")
GENERATOR = "wrk" if WRK else "python -m bench.client"


class LoadError(Exception):
    """The other side refused what it was asked, so its speed means nothing."""


@dataclass(frozen=True)
class Target:
    """Where to ask, and the GraphQL request to post there, if it is one."""

    url: str
    request: dict[str, Any] | None = None

    @property
    def body(self) -> str | None:
        return None if self.request is None else json.dumps(self.request)


def requests_a_second(target: Target, seconds: float) -> float:
    return by_wrk(WRK, target, seconds) if WRK else by_client(target, seconds)


def by_wrk(wrk: str, target: Target, seconds: float) -> float:
    script = 'wrk.headers["Accept"] = "application/json"\n'
    if target.body is not None:
        script += 'wrk.method = "POST"\nwrk.headers["Content-Type"] = "application/json"\n'
        script += f"wrk.body = [==[{target.body}]==]\n"
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as file:
        file.write(script)
        file.flush()
        length = f"-d{max(1, round(seconds))}s"
        command = [wrk, "-t1", f"-c{CONNECTIONS}", length, "--timeout", "60s", "-s", file.name, target.url]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603
    rate = re.search(r"Requests/sec:\s+([\d.]+)", said)
    if rate is None or "Non-2xx" in said or "Socket errors" in said:
        raise LoadError(said)
    return float(rate[1])


def by_client(target: Target, seconds: float) -> float:
    command = [sys.executable, "-m", "bench.client", target.url, str(seconds), target.body or ""]
    root = Path(__file__).parent.parent
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root, timeout=seconds + 60)  # noqa: S603
    if run.returncode:
        raise LoadError(run.stderr)
    return float(run.stdout)
