"""A benchmark as tests drive it: one way to answer, edit and look, whatever its kind.

Where a test does not care, an automation answers and is edited in its field `total`; `note` is there besides.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from graphql import GraphQLUnionType
from strawberry.utils.str_converters import capitalize_first

from engine.encode import read_global_id
from models.base import AgentKind, Role
from resolvers.access import Viewer
from tests.rules.house import Answer, House, schema

ANN, BEN, OLGA = Viewer("ann", Role.ADMIN), Viewer("ben", Role.REVIEWER), Viewer("olga", Role.OPERATOR)

# A value, its origin, and whether it is locked.
Value = tuple[Any, str, bool]
EMPTY: Value = (None, "EMPTY", False)

VALUE = "origin locked sourceTrack { id } editedBy editedAt"
EXPECTED = f"id revision text {VALUE} fields {{ name value {VALUE} }}"
HISTORY = "history(first: 500) { nodes { revision text fields change changedBy } }"
CELL = "id status output fields error { kind message attempts } latencyMs inputTokens outputTokens cost updatedAt"
TRACK = "id name position isSource version temperature maxOutputTokens systemPrompt model { id }"
BENCHMARK = "id name description version autoCapture kind sourceTrack { id } fields { name type }"
METRIC = (
    "id name description kind options judgeModel { id } judgePrompt version"
    " variables { name type description minimum maximum aggregation }"
)
MOVED = "recapturedRows keptRows lockedRows rowsWithoutOutput"

SELECTED: Mapping[str, str] = {
    "InvalidInput": "message path fault: code",
    "NotFound": "message path",
    "Forbidden": "message required",
    "Duplicate": "message existing { __typename id }",
    "Conflict": f"message currentVersion existing {{ __typename id ... on ExpectedOutput {{ {EXPECTED} }} }}",
    "Locked": f"message names: fields expectedOutputs {{ {EXPECTED} row {{ id }} }}",
    "ConfirmationRequired": "message choices affectedRows lockedRows rowsWithoutOutput",
    "InvalidRows": "message faults { line path message }",
    "CreateModelPayload": "model { id name version maxConcurrency inputPrice }",
    "UpdateModelPayload": "model { id name version maxConcurrency inputPrice baseUrl }",
    "CreateBenchmarkPayload": f"benchmark {{ {BENCHMARK} }}",
    "UpdateBenchmarkPayload": f"droppedValues benchmark {{ {BENCHMARK} }}",
    "DeleteBenchmarkPayload": "deletedId rows",
    "AddTrackPayload": f"track {{ {TRACK} }} benchmark {{ {BENCHMARK} }}",
    "UpdateTrackPayload": f"track {{ {TRACK} }}",
    "RemoveTrackPayload": f"deletedId removedCells {MOVED} benchmark {{ {BENCHMARK} }}",
    "AddRowsPayload": f"added: rows {{ id key position input version expectedOutput {{ {EXPECTED} }} }}",
    "UpdateRowPayload": "row { id key input version files { name mediaType file { sha256 } } }",
    "RemoveRowsPayload": "deletedIds benchmark { id }",
    "SetAutoCapturePayload": f"clearedRows keptManualRows benchmark {{ {BENCHMARK} }}",
    "SetSourceTrackPayload": f"{MOVED} benchmark {{ {BENCHMARK} }}",
    "EditExpectedOutputPayload": f"expectedOutput {{ {EXPECTED} }}",
    "UnlockExpectedOutputPayload": f"expectedOutput {{ {EXPECTED} }}",
    "CreateMetricPayload": f"metric {{ {METRIC} }}",
    "UpdateMetricPayload": f"staleScores metric {{ {METRIC} }}",
    "DeleteMetricPayload": "deletedId removedScores",
    "SetBenchmarkMetricsPayload": f"benchmark {{ {BENCHMARK} metrics {{ id }} }}",
    "RecordCellsPayload": f"stored captured lockedSkipped refused outcomes {{ index message cell {{ {CELL} }} }}",
}

READ = f"""
query ($id: ID!) {{ node(id: $id) {{ ... on Benchmark {{
  {BENCHMARK}
  tracks {{ {TRACK} }}
  summary {{ rowCount expectedCount lockedCount autoCount tracks {{
    track {{ id }} succeeded failed empty latencyP50Ms inputTokens outputTokens cost unpricedCells
  }} }}
  rows(first: 500) {{ nodes {{ id key input position version expectedOutput {{ {EXPECTED} {HISTORY} }}
    cells {{ {CELL} track {{ id }} }} }} }}
}} }} }}
"""

numbers = itertools.count()


@cache
def operation(mutation: str) -> str:
    """A mutation that asks for all that its outcome says."""
    name = capitalize_first(mutation)
    union = cast(GraphQLUnionType, schema()._schema.get_type(f"{name}Result"))
    members = " ".join(f"... on {member.name} {{ {SELECTED[member.name]} }}" for member in union.types)
    return f"mutation M($input: {name}Input!) {{ {mutation}(input: $input) {{ __typename {members} }} }}"


async def act(house: House, mutation: str, given: Any, viewer: Viewer = ANN) -> Answer:
    return cast(Answer, (await house.ask(operation(mutation), viewer, input=given))[mutation])


@dataclass
class Table:
    house: House
    kind: AgentKind
    id: str
    model: str
    tracks: list[str]
    rows: list[str]

    async def act(self, mutation: str, viewer: Viewer = ANN, **given: Any) -> Answer:
        return await act(self.house, mutation, given, viewer)

    def key(self, place: int | None = None) -> int:
        """The key of a row, or of the benchmark."""
        return key_of(self.id if place is None else self.rows[place])

    async def read(self) -> Answer:
        return cast(Answer, (await self.house.ask(READ, id=self.id))["node"])

    async def row(self, place: int = 0) -> Answer:
        """A row as it is shown."""
        found = (await self.read())["rows"]["nodes"]
        return cast(Answer, next(row for row in found if row["id"] == self.rows[place]))

    async def version(self) -> int:
        return int((await self.read())["version"])

    def answer(self, value: Any, place: int = 0, track: int = 0, **more: Any) -> dict[str, Any]:
        said = {"output": value} if self.kind == AgentKind.CONVERSATION else {"fields": {"total": value}}
        return {"rowId": self.rows[place], "trackId": self.tracks[track], **said, **more}

    async def record(self, *cells: dict[str, Any]) -> Answer:
        return await self.act("recordCells", benchmarkId=self.id, cells=cells)

    async def say(self, value: Any, place: int = 0, track: int = 0) -> Answer:
        """A track answers a row."""
        return await self.record(self.answer(value, place, track))

    async def fail(self, place: int = 0, track: int = 0) -> Answer:
        failure = {"rowId": self.rows[place], "trackId": self.tracks[track], "error": "overloaded"}
        return await self.record(failure)

    async def revision(self, place: int = 0) -> int:
        return int((await self.row(place))["expectedOutput"]["revision"])

    async def edit(self, value: Any, place: int = 0, *, since: int | None = None, viewer: Viewer = ANN) -> Answer:
        edited = {"text": value} if self.kind == AgentKind.CONVERSATION else {"fields": [field("total", value)]}
        return await self.edit_of(edited, place, since=since, viewer=viewer)

    async def edit_of(
        self, edited: dict[str, Any], place: int = 0, *, since: int | None = None, viewer: Viewer = ANN
    ) -> Answer:
        revision = await self.revision(place) if since is None else since
        return await self.act("editExpectedOutput", viewer, rowId=self.rows[place], expectedRevision=revision, **edited)

    async def unlock(self, place: int = 0, viewer: Viewer = ANN, **given: Any) -> Answer:
        revision = await self.revision(place)
        return await self.act(
            "unlockExpectedOutput", viewer, rowId=self.rows[place], expectedRevision=revision, **given
        )

    async def toggle(self, enabled: bool) -> Answer:
        return await self.act(
            "setAutoCapture", benchmarkId=self.id, enabled=enabled, expectedVersion=await self.version()
        )

    async def switch(self, track: int, existing: str | None = None) -> Answer:
        given: dict[str, Any] = {} if existing is None else {"existing": existing}
        return await self.act(
            "setSourceTrack",
            benchmarkId=self.id,
            trackId=self.tracks[track],
            expectedVersion=await self.version(),
            **given,
        )

    async def add_track(self, **given: Any) -> Answer:
        return await self.act("addTrack", benchmarkId=self.id, modelId=self.model, **given)

    async def track(self, track: int = 0) -> Answer:
        found = (await self.read())["tracks"]
        return cast(Answer, next(each for each in found if each["id"] == self.tracks[track]))

    async def remove_track(self, track: int = 0, **given: Any) -> Answer:
        version = (await self.track(track))["version"]
        return await self.act("removeTrack", id=self.tracks[track], expectedVersion=version, **given)

    async def source(self) -> str | None:
        source = (await self.read())["sourceTrack"]
        return None if source is None else cast(str, source["id"])

    async def value(self, place: int = 0) -> Value:
        """The text, or the field `total`."""
        return self.value_of((await self.row(place))["expectedOutput"])

    def value_of(self, expected: Answer) -> Value:
        if self.kind == AgentKind.CONVERSATION:
            return expected["text"], expected["origin"], expected["locked"]
        return fields_of(expected)["total"]

    async def fields(self, place: int = 0) -> dict[str, Value]:
        return fields_of((await self.row(place))["expectedOutput"])

    async def changes(self, place: int = 0) -> list[str]:
        """What happened to the expected output of a row, in order."""
        history = (await self.row(place))["expectedOutput"]["history"]["nodes"]
        assert [each["revision"] for each in history] == list(range(1, len(history) + 1))
        return [each["change"] for each in history]

    async def status(self, place: int = 0, track: int = 0) -> str:
        cells = (await self.row(place))["cells"]
        return cast(str, next(each["status"] for each in cells if each["track"]["id"] == self.tracks[track]))


def key_of(id_: str) -> int:
    return int(read_global_id(id_, ())[1])


def field(name: str, value: Any) -> dict[str, Any]:
    return {"name": name, "value": value}


def fields_of(expected: Answer) -> dict[str, Value]:
    return {each["name"]: (each["value"], each["origin"], each["locked"]) for each in expected["fields"]}


async def made(
    house: House, kind: AgentKind, *, tracks: int = 2, rows: int = 2, fields: Any = None, **given: Any
) -> Table:
    """A benchmark of its own, which captures unless the test says otherwise."""
    number = next(numbers)
    model = await act(house, "createModel", {"name": f"model {number}", "provider": "openai", "modelName": "m"})
    if fields is None and kind == AgentKind.AUTOMATION:
        fields = [{"name": "total", "type": "STRING"}, {"name": "note", "type": "STRING"}]
    described = {"name": f"benchmark {number}", "kind": kind, "fields": fields or [], "autoCapture": True, **given}
    answer = await act(house, "createBenchmark", described)
    table = Table(house, kind, answer["benchmark"]["id"], model["model"]["id"], [], [])
    for _ in range(tracks):
        table.tracks.append((await table.add_track())["track"]["id"])
    if rows:
        inputs = [{"input": f"input {place}"} for place in range(rows)]
        added = await table.act("addRows", benchmarkId=table.id, rows=inputs)
        table.rows = [row["id"] for row in added["added"]]
    return table
