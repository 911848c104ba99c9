"""Many write at once: what people wrote stays, and the rest is what some order of the writers would have left."""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from models.base import AgentKind, Role
from resolvers.access import Viewer
from tests.rules.house import Answer, House
from tests.tables.table import Table, field, key_of, made

ROWS = 5
RECORDERS, EDITORS = 16, 8
ROUNDS = 12


@dataclass(frozen=True)
class Edit:
    """An edit that was acknowledged, and the revision that it made."""

    place: int
    value: str
    editor: str
    revision: int


async def answer_and_switch(table: Table, number: int) -> None:
    """Answers of the source and of the other track, and now and then a switch that captures anew."""
    chance = random.Random(number)  # noqa: S311
    for turn in range(ROUNDS):
        if chance.random() < 0.25:
            answer = await table.switch(chance.randrange(2), "RECAPTURE")
            assert answer["__typename"] in ("SetSourceTrackPayload", "Conflict")
            continue
        places = chance.sample(range(ROWS), 3)
        answer = await table.record(*[table.answer(f"{number} {turn}", each, chance.randrange(2)) for each in places])
        assert answer["stored"] == 3


async def edit_by_hand(table: Table, number: int) -> list[Edit]:
    """Each edit is made upon the revision that the editor saw; what another was quicker to edit is left to them."""
    chance, editor = random.Random(-number), f"editor-{number}"  # noqa: S311
    done = []
    for turn in range(ROUNDS):
        place, value = chance.randrange(ROWS), f"{editor} {turn}"
        answer = await table.edit(value, place, viewer=Viewer(editor, Role.REVIEWER))
        if answer["__typename"] == "Conflict":
            assert table.value_of(answer["existing"])[1:] == ("MANUAL", True)
            continue
        assert table.value_of(answer["expectedOutput"]) == (value, "MANUAL", True)
        done.append(Edit(place, value, editor, answer["expectedOutput"]["revision"]))
    return done


@pytest.mark.parametrize("kind", list(AgentKind))
async def test_edited_values_are_what_their_last_editors_wrote(tables: House, kind: AgentKind) -> None:
    table = await made(tables, kind, rows=ROWS)

    edited, _ = await asyncio.gather(
        asyncio.gather(*[edit_by_hand(table, number) for number in range(EDITORS)]),
        asyncio.gather(*[answer_and_switch(table, number) for number in range(RECORDERS)]),
    )

    shown = (await table.read())["rows"]["nodes"]
    for place, row in enumerate(shown):
        edits = [edit for by_one in edited for edit in by_one if edit.place == place]
        assert edits
        last = max(edits, key=lambda edit: edit.revision)
        assert table.value_of(row["expectedOutput"]) == (last.value, "MANUAL", True)
        assert_complete(table, row["expectedOutput"], edits)


def assert_complete(table: Table, expected: Answer, edits: Sequence[Edit]) -> None:
    """Every acknowledged edit is in the history where it was said to be, and no other; nothing is captured after."""
    history = expected["history"]["nodes"]
    assert [each["revision"] for each in history] == list(range(1, len(history) + 1))
    assert expected["revision"] == len(history)
    told = {(each["revision"], said(table, each), each["changedBy"]) for each in history if each["change"] == "EDITED"}
    assert told == {(edit.revision, edit.value, edit.editor) for edit in edits}
    first = min(edit.revision for edit in edits)
    assert {each["change"] for each in history[first:]} <= {"EDITED"}
    assert {each["change"] for each in history[: first - 1]} <= {"CAPTURED", "RECAPTURED"}


def said(table: Table, revision: Answer) -> Any:
    return revision["text"] if table.kind == AgentKind.CONVERSATION else revision["fields"]["total"]


async def test_editors_of_two_fields_of_a_row_do_not_disturb_each_other(automation: Table) -> None:
    async def write(name: str) -> None:
        for turn in range(10):
            answer = await automation.edit_of({"fields": [field(name, f"{name} {turn}")]})
            assert answer["__typename"] == "EditExpectedOutputPayload"

    await asyncio.gather(write("total"), write("note"))

    assert await automation.fields() == {"total": ("total 9", "MANUAL", True), "note": ("note 9", "MANUAL", True)}
    assert await automation.changes() == ["EDITED"] * 20


async def raced(table: Table, first: Any, value: str, track: int) -> list[Any]:
    """A change of the benchmark meets answers to all of its rows; what is expected of each row afterwards."""
    answers = table.record(*[table.answer(value, place, track) for place in range(ROWS)])
    changed, recorded = await asyncio.gather(first, answers)
    assert changed["__typename"].endswith("Payload")
    assert recorded["stored"] == ROWS
    return [table.value_of(row["expectedOutput"])[0] for row in (await table.read())["rows"]["nodes"]]


@pytest.mark.parametrize("kind", list(AgentKind))
async def test_a_recapture_that_meets_answers_leaves_all_of_them_or_none(tables: House, kind: AgentKind) -> None:
    table = await made(tables, kind, rows=ROWS, autoCapture=False)
    before: str | None = None
    for turn in range(8):
        value = f"turn {turn}"
        found = await raced(table, table.switch(1, "RECAPTURE"), value, track=1)
        assert found in ([value] * ROWS, [before] * ROWS)
        before = value


@pytest.mark.parametrize("kind", list(AgentKind))
async def test_a_toggle_that_meets_answers_captures_all_of_them_or_none(tables: House, kind: AgentKind) -> None:
    table = await made(tables, kind, rows=ROWS, autoCapture=False)
    before: str | None = None
    for turn in range(8):
        value = f"turn {turn}"
        found = await raced(table, table.toggle(True), value, track=0)
        assert found in ([value] * ROWS, [before] * ROWS)
        await table.toggle(False)
        before = found[0] if kind == AgentKind.CONVERSATION else None


async def test_answers_that_meet_the_end_of_captures_leave_nothing_behind(tables: House) -> None:
    """Captured and cleared, or not captured any more."""
    table = await made(tables, AgentKind.AUTOMATION, rows=ROWS)
    for turn in range(8):
        found = await raced(table, table.toggle(False), f"turn {turn}", track=0)
        assert found == [None] * ROWS
        await table.toggle(True)


async def test_answers_to_rows_that_are_being_removed_are_stored_or_named(tables: House) -> None:
    table = await made(tables, AgentKind.CONVERSATION, rows=20)

    async def remove() -> None:
        for row in table.rows[:10]:
            answer = await table.act("removeRows", ids=[row], includeLocked=True)
            assert answer["deletedIds"] == [row]

    async def record() -> None:
        for turn in range(6):
            answer = await table.record(*[table.answer(f"turn {turn}", place) for place in reversed(range(20))])
            assert {each["message"] for each in answer["outcomes"]} <= {None, "The benchmark has no such row."}

    await asyncio.gather(remove(), record(), record())

    shown = (await table.read())["rows"]["nodes"]
    assert [row["id"] for row in shown] == table.rows[10:]
    assert {table.value_of(row["expectedOutput"])[0] for row in shown} == {"turn 5"}


async def test_rows_that_many_add_at_once_get_positions_of_their_own(tables: House) -> None:
    table = await made(tables, AgentKind.CONVERSATION, rows=0)
    calls = [f"call {number % 4}" for number in range(12)]

    answers = await asyncio.gather(
        *[
            table.act("addRows", benchmarkId=table.id, rows=[{"input": key}, {"input": key}], idempotencyKey=key)
            for key in calls
        ]
    )

    rows = (await table.read())["rows"]["nodes"]
    assert [row["position"] for row in rows] == list(range(8))
    assert sorted({key_of(row["id"]) for answer in answers for row in answer["added"]}) == [
        key_of(row["id"]) for row in rows
    ]


async def test_of_two_who_change_one_version_one_gets_a_conflict(table: Table) -> None:
    version = await table.version()
    change: dict[str, Any] = {"id": table.id, "expectedVersion": version}
    answers = await asyncio.gather(
        *[table.act("updateBenchmark", **change, description=f"by {number}") for number in range(4)]
    )
    kinds = sorted(answer["__typename"] for answer in answers)
    assert kinds == ["Conflict"] * 3 + ["UpdateBenchmarkPayload"]
    assert await table.version() == version + 1


async def test_of_those_who_add_one_name_at_once_the_others_are_told_whose_it_is(table: Table) -> None:
    answers = await asyncio.gather(*[table.add_track(name="the same") for _ in range(4)])
    kinds = sorted(answer["__typename"] for answer in answers)
    assert kinds == ["AddTrackPayload"] + ["Duplicate"] * 3
    given: dict[str, Any] = {"name": f"twin of {table.id}", "kind": table.kind}
    answers = await asyncio.gather(*[table.act("createBenchmark", **given) for _ in range(4)])
    assert sorted(answer["__typename"] for answer in answers) == ["CreateBenchmarkPayload"] + ["Duplicate"] * 3
