"""B3: what a person says stays as it was said, whatever the system does, until a person frees it."""

import asyncio
from typing import Any

import pytest
from sqlalchemy.exc import DBAPIError

from models.base import ExpectedOutputChange
from resolvers.acting import Acting
from resolvers.expected import write
from resolvers.tables import locked_rows, told
from tests.tables.table import BEN, EMPTY, OLGA, Table, field
from tests.waiting import eventually


async def is_waiting(table: Table) -> bool:
    return bool(await table.house.execute("SELECT pid FROM pg_locks WHERE NOT granted"))


async def test_an_edit_is_manual_and_locked_and_names_its_editor(table: Table) -> None:
    answer = await table.edit("right", viewer=BEN)

    shown = answer["expectedOutput"]
    assert table.value_of(shown) == ("right", "MANUAL", True)
    assert (shown["origin"], shown["locked"], shown["editedBy"], shown["revision"]) == ("MANUAL", True, "ben", 1)
    assert shown["editedAt"] is not None
    assert (await table.row())["expectedOutput"]["history"]["nodes"][0]["changedBy"] == "ben"


async def test_an_edit_of_a_captured_value_replaces_and_locks_it(table: Table) -> None:
    await table.say("captured")

    await table.edit("right")

    assert await table.value() == ("right", "MANUAL", True)
    assert (await table.row())["expectedOutput"]["sourceTrack"] is None
    assert await table.changes() == ["CAPTURED", "EDITED"]


async def test_an_edit_to_the_same_value_as_the_captured_one_locks_it(table: Table) -> None:
    await table.say("same")

    await table.edit("same")

    assert await table.value() == ("same", "MANUAL", True)


async def test_an_edit_to_the_value_that_a_person_gave_changes_nothing(table: Table) -> None:
    await table.edit("same", viewer=BEN)
    before = await table.row()

    answer = await table.edit("same")

    assert answer["__typename"] == "EditExpectedOutputPayload"
    assert await table.row() == before


async def test_an_edit_of_one_field_locks_that_field_alone(automation: Table) -> None:
    cell = {"rowId": automation.rows[0], "trackId": automation.tracks[0]}
    await automation.record({**cell, "fields": {"total": "1", "note": "n"}})

    await automation.edit_of({"fields": [field("total", "2")]})

    assert await automation.fields() == {"total": ("2", "MANUAL", True), "note": ("n", "AUTO", False)}
    shown = (await automation.row())["expectedOutput"]
    assert (shown["origin"], shown["locked"]) == ("MIXED", True)

    answer = await automation.record({**cell, "fields": {"total": "3", "note": "m"}})

    assert (answer["captured"], answer["lockedSkipped"]) == (1, 1)
    assert await automation.fields() == {"total": ("2", "MANUAL", True), "note": ("m", "AUTO", False)}


async def test_emptying_a_value_is_an_edit_and_locks_the_emptiness(table: Table) -> None:
    await table.say("captured")
    emptied: dict[str, Any] = {"text": None}
    if table.kind == "AUTOMATION":
        emptied = {"fields": [{"name": "total"}]}

    await table.edit_of(emptied)

    assert await table.value() == (None, "MANUAL", True)
    assert (await table.row())["expectedOutput"]["history"]["nodes"][-1]["fields"] is None
    answer = await table.say("again")
    assert (answer["captured"], answer["lockedSkipped"]) == (0, 1)
    assert await table.value() == (None, "MANUAL", True)


async def test_a_null_is_a_value_of_a_field_and_no_emptied_one(automation: Table) -> None:
    await automation.edit_of({"fields": [field("total", None), {"name": "note"}]})

    history = (await automation.row())["expectedOutput"]["history"]["nodes"]
    assert history[-1]["fields"] == {"total": None}
    assert await automation.fields() == {"total": (None, "MANUAL", True), "note": (None, "MANUAL", True)}


async def test_the_empty_text_is_a_value(conversation: Table) -> None:
    await conversation.edit("")
    assert await conversation.value() == ("", "MANUAL", True)


async def test_expected_outputs_given_with_new_rows_are_a_persons_too(table: Table) -> None:
    given = {"expectedText": "given"} if table.kind == "CONVERSATION" else {"expectedFields": {"total": "given"}}

    answer = await table.act("addRows", OLGA, benchmarkId=table.id, rows=[{"input": "i", **given}])

    [row] = answer["added"]
    assert table.value_of(row["expectedOutput"]) == ("given", "MANUAL", True)
    assert (row["expectedOutput"]["editedBy"], row["expectedOutput"]["revision"]) == ("olga", 1)
    table.rows.append(row["id"])
    assert await table.changes(-1) == ["IMPORTED"]


async def test_no_capture_recapture_switch_or_toggle_changes_a_locked_value(table: Table) -> None:
    await table.edit("right")
    await table.say("another", place=1)
    await table.say("of the other track", track=1)
    before = await table.row()

    await table.say("wrong")
    await table.switch(0, "RECAPTURE")
    await table.switch(1, "RECAPTURE")
    await table.toggle(False)
    await table.toggle(True)
    await table.say("wrong again", track=1)
    await table.remove_track(1, newSourceTrackId=table.tracks[0], existing="RECAPTURE")

    assert (await table.row())["expectedOutput"] == before["expectedOutput"]


async def test_an_edit_that_lands_while_an_answer_is_in_flight_wins(table: Table) -> None:
    """The answer waits for the row that the edit holds, and finds it locked."""
    await table.say("captured")
    row = table.key(0)
    async with table.house.services.database.engine.connect() as connection:
        editing = await connection.begin()
        acting = Acting(connection, "ann")
        edited = {"": ("right", None)} if table.kind == "CONVERSATION" else {"total": (None, '"right"')}
        await locked_rows(acting, table.key(), [row])
        await told(acting, ExpectedOutputChange.EDITED, by_person=True)
        answering = asyncio.create_task(table.say("late"))
        await eventually(lambda: is_waiting(table))
        await write(acting, {(row, name): edit for name, edit in edited.items()}, {row: 2})
        await editing.commit()
    answer = await answering

    assert (answer["captured"], answer["lockedSkipped"]) == (0, 1)
    assert (await table.value())[0] == "right"


async def test_unlocking_frees_a_value_for_captures_and_leaves_it_manual(table: Table) -> None:
    await table.edit("right")

    answer = await table.unlock(viewer=BEN)

    assert table.value_of(answer["expectedOutput"]) == ("right", "MANUAL", False)
    assert await table.changes() == ["EDITED", "UNLOCKED"]
    await table.say("captured")
    assert await table.value() == ("captured", "AUTO", False)
    assert (await table.row())["expectedOutput"]["editedBy"] is None


async def test_the_toggle_never_clears_an_unlocked_value_of_a_person(table: Table) -> None:
    await table.edit("right")
    await table.unlock()

    answer = await table.toggle(False)

    assert (answer["clearedRows"], answer["keptManualRows"]) == (0, 1)
    assert await table.value() == ("right", "MANUAL", False)


async def test_one_field_is_unlocked_alone(automation: Table) -> None:
    await automation.edit_of({"fields": [field("total", "1"), field("note", "n")]})

    await automation.unlock(fields=["note"])

    assert await automation.fields() == {"total": ("1", "MANUAL", True), "note": ("n", "MANUAL", False)}


async def test_unlocking_what_is_not_locked_changes_nothing(table: Table) -> None:
    await table.say("captured")
    before = await table.row()

    answer = await table.unlock()

    assert answer["__typename"] == "UnlockExpectedOutputPayload"
    assert await table.row() == before


async def test_only_known_fields_are_unlocked(automation: Table) -> None:
    answer = await automation.unlock(fields=["other"])
    assert (answer["__typename"], answer["path"]) == ("InvalidInput", ["fields"])


async def test_an_edit_against_an_old_revision_gets_the_present_value(table: Table) -> None:
    await table.edit("right", since=0)

    answer = await table.edit("other", since=0, viewer=BEN)

    assert (answer["__typename"], answer["currentVersion"]) == ("Conflict", 1)
    assert answer["existing"]["__typename"] == "ExpectedOutput"
    assert table.value_of(answer["existing"]) == ("right", "MANUAL", True)
    assert await table.value() == ("right", "MANUAL", True)


async def test_an_unlock_against_an_old_revision_is_a_conflict(table: Table) -> None:
    await table.edit("right")
    answer = await table.act("unlockExpectedOutput", rowId=table.rows[0], expectedRevision=0)
    assert answer["__typename"] == "Conflict"
    assert await table.value() == ("right", "MANUAL", True)


async def test_a_capture_in_between_is_no_conflict(table: Table) -> None:
    await table.say("captured")

    answer = await table.edit("right", since=0)

    assert table.value_of(answer["expectedOutput"]) == ("right", "MANUAL", True)


async def test_another_persons_edit_of_another_field_is_no_conflict(automation: Table) -> None:
    await automation.edit_of({"fields": [field("note", "n")]}, viewer=BEN)

    answer = await automation.edit_of({"fields": [field("total", "1")]}, since=0)

    assert automation.value_of(answer["expectedOutput"]) == ("1", "MANUAL", True)


async def test_a_revision_that_is_not_there_yet_is_a_conflict(table: Table) -> None:
    answer = await table.edit("right", since=7)
    assert (answer["__typename"], answer["currentVersion"]) == ("Conflict", 0)


@pytest.mark.parametrize(
    ("edited", "path"),
    [
        ({}, []),
        ({"text": "t", "fields": [field("total", "1")]}, []),
        ({"fields": []}, []),
        ({"text": "t"}, ["text"]),
        ({"fields": [field("other_name", "1")]}, ["fields", "other_name"]),
        ({"fields": [field("total", 1)]}, ["fields", "total"]),
        ({"fields": [field("total", "\0")]}, ["fields", "total"]),
        ({"fields": [field("total", "1"), field("total", "2")]}, ["fields", "1", "name"]),
    ],
)
async def test_an_edit_that_fits_no_automation_is_refused(
    automation: Table, edited: dict[str, Any], path: list[str]
) -> None:
    answer = await automation.edit_of(edited)
    assert (answer["__typename"], answer["path"]) == ("InvalidInput", path)
    assert await automation.revision() == 0


@pytest.mark.parametrize("edited", [{"fields": [field("total", "1")]}, {"text": "\0"}])
async def test_an_edit_that_fits_no_conversation_is_refused(conversation: Table, edited: dict[str, Any]) -> None:
    answer = await conversation.edit_of(edited)
    assert (answer["__typename"], answer["path"]) == ("InvalidInput", [*edited])
    assert await conversation.revision() == 0


async def test_an_edit_of_a_row_that_is_gone_finds_none(table: Table) -> None:
    await table.act("removeRows", ids=table.rows[:1])
    answer = await table.act("editExpectedOutput", rowId=table.rows[0], expectedRevision=0, text="t")
    assert (answer["__typename"], answer["path"]) == ("NotFound", ["rowId"])


FORBIDDEN = {
    "changed": "UPDATE expected_values SET text = 'x', value = NULL WHERE locked",
    "changed to null": "UPDATE expected_values SET text = NULL, value = NULL, origin = 'EMPTY', locked = false,"
    " edited_by = NULL WHERE locked",
    "unlocked": "UPDATE expected_values SET locked = false WHERE locked",
    "deleted": "DELETE FROM expected_values WHERE locked",
    "deleted with its row": "DELETE FROM benchmark_rows",
    "deleted with its benchmark": "DELETE FROM benchmarks",
}


@pytest.mark.parametrize("how", FORBIDDEN)
async def test_in_psql_a_locked_value_cannot_be(conversation: Table, how: str) -> None:
    await conversation.edit("right")
    with pytest.raises(DBAPIError, match="a locked value is changed by a person alone"):
        await conversation.house.execute(FORBIDDEN[how])
    assert await conversation.value() == ("right", "MANUAL", True)


async def test_in_psql_a_locked_value_is_changed_by_who_names_an_actor(conversation: Table) -> None:
    await conversation.edit("right")
    async with conversation.house.services.database.engine.begin() as connection:
        await connection.exec_driver_sql("SELECT set_config('assay.actor', 'dba', true)")
        await connection.exec_driver_sql("UPDATE expected_values SET text = 'mended' WHERE text = 'right'")
    assert await conversation.value() == ("mended", "MANUAL", True)
    assert await conversation.changes() == ["EDITED", "EDITED"]


async def test_in_psql_no_revision_is_changed(conversation: Table) -> None:
    await conversation.edit("right")
    with pytest.raises(DBAPIError):
        await conversation.house.execute("UPDATE expected_revisions SET text = 'other'")


async def test_a_value_that_was_never_there_is_empty(table: Table) -> None:
    assert await table.value() == EMPTY
