"""B2: what the source track answers becomes the expected output, and nothing else does."""

from typing import Any

import pytest
from sqlalchemy import select

from models.base import AgentKind
from resolvers.tables import cells
from tests.rules.house import House
from tests.tables.table import EMPTY, Table, made


async def test_with_the_toggle_on_each_success_of_the_source_is_the_expected_output_of_its_row(table: Table) -> None:
    answer = await table.say("first")

    assert (answer["stored"], answer["captured"], answer["lockedSkipped"]) == (1, 1, 0)
    assert await table.value() == ("first", "AUTO", False)
    assert await table.value(1) == EMPTY
    shown = (await table.row())["expectedOutput"]
    assert shown["sourceTrack"] == {"id": table.tracks[0]}
    assert shown["editedBy"] is None

    await table.say("second")

    assert await table.value() == ("second", "AUTO", False)
    assert await table.changes() == ["CAPTURED", "CAPTURED"]


async def test_with_the_toggle_off_nothing_is_captured(tables: House) -> None:
    table = await made(tables, AgentKind.CONVERSATION, autoCapture=False)

    answer = await table.say("first")

    assert (answer["stored"], answer["captured"]) == (1, 0)
    assert await table.value() == EMPTY


async def test_other_tracks_are_not_captured(table: Table) -> None:
    answer = await table.say("of the second track", track=1)

    assert (answer["stored"], answer["captured"]) == (1, 0)
    assert await table.value() == EMPTY


async def test_the_only_track_is_the_source(tables: House) -> None:
    table = await made(tables, AgentKind.CONVERSATION, tracks=1)
    assert await table.source() == table.tracks[0]


async def test_without_tracks_there_is_no_source(tables: House) -> None:
    table = await made(tables, AgentKind.AUTOMATION, tracks=0)
    assert await table.source() is None


async def test_the_first_track_added_is_the_source_until_someone_chooses(table: Table) -> None:
    assert await table.source() == table.tracks[0]

    await table.switch(1)

    assert await table.source() == table.tracks[1]
    await table.say("of the chosen one", track=1)
    assert await table.value() == ("of the chosen one", "AUTO", False)


async def test_adding_moving_or_retyping_a_track_never_changes_the_source(table: Table) -> None:
    added = await table.add_track(position=0)
    other = await table.act("createModel", name=f"other {table.id}", provider="google", modelName="m")
    version = (await table.track())["version"]
    await table.act("updateTrack", id=table.tracks[0], expectedVersion=version, position=2)
    await table.act(
        "updateTrack", id=table.tracks[0], expectedVersion=version + 1, modelId=other["model"]["id"], name="renamed"
    )

    shown = await table.read()
    assert shown["sourceTrack"]["id"] == table.tracks[0]
    assert [track["id"] for track in shown["tracks"]] == [added["track"]["id"], table.tracks[1], table.tracks[0]]
    assert [track["position"] for track in shown["tracks"]] == [0, 1, 2]
    assert [track["isSource"] for track in shown["tracks"]] == [False, False, True]


async def test_a_failed_generation_captures_nothing_and_clears_nothing(table: Table) -> None:
    await table.fail()
    assert await table.value() == EMPTY
    assert await table.status() == "FAILED"
    await table.say("kept")

    answer = await table.fail()

    assert (answer["stored"], answer["captured"]) == (1, 0)
    assert await table.status() == "FAILED"
    assert await table.value() == ("kept", "AUTO", False)
    error = (await table.row())["cells"][0]["error"]
    assert error == {"kind": "EXTERNAL", "message": "overloaded", "attempts": 1}


@pytest.mark.parametrize("blank", ["", " \n\t"])
async def test_a_blank_answer_is_stored_as_empty_with_its_usage_and_cost_and_captures_nothing(
    conversation: Table, blank: str
) -> None:
    await conversation.say("kept")

    measured: dict[str, Any] = {"latencyMs": 12, "inputTokens": 3, "outputTokens": 1, "cost": "0.00012"}
    answer = await conversation.record(conversation.answer(blank, **measured))

    assert (answer["stored"], answer["captured"]) == (1, 0)
    cell = (await conversation.row())["cells"][0]
    assert {name: cell[name] for name in measured} == measured
    assert (cell["status"], cell["output"]) == ("EMPTY", None)
    assert cell["updatedAt"] is not None
    assert await conversation.value() == ("kept", "AUTO", False)


async def test_an_answer_without_fields_is_a_blank_one(automation: Table) -> None:
    answer = await automation.record({"rowId": automation.rows[0], "trackId": automation.tracks[0], "fields": {}})

    assert (answer["stored"], answer["captured"]) == (1, 0)
    assert await automation.status() == "EMPTY"


async def test_only_a_cell_that_was_never_answered_has_no_row(conversation: Table) -> None:
    await conversation.say("")

    stored = select(cells.c.row_pk).where(cells.c.row_pk.in_([conversation.key(0), conversation.key(1)]))
    assert await conversation.house.execute(stored) == [(conversation.key(0),)]
    assert (await conversation.row(1))["cells"][0]["updatedAt"] is None


async def test_an_explicit_null_is_a_value_and_a_missing_field_is_not(automation: Table) -> None:
    cell = {"rowId": automation.rows[0], "trackId": automation.tracks[0]}
    await automation.record({**cell, "fields": {"total": None}})

    assert await automation.fields() == {"total": (None, "AUTO", False), "note": EMPTY}
    history = (await automation.row())["expectedOutput"]["history"]["nodes"]
    assert history[-1]["fields"] == {"total": None}

    await automation.record({**cell, "fields": {"note": "n"}})

    assert await automation.fields() == {"total": (None, "AUTO", False), "note": ("n", "AUTO", False)}


async def test_one_answer_makes_one_revision_though_it_adds_a_field_and_changes_another(automation: Table) -> None:
    cell = {"rowId": automation.rows[0], "trackId": automation.tracks[0]}
    await automation.record({**cell, "fields": {"total": "1"}})

    await automation.record({**cell, "fields": {"total": "2", "note": "n"}})

    assert await automation.changes() == ["CAPTURED", "CAPTURED"]
    history = (await automation.row())["expectedOutput"]["history"]["nodes"]
    assert history[-1]["fields"] == {"note": "n", "total": "2"}


async def test_a_repeated_answer_leaves_no_revision(table: Table) -> None:
    await table.say("same")
    before = await table.row()

    answer = await table.say("same")

    assert (answer["stored"], answer["captured"]) == (1, 1)
    assert await table.row() == before


async def test_an_answer_of_a_field_that_was_retyped_is_not_captured_anew(automation: Table) -> None:
    await automation.say("12", track=1)
    await automation.act(
        "updateBenchmark",
        id=automation.id,
        expectedVersion=await automation.version(),
        fields=[{"name": "total", "type": "NUMBER"}],
    )

    answer = await automation.switch(1, "RECAPTURE")

    assert answer["recapturedRows"] == 0
    assert await automation.fields() == {"total": EMPTY}
