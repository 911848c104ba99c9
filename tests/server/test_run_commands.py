"""`assay run start|watch|cancel`: what they start, what they say, and the status they end with."""

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner, Result

from models.base import EvaluationScope, GenerationScope
from server.choosing import run_id
from server.commands import load
from server.commands.run import asked_for
from server.refusal import Refusal
from tests.databases import OTHERS, execute
from tests.provider import Provider
from tests.runs.service import Bench, Service, made, service

ASSAY = str(Path(sys.executable).parent / "assay")
RUN = (
    "query ($id: ID!) { node(id: $id) { ... on Run { status startedBy maxCost"
    " generation { trackNames scope cellCount } evaluation { metricNames scope scoreCount } } } }"
)
PATIENCE = 60

Assay = Callable[..., Awaitable[Result]]


@pytest.fixture(autouse=True)
def environment(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_DATABASE_URL", database)
    monkeypatch.setenv("ASSAY_DATA_DIR", str(tmp_path))


@pytest.fixture
async def idle(database: str, tmp_path: Path) -> AsyncIterator[Service]:
    """A service whose runs nobody does."""
    async with service(database, tmp_path, worker=False) as idle:
        yield idle


@pytest.fixture
async def bench(idle: Service, provider: Provider) -> Bench:
    return await made(idle, provider)


@pytest.fixture
async def busy(database: str, tmp_path: Path, provider: Provider) -> AsyncIterator[Bench]:
    """The same, and somebody does them."""
    async with service(database, tmp_path) as busy:
        yield await made(busy, provider)


async def assay(*arguments: object) -> Result:
    """In a thread: commands have an event loop of their own."""
    return await asyncio.to_thread(CliRunner().invoke, load(), [str(each) for each in arguments])


async def done(*arguments: object) -> str:
    result = await assay(*arguments)
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout.strip()


async def refused(*arguments: object) -> list[str]:
    """The lines that a command says why."""
    result = await assay(*arguments)
    assert isinstance(result.exception, Refusal), (result.output, result.exception)
    return [str(fault) for fault in result.exception.faults]


async def plan(bench: Bench, run: str) -> Any:
    return (await bench.service.ask(RUN, id=run))["node"]


async def spawn(*arguments: str) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(ASSAY, *arguments, stdout=pipe, stderr=pipe, env=os.environ)


@asynccontextmanager
async def working(*options: str) -> AsyncIterator[None]:
    """A worker in a process of its own."""
    process = await spawn("worker", *options)
    assert process.stdout is not None
    try:
        assert (await process.stdout.readline()).strip() == b"Working."
        yield
    finally:
        process.terminate()
        _, err = await process.communicate()
    assert process.returncode == 0, err


async def test_a_run_is_started_followed_and_done_by_a_worker_elsewhere(bench: Bench) -> None:
    async with working():
        process = await spawn("run", "start", "table", "--watch")
        async with asyncio.timeout(PATIENCE):
            out, err = await process.communicate()

    run, *lines = out.decode().splitlines()
    assert (process.returncode, err) == (0, b"")
    assert (await plan(bench, run))["status"] == "SUCCEEDED"
    assert lines[-1] == "SUCCEEDED 4/4: succeeded 4, captured 2, cost 0.000032"
    assert [cell["output"] for cell in await bench.cells()] == ["one answers: What is 1?", "one answers: What is 2?"]


async def test_a_worker_shows_its_figures_where_it_says() -> None:
    process = await spawn("worker", "--metrics-port", "0")
    assert process.stdout is not None
    address = (await process.stdout.readline()).decode().strip().removeprefix("Figures: ")

    async with httpx.AsyncClient() as client:
        figures = (await client.get(address)).text
    process.terminate()
    await process.communicate()

    assert "assay_run_items_held 0.0" in figures


async def test_a_worker_whose_port_is_taken_says_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        process = await spawn("worker", "--metrics-port", str(taken.getsockname()[1]))
        _, err = await process.communicate()

    assert b": ADDRESS_UNAVAILABLE: " in err
    assert process.returncode == 1


async def test_what_is_generated_is_what_has_no_answer_on_every_track(bench: Bench) -> None:
    run = await done("run", "start", "table")

    found = await plan(bench, run)

    assert found["generation"] == {"trackNames": ["one", "two"], "scope": "EMPTY_AND_FAILED", "cellCount": 4}
    assert (found["evaluation"], found["startedBy"]) == (None, "local")


async def test_rows_and_tracks_are_chosen_by_what_they_are_called(bench: Bench) -> None:
    await bench.service.act(
        "addRows", "rows { id }", benchmarkId=bench.id, rows=[{"key": "hours, opening", "input": "When?"}]
    )

    run = await done("run", "start", "table", "--tracks", "two", "--rows", '"hours, opening"', "--max-cost", "2.50")

    found = await plan(bench, run)
    assert found["generation"] == {"trackNames": ["two"], "scope": "SELECTED", "cellCount": 1}
    assert found["maxCost"] == "2.50"


async def test_metrics_are_chosen_by_what_they_are_called(bench: Bench) -> None:
    await bench.add_metric("Same", "EXACT_MATCH")
    await bench.set_metrics(await bench.add_metric("Alike", "TOKEN_F1"))

    run = await done("run", "start", "table", "--evaluate", "missing", "--metrics", "Same")

    found = await plan(bench, run)
    assert found["evaluation"] == {"metricNames": ["Same"], "scope": "MISSING", "scoreCount": 4}
    assert found["generation"] is None


async def test_every_name_that_is_not_there_is_told(bench: Bench) -> None:
    told = await refused(
        "run", "start", "table", "--tracks", "one,three", "--rows", "x", "--evaluate", "SELECTED", "--metrics", "m"
    )

    assert told == [
        "three: UNKNOWN_TRACK: There is no track 'three'.",
        "x: UNKNOWN_ROW: There is no row 'x'.",
        "m: UNKNOWN_METRIC: There is no metric 'm'.",
    ]


async def test_a_benchmark_that_is_not_there_is_told() -> None:
    told = await refused("run", "start", "nothing")

    assert told == ["nothing: UNKNOWN_BENCHMARK: There is no benchmark of this name."]


async def test_a_rule_that_refuses_is_told_at_its_option(bench: Bench) -> None:
    [told] = await refused("run", "start", "table", "--max-cost", "-1")

    assert told.startswith("--max-cost: INVALID_INPUT: ")


async def test_a_run_in_the_way_is_named(bench: Bench) -> None:
    run = await done("run", "start", "table")

    [told] = await refused("run", "start", "table", "--scope", "ALL")

    assert told.startswith("table: RUN_IN_PROGRESS: ")
    assert run in told


async def test_the_same_key_is_the_same_run(bench: Bench) -> None:
    first = json.loads(await done("run", "start", "table", "--key", "once", "--json"))
    second = json.loads(await done("run", "start", "table", "--key", "once", "--json"))

    assert (first, second) == ({"id": first["id"], "created": True}, {"id": first["id"], "created": False})


async def test_the_same_key_for_something_else_is_a_conflict(bench: Bench) -> None:
    run = await done("run", "start", "table", "--key", "once")

    [told] = await refused("run", "start", "table", "--key", "once", "--scope", "ALL")

    assert told.startswith("table: CONFLICT: ")
    assert run in told


async def test_a_run_that_is_followed_ends_with_one_document(busy: Bench) -> None:
    told = json.loads(await done("run", "start", "table", "--watch", "--json"))

    assert told == {
        "id": told["id"],
        "created": True,
        "status": "SUCCEEDED",
        "progress": {
            "total": 4,
            "done": 4,
            "succeeded": 4,
            "failed": 0,
            "cancelled": 0,
            "outOfBudget": 0,
            "remaining": 0,
            "captured": 2,
            "lockedSkipped": 0,
        },
        "cost": "0.000032",
        "unpricedCalls": 0,
    }


async def test_a_run_of_which_nothing_succeeded_ends_the_command_with_1(busy: Bench) -> None:
    busy.provider.on(behaviour="400")

    [told] = await refused("run", "start", "table", "--watch")

    assert told.endswith(": RUN_FAILED: No item succeeded: failed 4.")


async def test_who_follows_is_told_why_items_failed_the_commonest_reason_first(busy: Bench) -> None:
    busy.provider.on(behaviour="400")
    busy.provider.on(model="one", contains="What is 1?", behaviour="401")

    result = await assay("run", "start", "table", "--watch")

    told = [line for line in result.stderr.splitlines() if " failed, " in line]
    assert told == [
        "3 failed, PROVIDER: The provider answered with status 400: Told to answer 400.",
        "1 failed, PROVIDER: The provider refused the key (status 401).",
    ]


async def test_who_follows_a_run_that_selects_nothing_is_told_so(busy: Bench) -> None:
    await done("run", "start", "table", "--watch")

    again = await assay("run", "start", "table", "--watch")

    assert again.stderr.strip() == "Nothing was to be done: the scopes selected no cell and no score."


async def test_a_terminal_sees_a_bar(busy: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")

    shown = await done("run", "start", "table", "--watch")

    assert "━" in shown
    assert "4/4" in shown


async def test_a_run_is_cancelled(bench: Bench) -> None:
    run = await done("run", "start", "table")

    assert await done("run", "cancel", run) == f"{run}: CANCELLED"
    assert await refused("run", "watch", run) == [f"{run}: RUN_CANCELLED: The run was cancelled: cancelled 4."]


async def test_a_run_that_has_ended_is_not_cancelled(busy: Bench) -> None:
    await done("run", "start", "table", "--watch")

    assert await done("run", "cancel", run_id(1)) == f"{run_id(1)}: SUCCEEDED"


@pytest.mark.parametrize("id_", ["", "nonsense", run_id(404), "QWdlbnQ6MQ=="])
@pytest.mark.parametrize("command", ["watch", "cancel"])
async def test_a_run_that_is_not_there_is_told(command: str, id_: str) -> None:
    assert await refused("run", command, id_) == [f"{id_}: NOT_FOUND: There is no such run."]


async def test_who_follows_is_told_that_nobody_works(bench: Bench) -> None:
    run = await done("run", "start", "table")

    process = await spawn("run", "watch", run)
    assert process.stderr is not None
    hint = await process.stderr.readline()
    await done("run", "cancel", run)
    await process.communicate()

    assert b"Does a worker run" in hint
    assert process.returncode == 1


async def test_who_stops_following_is_told_how_to_go_on(bench: Bench) -> None:
    run = await done("run", "start", "table")
    # Tests in the background of a shell ignore it, and so would what they start.
    signal.signal(signal.SIGINT, signal.default_int_handler)

    process = await spawn("run", "watch", run)
    assert process.stdout is not None
    await process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, err = await process.communicate()

    assert err.decode().strip() == f"The run goes on. To follow it again: assay run watch {run}"
    assert process.returncode == 130


async def test_who_follows_outlives_a_connection(bench: Bench, database: str) -> None:
    run = await done("run", "start", "table")

    process = await spawn("run", "watch", run)
    assert process.stdout is not None
    await process.stdout.readline()
    await execute(database, OTHERS)
    await done("run", "cancel", run)
    out, err = await process.communicate()

    assert out.startswith(b"CANCELLED 4/4")
    assert b"The database does not answer" in err


def asked(**options: Any) -> tuple[GenerationScope | None, EvaluationScope | None]:
    given: dict[str, Any] = dict.fromkeys(("tracks", "scope", "rows", "evaluate", "metrics", "max_cost", "key"))
    found = asked_for("table", **{**given, "no_evaluate": False, **options})
    return found.generate, found.evaluate


@pytest.mark.parametrize(
    ("options", "scopes"),
    [
        ({}, ("EMPTY_AND_FAILED", None)),
        ({"scope": "ALL"}, ("ALL", None)),
        ({"rows": "a"}, ("SELECTED", None)),
        ({"evaluate": "STALE"}, (None, "STALE")),
        ({"rows": "a", "evaluate": "SELECTED"}, (None, "SELECTED")),
        ({"scope": "ALL", "evaluate": "MISSING"}, ("ALL", "MISSING")),
        ({"scope": "SELECTED", "rows": "a", "evaluate": "MISSING"}, ("SELECTED", "MISSING")),
    ],
)
def test_options_say_which_parts_a_run_has(options: dict[str, str], scopes: tuple[str | None, str | None]) -> None:
    assert asked(**options) == scopes


@pytest.mark.parametrize(
    "options",
    [
        ("--scope", "SELECTED"),
        ("--evaluate", "SELECTED"),
        ("--scope", "ALL", "--rows", "a"),
        ("--metrics", "m"),
        ("--evaluate", "ALL", "--no-evaluate"),
        ("--max-cost", "much"),
        ("--max-cost", "nan"),
        ("--tracks", ","),
        ("--scope", "SOME"),
    ],
)
async def test_options_that_make_no_sense_are_wrong_usage(options: tuple[str, ...]) -> None:
    assert (await assay("run", "start", "table", *options)).exit_code == 2
