"""Runs as the graph shows them: how far they are, what they do to cells, and what of them stays."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import update
from sqlalchemy.exc import DBAPIError

from engine.encode import write_global_id
from tests.rules.house import Answer
from tests.tables.running import item_of, items, run_of, runs, shown_run
from tests.tables.table import Table, key_of

NOW = datetime(2026, 2, 4, 10, tzinfo=UTC)
FINISHED: dict[str, Any] = {"finished_at": NOW}
TIMEOUT: dict[str, Any] = {"error_kind": "TIMEOUT", "error_message": "too late", **FINISHED}
PENDING = (
    """query ($id: ID!) { node(id: $id) { ... on Row { cells { pending { id status run { id } } run { id } } } } }"""
)
ITEMS = """query ($id: ID!, $where: RunItemFilter) { node(id: $id) { ... on Run {
  items(where: $where) { nodes { id } }
} } }"""
RUNS = """query ($id: ID!, $where: RunFilter) {
  node(id: $id) { ... on Benchmark {
    runs(where: $where, orderBy: [{field: CREATED_AT, direction: DESC}]) { nodes { id } }
  } }
}"""


def run_id(key: int) -> str:
    return write_global_id("Run", key)


def item_id(key: int) -> str:
    return write_global_id("RunItem", key)


async def progress(table: Table, run: int) -> Answer:
    found: Answer = (await shown_run(table, run_id(run)))["progress"]
    return found


async def test_progress_counts_items_by_what_became_of_them(table: Table) -> None:
    run = await run_of(table)
    await item_of(table, run, "SUCCEEDED", 0, 0, captured=True, **FINISHED)
    await item_of(table, run, "SUCCEEDED", 0, 1, locked_skipped=True, **FINISHED)
    await item_of(table, run, "FAILED", 1, 0, **TIMEOUT)
    await item_of(table, run, "OUT_OF_BUDGET", 1, 1, **FINISHED)
    await item_of(table, run, "CANCELLED", 1, 1, **FINISHED)
    await item_of(table, run, "RUNNING", 1, 0)
    await item_of(table, run, "QUEUED", 1, 1)
    counted = await progress(table, run)
    assert counted.pop("etaSeconds") is None
    assert counted == {
        "total": 7,
        "done": 5,
        "succeeded": 2,
        "failed": 1,
        "cancelled": 1,
        "outOfBudget": 1,
        "remaining": 2,
        "captured": 1,
        "lockedSkipped": 1,
    }


async def test_a_run_of_nothing_has_done_nothing(table: Table) -> None:
    counted = await progress(table, await run_of(table, "QUEUED"))
    assert (counted["total"], counted["done"], counted["etaSeconds"]) == (0, 0, None)


async def test_what_remains_takes_as_long_as_what_is_done_took(table: Table) -> None:
    ago = timedelta(hours=1)
    run = await run_of(table, started_at=datetime.now(UTC) - ago)
    await item_of(table, run, "SUCCEEDED", 0, 0, **FINISHED)
    await item_of(table, run, "QUEUED", 0, 1)
    await item_of(table, run, "QUEUED", 1, 0)
    # What the test itself takes is added to the hour, twice.
    assert 2 * ago.total_seconds() <= (await progress(table, run))["etaSeconds"] < 3 * ago.total_seconds()


async def test_a_run_that_has_ended_takes_no_more_time(table: Table) -> None:
    run = await run_of(table, "SUCCEEDED", started_at=NOW, finished_at=NOW)
    await item_of(table, run, "SUCCEEDED", **FINISHED)
    assert (await progress(table, run))["etaSeconds"] is None


async def test_a_part_that_a_run_does_not_have_is_null(table: Table) -> None:
    generating = await shown_run(table, run_id(await run_of(table, cell_count=4)))
    scoring = await run_of(table, generation_scope=None, evaluation_scope="STALE")
    assert (generating["generation"]["scope"], generating["generation"]["cellCount"]) == ("ALL", 4)
    assert generating["evaluation"] is None
    shown = await shown_run(table, run_id(scoring))
    assert (shown["generation"], shown["evaluation"]) == (None, {"scope": "STALE"})


async def test_a_run_keeps_the_names_of_tracks_that_are_gone(table: Table) -> None:
    run = await run_of(table)
    version = (await table.read())["tracks"][1]["version"]
    await table.act("removeTrack", id=table.tracks[1], expectedVersion=version)
    generation = (await shown_run(table, run_id(run)))["generation"]
    assert generation["trackNames"] == ["track 0", "track 1"]
    assert generation["tracks"] == [{"id": table.tracks[0]}]


async def test_an_item_tells_of_its_error_with_the_calls_that_it_made(table: Table) -> None:
    run = await run_of(table)
    await item_of(table, run, "FAILED", attempts=3, **TIMEOUT)
    (item,) = (await shown_run(table, run_id(run)))["items"]["nodes"]
    assert item["error"] == {"kind": "TIMEOUT", "message": "too late", "attempts": 3}
    assert item["cell"] == {"id": write_global_id("Cell", f"{table.key(0)}-{key_of(table.tracks[0])}")}


async def test_an_item_ends_with_its_row_and_has_no_cell_any_more(table: Table) -> None:
    run = await run_of(table)
    await item_of(table, run, "QUEUED", 0)
    await item_of(table, run, "RUNNING", 1)
    await table.act("removeRows", ids=[table.rows[0]])
    gone, left = (await shown_run(table, run_id(run)))["items"]["nodes"]
    assert (gone["status"], gone["cell"], left["status"]) == ("CANCELLED", None, "RUNNING")


async def test_an_ended_item_outlives_its_row_as_it_ended(table: Table) -> None:
    run = await run_of(table)
    await item_of(table, run, "SUCCEEDED", **FINISHED)
    await table.act("removeRows", ids=[table.rows[0]])
    (item,) = (await shown_run(table, run_id(run)))["items"]["nodes"]
    assert (item["status"], item["cell"]) == ("SUCCEEDED", None)


async def test_what_is_done_to_a_cell_is_pending_the_generation_first(table: Table) -> None:
    scoring, generating = await run_of(table), await run_of(table)
    await item_of(table, scoring, generates=False, stage="EVALUATE")
    item = await item_of(table, generating)
    await item_of(table, scoring, "SUCCEEDED", track=1, **FINISHED)
    first, second = (await table.house.ask(PENDING, id=table.rows[0]))["node"]["cells"]
    assert first["pending"] == {"id": item_id(item), "status": "QUEUED", "run": {"id": run_id(generating)}}
    assert second["pending"] is None


async def test_a_recorded_cell_stems_from_no_run(table: Table) -> None:
    await table.say("right")
    assert [cell["run"] for cell in (await table.house.ask(PENDING, id=table.rows[0]))["node"]["cells"]] == [None, None]


@pytest.mark.parametrize(
    ("where", "places"),
    [
        (lambda table: {"status": {"in": ["FAILED", "QUEUED"]}}, [1, 2]),
        (lambda table: {"trackId": {"eq": table.tracks[1]}}, [2]),
        (lambda table: {"rowId": {"ne": table.rows[0]}}, [1]),
    ],
)
async def test_items_are_found_by_status_row_and_track(table: Table, where: Any, places: list[int]) -> None:
    run = await run_of(table)
    made = [
        await item_of(table, run, "SUCCEEDED", **FINISHED),
        await item_of(table, run, "FAILED", 1, **TIMEOUT),
        await item_of(table, run, "QUEUED", 0, 1),
    ]
    found = (await table.house.ask(ITEMS, id=run_id(run), where=where(table)))["node"]["items"]["nodes"]
    assert found == [{"id": item_id(made[place])} for place in places]


async def test_runs_of_a_benchmark_are_found_and_ordered(table: Table) -> None:
    first = await run_of(table, "CANCELLED", created_at=NOW, started_by="ann", **FINISHED)
    second = await run_of(table, created_at=NOW + timedelta(seconds=1))
    everything = (await table.house.ask(RUNS, id=table.id))["node"]["runs"]["nodes"]
    of_ann = (await table.house.ask(RUNS, id=table.id, where={"startedBy": {"eq": "ann"}}))["node"]["runs"]["nodes"]
    assert everything == [{"id": run_id(second)}, {"id": run_id(first)}]
    assert of_ann == [{"id": run_id(first)}]


async def test_runs_are_found_by_what_they_cost(table: Table) -> None:
    await run_of(table, "CANCELLED", cost=Decimal("0.10"), **FINISHED)
    dear = await run_of(table, "CANCELLED", cost=Decimal("0.30"), **FINISHED)
    found = await table.house.ask(RUNS, id=table.id, where={"cost": {"gt": "0.1"}})
    assert found["node"]["runs"]["nodes"] == [{"id": run_id(dear)}]


@pytest.mark.parametrize(
    "change",
    [
        {"status": "QUEUED", "finished_at": None},
        {"attempts": 9},
        {"captured": True},
        {"cost": 1},
        {"unpriced_calls": 9},
        {"locked_skipped": True},
        {"error_message": "Another one."},
        {"stage": "WAIT"},
    ],
)
async def test_nothing_changes_an_item_that_has_ended(table: Table, change: dict[str, Any]) -> None:
    item = await item_of(table, await run_of(table), "SUCCEEDED", **FINISHED)
    with pytest.raises(DBAPIError, match="a run item that has ended is final"):
        await table.house.execute(update(items).where(items.c.id == item).values(**change))


@pytest.mark.parametrize(
    "change", [{"status": "RUNNING", "finished_at": None}, {"cost": 1}, {"unpriced_calls": 9}, {"started_by": "eve"}]
)
async def test_nothing_changes_a_run_that_has_ended(table: Table, change: dict[str, Any]) -> None:
    run = await run_of(table, "SUCCEEDED", finished_at=NOW)
    with pytest.raises(DBAPIError, match="a run that has ended is final"):
        await table.house.execute(update(runs).where(runs.c.id == run).values(**change))


async def test_one_cell_is_in_one_active_generation(table: Table) -> None:
    await item_of(table, await run_of(table))
    with pytest.raises(DBAPIError, match="run_items_one_generation_key"):
        await item_of(table, await run_of(table))
