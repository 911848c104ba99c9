import os
import signal
import stat
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import asyncpg
import pytest

from tests.databases import execute
from tests.server.processes import (
    eventually,
    keeper,
    postmaster,
    running_on,
    spawn,
    stream,
    using,
    wait_until_unused,
    was_replaced,
)


async def fetch(dsn: str, query: str) -> object:
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


async def answers(dsn: str) -> bool:
    try:
        return await fetch(dsn, "SELECT 1") == 1
    except (OSError, asyncpg.PostgresError):
        return False


def everything_in(directory: Path) -> Iterator[Path]:
    return (directory / "postgres").resolve().iterdir()


async def test_the_server_keeps_time_in_utc_and_folds_case_beyond_ascii(empty_database: str) -> None:
    query = "SELECT current_setting('timezone') || ' ' || ('É' ILIKE 'é')::text"

    assert await fetch(empty_database, query) == "UTC true"


async def test_several_first_starts_share_one_server(data_dir: Path) -> None:
    with ExitStack() as stack:
        processes = [stack.enter_context(spawn(data_dir)) for _ in range(3)]
        [dsn] = {stream(process.stdout).readline() for process in processes}

    assert dsn.startswith("postgresql://")


async def test_the_last_user_stops_the_server_and_waits_for_it(data_dir: Path) -> None:
    with using(data_dir) as first, using(data_dir) as second:
        first.leave()
        outlived = await answers(second.dsn)
        second.leave()

        assert outlived
        assert running_on(data_dir) == []


async def test_a_killed_last_user_leaves_nothing_running(data_dir: Path) -> None:
    with using(data_dir) as user:
        user.kill()

    wait_until_unused(data_dir)


async def test_a_killed_postgres_comes_back_where_its_users_look_for_it(data_dir: Path) -> None:
    with using(data_dir) as user:
        await execute(user.dsn, "CREATE TABLE kept AS SELECT 7 AS number")
        killed = postmaster(data_dir)

        os.kill(killed, signal.SIGKILL)

        assert eventually(lambda: was_replaced(data_dir, killed))
        with using(data_dir) as other:
            assert other.dsn == user.dsn
            assert await fetch(user.dsn, "SELECT number FROM kept") == 7


async def test_postgres_does_not_outlive_its_keeper(data_dir: Path) -> None:
    with using(data_dir):
        os.kill(keeper(data_dir), signal.SIGKILL)

        wait_until_unused(data_dir)


async def test_a_start_after_everything_was_killed_finds_what_was_committed(data_dir: Path) -> None:
    with using(data_dir) as user:
        await execute(user.dsn, "CREATE TABLE kept AS SELECT 7 AS number")
        for pid in (keeper(data_dir), postmaster(data_dir), user.process.pid):
            os.kill(pid, signal.SIGKILL)

    with using(data_dir) as later:
        assert await fetch(later.dsn, "SELECT number FROM kept") == 7


def sleeper(uid: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["/bin/sleep", "600"], user=uid, cwd="/")


async def test_a_pid_file_that_names_a_stranger_hinders_no_start(data_dir: Path) -> None:
    with using(data_dir) as user:
        pid_file = data_dir / "postgres" / "data" / "postmaster.pid"
        stale = pid_file.read_text().splitlines()
        user.leave()
    stranger = sleeper(pid_file.parent.stat().st_uid)
    pid_file.write_text("\n".join([str(stranger.pid), *stale[1:]]))

    try:
        with using(data_dir) as later:
            assert await answers(later.dsn)
    finally:
        stranger.kill()
        stranger.wait()


async def test_a_cluster_that_was_half_made_is_made_again(data_dir: Path) -> None:
    remains = data_dir / "postgres" / "data.new"
    remains.mkdir(parents=True)
    (remains / "PG_VERSION").write_text("18\n")
    (data_dir / "postgres").chmod(0o711)

    with using(data_dir) as user:
        assert await answers(user.dsn)


async def test_variables_for_another_postgres_do_not_mislead(data_dir: Path) -> None:
    variables = {"PGPORT": "1", "PGHOST": "nowhere.invalid", "PGDATA": "/nowhere", "PGOPTIONS": "-c nothing=1"}

    with using(data_dir, env=variables) as user:
        assert await answers(user.dsn)


async def test_no_file_of_the_cluster_is_open_to_others(data_dir: Path) -> None:
    with using(data_dir):
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in everything_in(data_dir)}

    assert {name: mode for name, mode in modes.items() if mode & 0o077} == {}


async def test_a_caller_without_the_password_is_refused(data_dir: Path) -> None:
    with using(data_dir) as user:
        guess = user.dsn.replace(user.dsn.split(":")[2].split("@")[0], "guess")

        with pytest.raises(asyncpg.InvalidPasswordError):
            await fetch(guess, "SELECT 1")


async def test_a_postgres_that_cannot_start_is_told_with_its_own_words(data_dir: Path) -> None:
    with using(data_dir) as user:
        user.leave()
    (data_dir / "postgres" / "data" / "postgresql.conf").write_text("no_such_setting = 1\n")

    with spawn(data_dir) as process:
        output, errors = process.communicate()

    assert output == ""
    assert "no_such_setting" in errors
    assert "Traceback" not in errors
