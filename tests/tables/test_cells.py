"""recordCells: up to 1,000 answers at once, each with its own outcome."""

from typing import Any

import pytest

from engine.encode import write_global_id
from models.base import AgentKind
from resolvers.values import MONEY
from tests.rules.house import House
from tests.tables.counting import statements
from tests.tables.table import Table, made

MEASURED: dict[str, Any] = {"latencyMs": 250, "inputTokens": 1200, "outputTokens": 80, "cost": "0.001250"}


async def test_a_thousand_cells_are_answered_each_the_sound_stored_and_the_wrong_named(tables: House) -> None:
    table = await made(tables, AgentKind.CONVERSATION, rows=499)
    other = await made(tables, AgentKind.CONVERSATION)
    sound = [table.answer(f"{track} of {place}", place, track) for place in range(499) for track in (0, 1)]
    wrong = [other.answer("foreign row"), {"rowId": table.rows[0], "trackId": table.tracks[0]}]

    answer = await table.record(*sound[:300], wrong[0], *sound[300:], wrong[1])

    assert (answer["stored"], answer["captured"], answer["lockedSkipped"], answer["refused"]) == (998, 499, 0, 2)
    assert [each["index"] for each in answer["outcomes"]] == list(range(1000))
    named = {each["index"]: each["message"] for each in answer["outcomes"] if each["cell"] is None}
    assert named == {300: "The benchmark has no such row.", 999: "This cell is given twice."}
    outputs = [each["cell"]["output"] for each in answer["outcomes"] if each["cell"]]
    assert outputs == [each["output"] for each in sound]

    again = await table.record(*sound[:300], wrong[0], *sound[300:], wrong[1])

    assert again == answer
    assert [await table.changes(place) for place in (0, 250, 498)] == [["CAPTURED"]] * 3


async def test_more_than_a_thousand_cells_are_refused(table: Table) -> None:
    answer = await table.record(*[table.answer("one too many")] * 1001)
    assert (answer["__typename"], answer["path"]) == ("InvalidInput", ["cells"])


async def test_no_cells_are_no_fault(table: Table) -> None:
    answer = await table.record()
    assert (answer["stored"], answer["refused"], answer["outcomes"]) == (0, 0, [])


async def test_a_cell_keeps_what_it_took_and_cost(table: Table) -> None:
    await table.record(table.answer("out", **MEASURED))

    cell = (await table.row())["cells"][0]
    assert {name: cell[name] for name in MEASURED} == MEASURED
    assert (cell["status"], cell["error"]) == ("SUCCEEDED", None)


async def test_an_answer_replaces_the_one_before_whole(table: Table) -> None:
    await table.record(table.answer("out", **MEASURED))

    await table.say("other")

    cell = (await table.row())["cells"][0]
    assert [cell[name] for name in MEASURED] == [None] * 4


async def test_a_success_replaces_a_failure(table: Table) -> None:
    await table.fail()
    await table.say("out")
    cell = (await table.row())["cells"][0]
    assert (cell["status"], cell["error"]) == ("SUCCEEDED", None)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "nothing": ({}, "A cell of a benchmark of kind CONVERSATION takes its output, or an error alone."),
    "output and error": (
        {"output": "o", "error": "e"},
        "A cell of a benchmark of kind CONVERSATION takes its output, or an error alone.",
    ),
    "fields": (
        {"fields": {"total": "1"}},
        "A cell of a benchmark of kind CONVERSATION takes its output, or an error alone.",
    ),
    "NUL": ({"output": "a\0"}, "Text cannot hold NUL or half of a surrogate pair."),
    "half a pair": ({"error": "a\ud800"}, "Text cannot hold NUL or half of a surrogate pair."),
    "negative latency": ({"output": "o", "latencyMs": -1}, "latency_ms must be 0 or more."),
    "negative cost": ({"output": "o", "cost": "-0.1"}, f"cost must be {MONEY}."),
    "endless cost": ({"output": "o", "cost": "1e500000"}, f"cost must be {MONEY}."),
}


@pytest.mark.parametrize("fault", WRONG)
async def test_a_wrong_cell_is_named_and_the_others_are_stored(conversation: Table, fault: str) -> None:
    said, message = WRONG[fault]
    place = {"rowId": conversation.rows[0], "trackId": conversation.tracks[0]}

    answer = await conversation.record({**place, **said}, conversation.answer("sound", place=1))

    assert [each["message"] for each in answer["outcomes"]] == [message, None]
    assert (answer["stored"], answer["refused"]) == (1, 1)
    assert await conversation.status(0) == "EMPTY"
    assert await conversation.status(1) == "SUCCEEDED"


WRONG_FIELDS: dict[str, tuple[Any, str]] = {
    "a list": ([1], "fields must be an object of values by the names of fields."),
    "an unknown field": ({"other": "1"}, "The benchmark has no field other."),
    "another type": ({"total": 1}, "The field total takes text or null."),
    "NUL": ({"total": "\0"}, "The field total cannot hold NUL, half of a surrogate pair, infinity, or so many levels."),
}


@pytest.mark.parametrize("fault", WRONG_FIELDS)
async def test_fields_must_be_the_benchmarks_own(automation: Table, fault: str) -> None:
    fields, message = WRONG_FIELDS[fault]
    place = {"rowId": automation.rows[0], "trackId": automation.tracks[0]}

    answer = await automation.record({**place, "fields": fields})

    assert [each["message"] for each in answer["outcomes"]] == [message]
    assert await automation.status() == "EMPTY"


@pytest.mark.parametrize(
    ("type_", "right", "wrong"),
    [
        ("NUMBER", 1.5, True),
        ("BOOLEAN", False, 0),
        ("DATE", "2026-02-28", "2026-02-30"),
        ("LIST", [1, {"a": None}], {}),
        ("OBJECT", {"a": [1]}, []),
        ("STRING", "é\u202e", 7),
    ],
)
async def test_values_are_of_their_fields_type(tables: House, type_: str, right: Any, wrong: Any) -> None:
    fields = [{"name": "total", "type": type_}]
    table = await made(tables, AgentKind.AUTOMATION, fields=fields)

    answer = await table.record(table.answer(right), table.answer(wrong, place=1), table.answer(None, track=1))

    assert [each["cell"] is None for each in answer["outcomes"]] == [False, True, False]
    assert await table.value() == (right, "AUTO", False)


async def test_ids_of_other_types_and_rows_that_are_gone_are_named(table: Table) -> None:
    await table.act("removeRows", ids=[table.rows[1]])
    turned = {**table.answer("x"), "rowId": table.tracks[0]}
    unknown = {**table.answer("x"), "trackId": write_global_id("Track", 999_999)}

    answer = await table.record(turned, unknown, table.answer("gone", place=1))

    no_row, no_track = "The benchmark has no such row.", "The benchmark has no such track."
    assert [each["message"] for each in answer["outcomes"]] == [no_row, no_track, no_row]


async def test_a_benchmark_that_is_gone_is_not_found(table: Table) -> None:
    await table.act("deleteBenchmark", id=table.id, expectedVersion=await table.version())
    answer = await table.say("late")
    assert (answer["__typename"], answer["path"]) == ("NotFound", ["benchmarkId"])


async def test_as_many_statements_store_a_thousand_cells_as_one(tables: House) -> None:
    table = await made(tables, AgentKind.AUTOMATION, rows=500)
    many = [table.answer(str(place), place, track) for place in range(500) for track in (0, 1)]

    with statements(tables) as for_one:
        await table.record(many[0])
    with statements(tables) as for_many:
        await table.record(*many)

    assert len(for_many) == len(for_one) <= 12


async def test_as_many_statements_switch_and_toggle_many_rows_as_one(tables: House) -> None:
    one, many = [await made(tables, AgentKind.AUTOMATION, rows=rows) for rows in (1, 400)]
    counts = []
    for table in (one, many):
        await table.record(*[table.answer("v", place, track) for place in range(len(table.rows)) for track in (0, 1)])
        version = await table.version()
        with statements(tables) as switched:
            await table.act(
                "setSourceTrack",
                benchmarkId=table.id,
                trackId=table.tracks[1],
                expectedVersion=version,
                existing="RECAPTURE",
            )
        with statements(tables) as toggled:
            answer = await table.act("setAutoCapture", benchmarkId=table.id, enabled=False, expectedVersion=version + 1)
        assert answer["clearedRows"] == len(table.rows)
        counts.append((len(switched), len(toggled)))
    assert counts[0] == counts[1]
