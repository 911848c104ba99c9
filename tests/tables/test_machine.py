"""Random sequences of all mutations of a table, each step compared with a model that is written from the rules."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from models.base import AgentKind
from tests.databases import created
from tests.rules.house import Answer, House, house
from tests.tables.model import NOTHING, Figures, Held, Said, TableModel
from tests.tables.table import Table, field, made

TEXT = ""
FIELDS = ["total", "note"]
# More would only keep the mutations from meeting.
MOST = 3
places = st.integers(0, MOST - 1)
texts = st.sampled_from(["a", "b", "c"])
# Null is a value of a field.
values = st.one_of(texts, st.none())
choices = st.sampled_from([None, "RECAPTURE", "KEEP"])

LOOK = """
query ($id: ID!) { node(id: $id) { ... on Benchmark {
  version autoCapture sourceTrack { id } tracks { id } fields { name }
  rows(first: 500) { nodes { id expectedOutput { revision text fields { name value origin locked } origin locked }
    cells { status output fields track { id } } } }
} } }
"""
HISTORY = """
query ($id: ID!) { node(id: $id) { ... on Benchmark { rows(first: 500) { nodes {
  id expectedOutput { history(first: 500) { nodes { revision change text fields } } }
} } } } }
"""


class Machine(RuleBasedStateMachine):
    kind: ClassVar[AgentKind]
    home: ClassVar[House]
    runner: ClassVar[asyncio.Runner]

    def run(self, coroutine: Any) -> Any:
        return self.runner.run(coroutine)

    def act(self, mutation: str, **given: Any) -> Answer:
        answer: Answer = self.run(self.table.act(mutation, **given))
        return answer

    @initialize()
    def make(self) -> None:
        fields = [] if self.kind == AgentKind.CONVERSATION else list(FIELDS)
        described = [{"name": name, "type": "STRING"} for name in fields]
        self.table: Table = self.run(made(self.home, self.kind, fields=described))
        self.model = TableModel(self.kind, fields or [TEXT])
        for track in self.table.tracks:
            self.model.add_track(track)
        for row in self.table.rows:
            self.model.add_row(row, {})
        self.version = 2
        # Else most sequences would end before there is something to lose.
        said = {track: dict.fromkeys(self.model.fields, json.dumps(f"of {track}")) for track in self.table.tracks}
        self.recorded([(row, track, said[track]) for row in self.table.rows for track in said])

    def row(self, place: int) -> str:
        keys = list(self.model.rows)
        return keys[place % len(keys)]

    def track(self, place: int) -> str:
        return self.model.tracks[place % len(self.model.tracks)]

    def has_rows(self) -> bool:
        return bool(self.model.rows)

    def has_cells(self) -> bool:
        return bool(self.model.rows and self.model.tracks)

    def drawn(self, data: st.DataObject, *, emptied: bool) -> Said:
        """One text, or some fields; as a person says them also emptied ones."""
        if self.kind == AgentKind.CONVERSATION:
            text = data.draw(st.one_of(texts, st.none()) if emptied else texts)
            return {TEXT: None if text is None else json.dumps(text)}
        names = data.draw(st.lists(st.sampled_from(self.model.fields), min_size=1, unique=True))
        nothing = st.just(None)
        value = values.map(json.dumps)
        return {name: data.draw(st.one_of(value, nothing) if emptied else value) for name in names}

    @precondition(lambda self: len(self.model.rows) < MOST)
    @rule(data=st.data(), given=st.booleans())
    def add_row(self, data: st.DataObject, given: bool) -> None:
        said = {name: value for name, value in self.drawn(data, emptied=False).items() if given}
        row: dict[str, Any] = {"input": "i"}
        if said and self.kind == AgentKind.CONVERSATION:
            row["expectedText"] = json.loads(said[TEXT] or "null")
        elif said:
            row["expectedFields"] = {name: json.loads(value or "null") for name, value in said.items()}
        answer = self.act("addRows", benchmarkId=self.table.id, rows=[row])
        self.model.add_row(answer["added"][0]["id"], said)

    @precondition(has_rows)
    @rule(place=st.sampled_from([2, 2, 1]), include=st.booleans())
    def remove_row(self, place: int, include: bool) -> None:
        row = self.row(place)
        answer = self.act("removeRows", ids=[row], includeLocked=include)
        if self.model.rows[row].is_locked and not include:
            assert answer["__typename"] == "Locked"
            return
        assert answer["deletedIds"] == [row]
        self.model.remove_row(row)

    @precondition(lambda self: len(self.model.tracks) < MOST)
    @rule()
    def add_track(self) -> None:
        answer = self.act("addTrack", benchmarkId=self.table.id, modelId=self.table.model)
        self.version += self.model.source is None
        self.model.add_track(answer["track"]["id"])

    @precondition(has_cells)
    @rule(data=st.data())
    def record(self, data: st.DataObject) -> None:
        drawn = data.draw(st.dictionaries(st.tuples(places, places), st.sampled_from("sssfe"), min_size=1, max_size=4))
        places_of = {(self.row(row), self.track(track)): how for (row, track), how in drawn.items()}
        self.recorded([(row, track, self.answer(data, how)) for (row, track), how in places_of.items()])

    @precondition(has_cells)
    @rule(data=st.data(), place=places, how=st.sampled_from("sssf"))
    def the_source_answers(self, data: st.DataObject, place: int, how: str) -> None:
        self.recorded([(self.row(place), self.model.source or "", self.answer(data, how))])

    def recorded(self, cells: list[tuple[str, str, Said | str]]) -> None:
        answer = self.run(self.table.record(*[cell_of(self.kind, *cell) for cell in cells]))
        assert (answer["stored"], answer["refused"]) == (len(cells), 0)
        assert (answer["captured"], answer["lockedSkipped"]) == self.model.record(cells)

    def answer(self, data: st.DataObject, how: str) -> Said | str:
        return self.drawn(data, emptied=False) if how == "s" else {"f": "FAILED", "e": "EMPTY"}[how]

    @precondition(has_rows)
    @rule(data=st.data(), place=places)
    def edit_what_is_seen(self, data: st.DataObject, place: int) -> None:
        self.edited(data, place, 0)

    @precondition(has_rows)
    @rule(data=st.data(), place=places, behind=st.sampled_from([0, 1, 2, -1]))
    def edit(self, data: st.DataObject, place: int, behind: int) -> None:
        self.edited(data, place, behind)

    def edited(self, data: st.DataObject, place: int, behind: int) -> None:
        row, said = self.row(place), self.drawn(data, emptied=True)
        since = max(0, self.model.rows[row].revision - behind)
        edited = edit_of(self.kind, said)
        answer = self.act("editExpectedOutput", rowId=row, expectedRevision=since, **edited)
        self.judged(answer, self.model.edit(row, since, said))

    @precondition(has_rows)
    @rule(data=st.data(), place=places, behind=st.sampled_from([0, 0, 1]))
    def unlock(self, data: st.DataObject, place: int, behind: int) -> None:
        row = self.row(place)
        since = max(0, self.model.rows[row].revision - behind)
        names, given = self.model.fields, {}
        if self.kind == AgentKind.AUTOMATION and data.draw(st.booleans()):
            names = data.draw(st.lists(st.sampled_from(self.model.fields), unique=True))
            given = {"fields": names}
        answer = self.act("unlockExpectedOutput", rowId=row, expectedRevision=since, **given)
        self.judged(answer, self.model.unlock(row, since, names))

    def judged(self, answer: Answer, is_right: bool) -> None:
        assert answer["__typename"].endswith("Payload") == is_right
        if not is_right:
            assert answer["__typename"] == "Conflict"

    @rule(on=st.sampled_from([True, True, False]))
    def toggle(self, on: bool) -> None:
        answer = self.act("setAutoCapture", benchmarkId=self.table.id, enabled=on, expectedVersion=self.version)
        self.version += 1
        assert (answer["clearedRows"], answer["keptManualRows"]) == self.model.toggle(on)

    @precondition(lambda self: self.model.tracks)
    @rule(place=places, existing=choices)
    def switch(self, place: int, existing: str | None) -> None:
        track = self.track(place)
        given = {} if existing is None else {"existing": existing}
        answer = self.act(
            "setSourceTrack", benchmarkId=self.table.id, trackId=track, expectedVersion=self.version, **given
        )
        self.switched(answer, track, existing)

    def switched(self, answer: Answer, track: str, existing: str | None) -> bool:
        """Whether it came to a switch."""
        if existing is None and self.model.must_ask:
            assert answer["__typename"] == "ConfirmationRequired"
            recaptured, _, locked, without = self.model.figures(track)
            assert (answer["affectedRows"], answer["lockedRows"], answer["rowsWithoutOutput"]) == (
                recaptured,
                locked,
                without,
            )
            return False
        self.version += 1
        done = self.model.recapture(track) if existing == "RECAPTURE" else self.model.keep(track)
        assert figures(answer) == done
        return True

    @precondition(lambda self: self.model.tracks)
    @rule(place=places, successor=places, existing=choices)
    def remove_track(self, place: int, successor: int, existing: str | None) -> None:
        track, heir = self.track(place), self.track(successor)
        given: dict[str, Any] = {"newSourceTrackId": heir} | ({} if existing is None else {"existing": existing})
        answer = self.act("removeTrack", id=track, expectedVersion=1, **given)
        if track == self.model.source and len(self.model.tracks) > 1:
            if heir == track:
                assert answer["__typename"] == "InvalidInput"
                return
            if not self.switched(answer, heir, existing):
                return
        else:
            self.version += track == self.model.source
            assert figures(answer) == self.model.untouched()
        assert answer["removedCells"] == self.model.remove_track(track)

    @precondition(lambda self: self.kind == AgentKind.AUTOMATION)
    @rule()
    def drop_or_restore_a_field(self) -> None:
        wanted = FIELDS[:1] if "note" in self.model.fields else FIELDS
        described = [{"name": name, "type": "STRING"} for name in wanted]
        answer = self.act("updateBenchmark", id=self.table.id, expectedVersion=self.version, fields=described)
        dropped: int | None = 0
        if "note" in self.model.fields:
            dropped = self.model.drop("note")
        else:
            self.model.fields.append("note")
        if dropped is None:
            assert (answer["__typename"], answer["names"]) == ("Locked", ["note"])
            return
        assert answer["droppedValues"] == dropped
        self.version += 1

    @invariant()
    def every_cell_and_expected_output_is_as_the_rules_say(self) -> None:
        if not hasattr(self, "table"):
            return
        shown = self.run(self.home.ask(LOOK, id=self.table.id))["node"]
        model = self.model
        assert (shown["version"], shown["autoCapture"]) == (self.version, model.capturing)
        assert (shown["sourceTrack"] or {}).get("id") == model.source
        assert [track["id"] for track in shown["tracks"]] == model.tracks
        assert [row["id"] for row in shown["rows"]["nodes"]] == list(model.rows)
        for row in shown["rows"]["nodes"]:
            self.compare(row)

    def compare(self, row: Answer) -> None:
        model, expected = self.model.rows[row["id"]], row["expectedOutput"]
        assert expected["revision"] == model.revision
        assert expected["locked"] == model.is_locked
        assert held_of(self.kind, expected) == {
            name: shown_of(self.kind, model.values.get(name, NOTHING)) for name in self.model.fields
        }
        for cell in row["cells"]:
            said = self.model.cells.get((row["id"], cell["track"]["id"]), "EMPTY")
            assert cell["status"] == (said if isinstance(said, str) else "SUCCEEDED")
            assert said_of(self.kind, cell) == ({} if isinstance(said, str) else said)

    def teardown(self) -> None:
        """The history of each row is every change of it, none more and none less."""
        if not hasattr(self, "table"):
            return
        shown = self.run(self.home.ask(HISTORY, id=self.table.id))["node"]
        for row in shown["rows"]["nodes"]:
            history = row["expectedOutput"]["history"]["nodes"]
            assert [each["revision"] for each in history] == list(range(1, len(history) + 1))
            told = [(each["change"], snapshot(self.kind, each)) for each in history]
            assert told == self.model.rows[row["id"]].history


def figures(answer: Answer) -> Figures:
    return answer["recapturedRows"], answer["keptRows"], answer["lockedRows"], answer["rowsWithoutOutput"]


def cell_of(kind: AgentKind, row: str, track: str, said: Said | str) -> dict[str, Any]:
    place = {"rowId": row, "trackId": track}
    if said == "FAILED":
        return {**place, "error": "overloaded"}
    decoded = {} if isinstance(said, str) else {name: json.loads(value or "null") for name, value in said.items()}
    return {**place, **({"output": decoded.get(TEXT, "")} if kind == AgentKind.CONVERSATION else {"fields": decoded})}


def edit_of(kind: AgentKind, said: Said) -> dict[str, Any]:
    if kind == AgentKind.CONVERSATION:
        return {"text": json.loads(said[TEXT] or "null")}
    return {"fields": [{"name": n} if v is None else field(n, json.loads(v)) for n, v in said.items()]}


def said_of(kind: AgentKind, cell: Answer) -> Said:
    if kind == AgentKind.CONVERSATION:
        return {} if cell["output"] is None else {TEXT: json.dumps(cell["output"])}
    return {name: json.dumps(value) for name, value in (cell["fields"] or {}).items()}


def held_of(kind: AgentKind, expected: Answer) -> Mapping[str, tuple[Any, str, bool]]:
    if kind == AgentKind.CONVERSATION:
        return {TEXT: (expected["text"], expected["origin"], expected["locked"])}
    return {each["name"]: (each["value"], each["origin"], each["locked"]) for each in expected["fields"]}


def shown_of(kind: AgentKind, held: Held) -> tuple[Any, str, bool]:
    return json.loads(held.value or "null"), held.origin, held.locked


def snapshot(kind: AgentKind, revision: Answer) -> dict[str, str]:
    if kind == AgentKind.CONVERSATION:
        return {} if revision["text"] is None else {TEXT: json.dumps(revision["text"])}
    return {name: json.dumps(value) for name, value in (revision["fields"] or {}).items()}


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as made_here:
        yield made_here


@pytest.mark.parametrize("kind", list(AgentKind))
def test_any_sequence_of_mutations_leaves_what_the_rules_say(
    kind: AgentKind, postgres: str, migrated_template: str, runner: asyncio.Runner, tmp_path: Path
) -> None:
    stack = AsyncExitStack()

    async def opened() -> House:
        dsn = await stack.enter_async_context(created(postgres, template=migrated_template))
        return await stack.enter_async_context(house(dsn, tmp_path))

    home = runner.run(opened())
    try:
        machine = type("TableMachine", (Machine,), {"kind": kind, "home": home, "runner": runner})
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=12,
                stateful_step_count=30,
                deadline=None,
                suppress_health_check=list(HealthCheck),
                database=None,
            ),
        )
    finally:
        runner.run(stack.aclose())
