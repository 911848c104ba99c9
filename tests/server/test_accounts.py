"""Who runs Postgres, and where, on directories of several owners."""

import os
import pwd
import shutil
import site
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from server.postgres import places
from server.postgres.cluster import Cluster, run
from tests.server.processes import postmaster, spawn, using, wait_until_unused

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be several users")

CHECKOUT = Path(__file__).parents[2]
SOMEBODY = pwd.getpwnam("games").pw_uid


async def answers(dsn: str) -> bool:
    connection = await asyncpg.connect(dsn)
    try:
        return bool(await connection.fetchval("SELECT true"))
    finally:
        await connection.close()


def owner_of_process(pid: int) -> int:
    return Path("/proc", str(pid)).stat().st_uid


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def closed_parent() -> Iterator[Path]:
    """A directory that root alone may enter."""
    parent = Path(tempfile.mkdtemp(prefix="assay-closed-"))
    yield parent
    for link in parent.glob("*/postgres"):
        wait_until_unused(link.parent)
        shutil.rmtree(link.resolve())
    shutil.rmtree(parent)


@pytest.fixture
def somebodys_dir(data_dir: Path) -> Path:
    data_dir.mkdir()
    os.chown(data_dir, SOMEBODY, SOMEBODY)
    return data_dir


PYTHON_PATH = {"PYTHONPATH": os.pathsep.join([str(CHECKOUT), *site.getsitepackages()])}


@pytest.fixture(scope="module")
def anybodys_python() -> str:
    """A Python of our version that an unprivileged user can run on this checkout."""
    ask = "import server.postgres, sys; print(sys.version_info[:2])"
    for python in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        try:
            answer = subprocess.run(
                [python, "-c", ask],
                user=SOMEBODY,
                group=SOMEBODY,
                extra_groups=[],
                cwd="/",
                env={**os.environ, **PYTHON_PATH},
                capture_output=True,
                text=True,
                check=False,
            )
        except OSError:
            continue
        if answer.stdout.strip() == str(sys.version_info[:2]):
            return python
    pytest.skip("no Python here that another user can run")


async def test_root_runs_postgres_as_nobody(data_dir: Path) -> None:
    with using(data_dir) as user:
        assert owner_of_process(postmaster(data_dir)) == pwd.getpwnam("nobody").pw_uid
        assert await answers(user.dsn)


async def test_a_directory_that_nobody_may_enter_stays_closed(closed_parent: Path) -> None:
    data_dir = closed_parent / "data"

    with using(data_dir) as user:
        assert await answers(user.dsn)
    with using(data_dir) as later:
        assert await answers(later.dsn)

    assert mode(closed_parent) == 0o700
    assert not (data_dir / "postgres").resolve().is_relative_to(closed_parent)


async def test_another_user_runs_postgres_as_itself(somebodys_dir: Path, anybodys_python: str) -> None:
    with using(somebodys_dir, python=anybodys_python, uid=SOMEBODY, env=PYTHON_PATH) as user:
        assert owner_of_process(postmaster(somebodys_dir)) == SOMEBODY
        assert await answers(user.dsn)


async def test_root_joins_the_postgres_of_another_user(somebodys_dir: Path, anybodys_python: str) -> None:
    with using(somebodys_dir, python=anybodys_python, uid=SOMEBODY, env=PYTHON_PATH) as user:
        with using(somebodys_dir) as root:
            assert root.dsn == user.dsn
            root.leave()
        assert await answers(user.dsn)
        user.leave()
    with using(somebodys_dir) as root:
        assert owner_of_process(postmaster(somebodys_dir)) == SOMEBODY
        root.leave()
    with using(somebodys_dir, python=anybodys_python, uid=SOMEBODY, env=PYTHON_PATH) as user:
        assert await answers(user.dsn)


async def test_the_directory_of_another_user_is_refused_in_words(data_dir: Path, anybodys_python: str) -> None:
    with using(data_dir) as root:
        root.leave()

    with spawn(data_dir, python=anybodys_python, uid=SOMEBODY, env=PYTHON_PATH) as process:
        output, errors = process.communicate()

    assert output == ""
    assert "belongs to another user" in errors
    assert "Traceback" not in errors
    assert process.returncode == 1


def test_binaries_that_nobody_may_read_are_copied_to_where_they_run(
    closed_parent: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = data_dir.parent / "elsewhere"
    monkeypatch.setattr(places, "ELSEWHERE", elsewhere)
    closed = closed_parent / places.PACKAGE
    shutil.copytree(places.package() / places.INSTALLATION, closed / places.INSTALLATION)
    shutil.copytree(places.package().parent / f"{places.PACKAGE}.libs", closed_parent / f"{places.PACKAGE}.libs")
    monkeypatch.setattr(places, "package", lambda: closed)
    nobody = places.choose_account(data_dir)

    binaries = places.choose_binaries(nobody)

    assert binaries.is_relative_to(elsewhere)
    assert "PostgreSQL" in run(Cluster(data_dir, binaries, nobody), ["psql", "--version"])
    assert "PostgreSQL" in run(Cluster(data_dir, binaries, nobody), ["postgres", "--version"])
    assert places.choose_binaries(nobody) == binaries
