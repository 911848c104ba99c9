"""`assay serve` as a process: what it says, and what its end leaves behind."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from server.refusal import Refusal, WrongUsage
from server.serving import require_token
from server.settings import Settings
from tests.server.processes import eventually, postmaster, running_on, stream, wait_until_unused

ASSAY = Path(sys.executable).parent / "assay"


def start(data_dir: Path, port: int = 0, *options: str, **settings: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "ASSAY_DATA_DIR": str(data_dir), "ASSAY_PORT": str(port), **settings}
    return subprocess.Popen(
        [ASSAY, "serve", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        cwd="/",
    )


@contextmanager
def serving(data_dir: Path, port: int = 0) -> Iterator[tuple[subprocess.Popen[str], str]]:
    with start(data_dir, port) as process:
        try:
            greeting = stream(process.stdout).readline().strip()
            assert greeting.startswith("GraphiQL: "), stream(process.stderr).read()
            yield process, greeting.removeprefix("GraphiQL: ").removesuffix("/graphql")
        finally:
            process.kill()


def port_of(address: str) -> int:
    return httpx.URL(address).port or 0


def status(address: str, path: str) -> int:
    return httpx.get(f"{address}{path}").status_code


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_answers_where_it_says_until_a_signal_ends_it_cleanly(data_dir: Path, number: signal.Signals) -> None:
    with serving(data_dir) as (process, address):
        assert status(address, "/healthz") == 200
        assert status(address, "/readyz") == 200

        process.send_signal(number)

        assert process.wait(30) == 0
        assert running_on(data_dir) == []
        assert "Traceback" not in stream(process.stderr).read()


def test_it_starts_on_the_same_port_after_it_and_postgres_were_killed(data_dir: Path) -> None:
    with serving(data_dir) as (process, address):
        os.kill(postmaster(data_dir), signal.SIGKILL)
        process.kill()
        process.wait(30)
        wait_until_unused(data_dir)

    with serving(data_dir, port_of(address)) as (_, again):
        assert again == address
        assert status(again, "/readyz") == 200


def test_it_recovers_when_postgres_is_killed_under_it(data_dir: Path) -> None:
    with serving(data_dir) as (_, address):
        assert status(address, "/readyz") == 200

        os.kill(postmaster(data_dir), signal.SIGKILL)

        assert eventually(lambda: status(address, "/readyz") == 200)


def refusal_of(process: subprocess.Popen[str]) -> str:
    with process:
        output, errors = process.communicate(timeout=60)
    assert output == ""
    assert process.returncode == 1
    return errors


def test_a_taken_port_is_told_in_one_line_before_anything_starts(data_dir: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]

        refusal = refusal_of(start(data_dir, port))

    assert refusal == f"127.0.0.1:{port}: ADDRESS_UNAVAILABLE: Address already in use; set ASSAY_PORT\n"
    assert not data_dir.exists()


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "assay.example", "::"])  # noqa: S104 -- what is refused
async def test_an_address_that_others_reach_is_refused_without_tokens(host: str, database: str) -> None:
    with pytest.raises(Refusal, match="ASSAY_HOST: TOKENS_NEEDED: "):
        await require_token(Settings(host=host), database)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1", "localhost"])
async def test_an_address_of_this_machine_alone_needs_no_token(host: str, database: str) -> None:
    await require_token(Settings(host=host), database)


def test_a_setting_that_makes_no_sense_is_wrong_usage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_PORT", "many")

    with pytest.raises(WrongUsage, match="ASSAY_PORT: INVALID_SETTING: ") as refused:
        Settings()

    assert refused.value.status == 2


def test_a_database_that_does_not_answer_is_told_in_one_line(data_dir: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = "{}:{}".format(*unused.getsockname())

        refusal = refusal_of(start(data_dir, ASSAY_DATABASE_URL=f"postgresql://user:secret@{address}/none"))

    assert refusal.startswith("ASSAY_DATABASE_URL: DATABASE_UNAVAILABLE: ")
    assert refusal.count("\n") == 1
    assert "secret" not in refusal
