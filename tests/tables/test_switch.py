"""B5: choosing another source asks what becomes of captured values, and says what did."""

from models.base import AgentKind
from tests.rules.house import Answer, House
from tests.tables.table import EMPTY, Table, field, made


def figures(answer: Answer) -> tuple[int, int, int, int]:
    """Recaptured, kept, locked, without output."""
    return answer["recapturedRows"], answer["keptRows"], answer["lockedRows"], answer["rowsWithoutOutput"]


def asked(answer: Answer) -> tuple[int, int, int]:
    """Affected, locked, without output."""
    assert answer["__typename"] == "ConfirmationRequired"
    assert answer["choices"] == ["RECAPTURE", "KEEP"]
    return answer["affectedRows"], answer["lockedRows"], answer["rowsWithoutOutput"]


async def mixed(house: House, kind: AgentKind) -> Table:
    """Rows whose values are captured; captured and not answered by the second track; locked; none; freed."""
    table = await made(house, kind, rows=5)
    for place, value in ((0, "a"), (1, "b"), (2, "c"), (4, "e")):
        await table.say(value, place)
    for place in (0, 2, 3):
        await table.say(f"second {place}", place, track=1)
    await table.say("second 4", 4, track=1)
    await table.fail(1, track=1)
    await table.edit("right", 2)
    await table.edit("freed", 4)
    await table.unlock(4)
    return table


async def test_without_an_answer_a_switch_asks_and_changes_nothing(table: Table) -> None:
    mixture = await mixed(table.house, table.kind)
    before = await mixture.read()

    answer = await mixture.switch(1)

    assert asked(answer) == (3, 1, 1)
    assert await mixture.read() == before


async def test_recapture_makes_every_unlocked_value_the_new_tracks_output(table: Table) -> None:
    mixture = await mixed(table.house, table.kind)

    answer = await mixture.switch(1, "RECAPTURE")

    assert figures(answer) == (3, 1, 1, 1)
    assert answer["benchmark"]["sourceTrack"] == {"id": mixture.tracks[1]}
    assert [await mixture.value(place) for place in range(5)] == [
        ("second 0", "AUTO", False),
        ("b", "AUTO", False),
        ("right", "MANUAL", True),
        ("second 3", "AUTO", False),
        ("second 4", "AUTO", False),
    ]
    assert (await mixture.row(0))["expectedOutput"]["sourceTrack"] == {"id": mixture.tracks[1]}
    assert (await mixture.row(1))["expectedOutput"]["sourceTrack"] == {"id": mixture.tracks[0]}
    assert await mixture.changes(3) == ["RECAPTURED"]


async def test_what_a_switch_asks_is_what_it_then_does(table: Table) -> None:
    mixture = await mixed(table.house, table.kind)
    affected, locked, without = asked(await mixture.switch(1))

    recaptured, _, held, silent = figures(await mixture.switch(1, "RECAPTURE"))

    assert (affected, locked, without) == (recaptured, held, silent)


async def test_keep_leaves_all_values_and_later_answers_of_the_new_source_replace_unlocked_ones(table: Table) -> None:
    mixture = await mixed(table.house, table.kind)
    before = [await mixture.row(place) for place in range(5)]

    answer = await mixture.switch(1, "KEEP")

    assert figures(answer) == (0, 4, 1, 1)
    assert [await mixture.row(place) for place in range(5)] == before
    assert await mixture.source() == mixture.tracks[1]
    await mixture.say("later", 0, track=1)
    await mixture.say("later", 2, track=1)
    await mixture.say("not of the source any more", 1)
    assert [await mixture.value(place) for place in range(3)] == [
        ("later", "AUTO", False),
        ("b", "AUTO", False),
        ("right", "MANUAL", True),
    ]


async def test_without_captured_values_no_choice_is_needed(table: Table) -> None:
    await table.edit("right")
    await table.edit("freed", 1)
    await table.unlock(1)
    await table.say("second", track=1)

    answer = await table.switch(1)

    assert figures(answer) == (0, 2, 1, 1)
    assert await table.source() == table.tracks[1]
    assert await table.value(1) == ("freed", "MANUAL", False)


async def test_recapture_works_whatever_the_toggle(table: Table) -> None:
    await table.toggle(False)
    await table.say("unseen")

    answer = await table.switch(0, "RECAPTURE")

    assert figures(answer) == (1, 0, 0, 1)
    assert await table.value() == ("unseen", "AUTO", False)
    assert (await table.read())["autoCapture"] is False


async def test_the_present_source_is_a_valid_target(table: Table) -> None:
    await table.say("captured")
    await table.edit("mended")
    await table.unlock()
    await table.say("other", 1)

    assert asked(await table.switch(0)) == (2, 0, 0)
    await table.switch(0, "RECAPTURE")

    assert await table.value() == ("captured", "AUTO", False)
    assert await table.source() == table.tracks[0]


async def test_a_field_that_the_new_track_lacks_keeps_its_value(automation: Table) -> None:
    cell = {"rowId": automation.rows[0], "trackId": automation.tracks[0]}
    await automation.record({**cell, "fields": {"total": "1", "note": "n"}})
    await automation.say("2", track=1)

    answer = await automation.switch(1, "RECAPTURE")

    assert figures(answer) == (1, 1, 0, 1)
    assert await automation.fields() == {"total": ("2", "AUTO", False), "note": ("n", "AUTO", False)}


async def test_a_row_of_which_some_values_are_locked_counts_in_each_figure_that_fits(automation: Table) -> None:
    cell = {"rowId": automation.rows[0], "trackId": automation.tracks[0]}
    await automation.record({**cell, "fields": {"total": "1", "note": "n"}})
    await automation.record({**cell, "trackId": automation.tracks[1], "fields": {"total": "2", "note": "m"}})
    await automation.edit_of({"fields": [field("note", "right")]})

    answer = await automation.switch(1, "RECAPTURE")

    assert figures(answer) == (1, 0, 1, 1)
    assert await automation.fields() == {"total": ("2", "AUTO", False), "note": ("right", "MANUAL", True)}


async def test_a_blank_or_failed_answer_is_no_output_to_recapture(conversation: Table) -> None:
    await conversation.say("a", 0)
    await conversation.say("b", 1)
    await conversation.say(" ", 0, track=1)
    await conversation.fail(1, track=1)

    answer = await conversation.switch(1, "RECAPTURE")

    assert figures(answer) == (0, 2, 0, 2)
    assert [(await conversation.value(place))[0] for place in range(2)] == ["a", "b"]


async def test_a_track_of_another_benchmark_is_no_source(table: Table) -> None:
    other = await made(table.house, table.kind)

    answer = await table.act("setSourceTrack", benchmarkId=table.id, trackId=other.tracks[0], expectedVersion=2)

    assert (answer["__typename"], answer["path"]) == ("InvalidInput", ["trackId"])
    assert await table.source() == table.tracks[0]


async def test_a_switch_against_an_old_version_is_a_conflict(table: Table) -> None:
    answer = await table.act("setSourceTrack", benchmarkId=table.id, trackId=table.tracks[1], expectedVersion=1)
    assert (answer["__typename"], answer["currentVersion"]) == ("Conflict", 2)
    assert await table.source() == table.tracks[0]


async def test_removing_the_source_while_others_remain_needs_the_new_one(table: Table) -> None:
    before = await table.read()

    without = await table.remove_track(0)
    itself = await table.remove_track(0, newSourceTrackId=table.tracks[0])

    assert [answer["__typename"] for answer in (without, itself)] == ["InvalidInput"] * 2
    assert without["path"] == itself["path"] == ["newSourceTrackId"]
    assert await table.read() == before


async def test_removing_the_source_asks_in_the_same_way(table: Table) -> None:
    mixture = await mixed(table.house, table.kind)
    before = await mixture.read()

    answer = await mixture.remove_track(0, newSourceTrackId=mixture.tracks[1])

    assert asked(answer) == (3, 1, 1)
    assert await mixture.read() == before


async def test_removing_the_source_with_recapture_captures_the_new_one(table: Table) -> None:
    mixture = await mixed(table.house, table.kind)

    answer = await mixture.remove_track(0, newSourceTrackId=mixture.tracks[1], existing="RECAPTURE")

    assert figures(answer) == (3, 1, 1, 1)
    assert (answer["removedCells"], answer["deletedId"]) == (4, mixture.tracks[0])
    assert answer["benchmark"]["sourceTrack"] == {"id": mixture.tracks[1]}
    assert await mixture.value(0) == ("second 0", "AUTO", False)
    assert await mixture.value(1) == ("b", "AUTO", False)
    assert (await mixture.row(1))["expectedOutput"]["sourceTrack"] is None


async def test_removing_the_source_with_keep_keeps_all_values(table: Table) -> None:
    await table.say("captured")

    answer = await table.remove_track(0, newSourceTrackId=table.tracks[1], existing="KEEP")

    assert figures(answer) == (0, 1, 0, 2)
    assert await table.value() == ("captured", "AUTO", False)
    assert await table.source() == table.tracks[1]


async def test_removing_another_track_changes_neither_source_nor_values(table: Table) -> None:
    await table.say("captured")
    await table.say("second", track=1)
    version = await table.version()

    answer = await table.remove_track(1)

    assert (answer["removedCells"], figures(answer)) == (1, (0, 1, 0, 0))
    assert await table.source() == table.tracks[0]
    assert await table.value() == ("captured", "AUTO", False)
    assert await table.version() == version


async def test_removing_the_last_track_keeps_the_values(tables: House) -> None:
    table = await made(tables, AgentKind.CONVERSATION, tracks=1)
    await table.say("captured")

    answer = await table.remove_track(0)

    assert (answer["removedCells"], figures(answer)) == (1, (0, 1, 0, 0))
    assert answer["benchmark"]["sourceTrack"] is None
    assert await table.value() == ("captured", "AUTO", False)
    added = await table.add_track()
    assert added["track"]["isSource"]


async def test_positions_stay_without_gaps_when_tracks_go(table: Table) -> None:
    third = await table.add_track()
    await table.remove_track(1)
    added = await table.add_track()

    shown = (await table.read())["tracks"]
    assert [track["id"] for track in shown] == [table.tracks[0], third["track"]["id"], added["track"]["id"]]
    assert [track["position"] for track in shown] == [0, 1, 2]


async def test_a_row_that_was_never_answered_stays_empty(table: Table) -> None:
    await table.say("captured")
    await table.switch(1, "RECAPTURE")
    assert await table.value(1) == EMPTY
