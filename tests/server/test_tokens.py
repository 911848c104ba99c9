"""`assay token create`, and `assay serve` where others can reach it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import get_args

import httpx
import orjson
import pytest
from typer.testing import CliRunner, Result

from models.base import Role
from server.commands import load, token

ASSAY = str(Path(sys.executable).parent / "assay")
QUERY = {"query": "{ viewer { name role } }"}
CHANGES = {"query": "subscription { overviewChanges { totals { suiteCount } } }"}


@pytest.fixture
def environment(database: str, tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "ASSAY_DATABASE_URL": database, "ASSAY_DATA_DIR": str(tmp_path), "ASSAY_PORT": "0"}


def assay(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([ASSAY, *arguments], capture_output=True, text=True, check=False, env=environment, timeout=60)


def create(environment: dict[str, str], name: str, role: str, *options: str) -> Result:
    """The same within this process, which has loaded everything."""
    arguments = ["token", "create", "--name", name, "--role", role, *options]
    return CliRunner().invoke(load(), arguments, env=environment)


@contextmanager
def serving(environment: dict[str, str], *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process, and where this machine reaches it."""
    with subprocess.Popen([ASSAY, "serve", *options], stdout=-1, stderr=-1, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            port = process.stdout.readline().strip().removesuffix("/graphql").rpartition(":")[2]
            yield process, f"http://127.0.0.1:{port}"
        finally:
            process.kill()


def test_the_roles_of_the_command_are_those_there_are() -> None:
    [choices, *_] = get_args(token.Role)
    assert set(get_args(choices)) == set(Role)


def test_the_secret_is_all_that_is_printed(environment: dict[str, str]) -> None:
    made = assay(environment, "token", "create", "--name", "ines", "--role", "admin")

    assert (made.returncode, made.stderr) == (0, "")
    assert made.stdout.startswith("assay_")
    assert len(made.stdout.split()) == 1


def test_programs_get_it_as_json(environment: dict[str, str]) -> None:
    made = create(environment, "ines", "ADMIN", "--json")

    assert orjson.loads(made.stdout).keys() == {"name", "role", "secret"}


def test_what_cannot_be_is_refused_in_a_line(environment: dict[str, str]) -> None:
    first = create(environment, "ines", "VIEWER")
    create(environment, "ines", "ADMIN")
    again = create(environment, "ines", "ADMIN")
    past = create(environment, "omar", "ADMIN", "--expires", "2020-01-01T00:00:00Z")
    local = create(environment, "omar", "ADMIN", "--expires", "2020-01-01")

    assert str(first.exception).startswith("ines: INVALID_FIELD: The first token must be an ADMIN's")
    assert str(again.exception) == "ines: DUPLICATE: There is or was a token ines."
    assert str(past.exception) == "omar: INVALID_FIELD: A token must expire in the future."
    assert local.exit_code == 2


def test_an_address_that_others_reach_needs_a_token_to_start_and_to_answer(environment: dict[str, str]) -> None:
    refused = assay(environment, "serve", "--host", "0.0.0.0")  # noqa: S104 -- what is refused
    secret = create(environment, "ines", "ADMIN").stdout.strip()

    with serving(environment, "--host", "0.0.0.0") as (_, address):  # noqa: S104
        strange = httpx.post(f"{address}/graphql", json=QUERY, headers={"host": "assay.example"})
        known = httpx.post(f"{address}/graphql", json=QUERY, headers={"authorization": f"Bearer {secret}"})

    assert refused.returncode == 1
    assert refused.stderr.startswith("ASSAY_HOST: TOKENS_NEEDED: ")
    assert "assay token create --name NAME --role ADMIN" in refused.stderr
    assert strange.status_code == 401
    assert known.json() == {"data": {"viewer": {"name": "ines", "role": "ADMIN"}}}


def test_a_stop_ends_streams_and_says_why(environment: dict[str, str]) -> None:
    environment = {**environment, "ASSAY_SHUTDOWN_SECONDS": "60"}
    headers = {"accept": "text/event-stream"}
    with (
        serving(environment) as (process, address),
        httpx.stream("POST", f"{address}/graphql", json=CHANGES, headers=headers, timeout=30) as response,
    ):
        chunks = response.iter_text()
        next(chunks)
        process.send_signal(signal.SIGTERM)
        rest = "".join(chunks)

        assert process.wait(30) == 0
    assert '"message":"The server is stopping.","extensions":{"code":"UNAVAILABLE"}' in rest


def test_a_sweep_can_be_asked_for(environment: dict[str, str]) -> None:
    done = CliRunner().invoke(load(), ["sweep"], env=environment)

    assert (done.exit_code, done.stdout) == (0, "0 files removed\n")
