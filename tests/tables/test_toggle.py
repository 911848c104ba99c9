"""B4: what turning captures on and off does, which is not the same for both kinds."""

from tests.tables.table import EMPTY, Table, field


async def test_turning_it_on_changes_nothing_until_the_next_answer(table: Table) -> None:
    await table.toggle(False)
    await table.say("unseen")

    answer = await table.toggle(True)

    assert (answer["clearedRows"], answer["keptManualRows"]) == (0, 0)
    assert answer["benchmark"]["autoCapture"] is True
    assert await table.value() == EMPTY
    await table.say("seen")
    assert await table.value() == ("seen", "AUTO", False)


async def test_turning_it_off_clears_what_an_automation_captured_and_keeps_what_people_said(automation: Table) -> None:
    cell = {"rowId": automation.rows[0], "trackId": automation.tracks[0]}
    await automation.record({**cell, "fields": {"total": "1", "note": "n"}}, automation.answer("2", place=1))
    await automation.edit("right")

    answer = await automation.toggle(False)

    assert (answer["clearedRows"], answer["keptManualRows"]) == (2, 1)
    assert await automation.fields(0) == {"total": ("right", "MANUAL", True), "note": EMPTY}
    assert await automation.fields(1) == {"total": EMPTY, "note": EMPTY}
    assert await automation.changes(1) == ["CAPTURED", "CLEARED"]
    shown = (await automation.row(1))["expectedOutput"]
    assert (shown["origin"], shown["sourceTrack"]) == ("EMPTY", None)


async def test_turning_it_off_keeps_what_a_conversation_has_and_stops_capturing(conversation: Table) -> None:
    await conversation.say("captured")
    await conversation.edit("right", place=1)

    answer = await conversation.toggle(False)

    assert (answer["clearedRows"], answer["keptManualRows"]) == (0, 1)
    assert await conversation.value() == ("captured", "AUTO", False)
    await conversation.say("later")
    assert await conversation.value() == ("captured", "AUTO", False)


async def test_locks_outlive_the_toggle_either_way(table: Table) -> None:
    await table.edit("right")

    await table.toggle(False)
    await table.toggle(True)
    await table.say("wrong")

    assert await table.value() == ("right", "MANUAL", True)
    assert await table.changes() == ["EDITED"]


async def test_an_explicit_null_that_was_captured_is_cleared_too(automation: Table) -> None:
    await automation.say(None)

    answer = await automation.toggle(False)

    assert answer["clearedRows"] == 1
    assert await automation.fields() == {"total": EMPTY, "note": EMPTY}


async def test_what_was_recaptured_while_it_was_off_is_cleared_when_it_is_turned_off_again(automation: Table) -> None:
    await automation.toggle(False)
    await automation.say("1")
    await automation.switch(0, "RECAPTURE")
    assert await automation.value() == ("1", "AUTO", False)

    answer = await automation.toggle(False)

    assert answer["clearedRows"] == 1
    assert await automation.value() == EMPTY


async def test_a_cleared_value_can_be_edited_and_captured_again(automation: Table) -> None:
    await automation.say("1")
    await automation.toggle(False)
    await automation.edit_of({"fields": [field("note", "n")]})
    await automation.toggle(True)

    await automation.say("2")

    assert await automation.fields() == {"total": ("2", "AUTO", False), "note": ("n", "MANUAL", True)}


async def test_the_toggle_against_an_old_version_is_a_conflict_and_changes_nothing(automation: Table) -> None:
    await automation.say("1")
    version = await automation.version()

    answer = await automation.act(
        "setAutoCapture", benchmarkId=automation.id, enabled=False, expectedVersion=version - 1
    )

    assert (answer["__typename"], answer["currentVersion"]) == ("Conflict", version)
    assert answer["existing"] == {"__typename": "Benchmark", "id": automation.id}
    assert (await automation.read())["autoCapture"] is True
    assert await automation.value() == ("1", "AUTO", False)
