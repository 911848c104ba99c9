"""What changes in a table, on its way to who watches it at another server."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import orjson
import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from resolvers import changes
from server.app import create_app
from server.database import write_engine
from server.settings import Settings
from server.watching import TableWatch
from tests.live import serving
from tests.tokens import client_of, socket_to

CHANGES = """subscription ($id: ID!) { benchmarkChanges(benchmarkId: $id) {
  resync
  benchmark { id name version }
  rows { id input }
  cells { id status output }
  expectedOutputs { id text revision }
  scores { id status stale cell { output } }
  removedIds
} }"""
TABLE = """mutation {
  createModel(input: {name: "m", provider: "openai", modelName: "m"}) { ... on CreateModelPayload { model { id } } }
  createBenchmark(input: {name: "b", kind: CONVERSATION, autoCapture: true}) {
    ... on CreateBenchmarkPayload { benchmark { id } }
  }
}"""
OTHER = """mutation { createBenchmark(input: {name: "c", kind: CONVERSATION}) {
  ... on CreateBenchmarkPayload { benchmark { id } }
} }"""
ADD_TRACK = """mutation ($id: ID!, $model: ID!) { addTrack(input: {benchmarkId: $id, modelId: $model}) {
  ... on AddTrackPayload { track { id } }
} }"""
ADD_ROWS = """mutation ($id: ID!, $rows: [RowInput!]!) { addRows(input: {benchmarkId: $id, rows: $rows}) {
  ... on AddRowsPayload { rows { id } }
} }"""
RECORD = """mutation ($id: ID!, $cells: [CellInput!]!) { recordCells(input: {benchmarkId: $id, cells: $cells}) {
  ... on RecordCellsPayload { stored }
} }"""
REMOVE = """mutation ($ids: [ID!]!) { removeRows(input: {ids: $ids, includeLocked: true}) { __typename } }"""
DELETE = """mutation ($id: ID!, $version: Int!) {
  deleteBenchmark(input: {id: $id, expectedVersion: $version, includeLocked: true}) { __typename }
}"""

SCORED = """
WITH metric AS (
  INSERT INTO metrics (name, kind, options, version) VALUES ('m', 'EXACT_MATCH', '{}', 1) RETURNING id
), variable AS (
  INSERT INTO metric_variables (metric_pk, name, position, type) SELECT id, 'value', 0, 'BOOLEAN' FROM metric
)
INSERT INTO scores (row_pk, track_pk, metric_pk, variable, status, boolean, cell_revision, metric_version)
SELECT row_pk, track_pk, metric.id, 'value', 'SCORED', true, revision, 1 FROM cells, metric
"""

Events = AsyncGenerator[Any, None]


class Writer:
    """Somebody at another server."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.benchmark = self.track = ""
        self.rows: list[str] = []

    async def ask(self, query: str, **variables: Any) -> Any:
        answer = (await self._client.post("/graphql", json={"query": query, "variables": variables})).json()
        assert "errors" not in answer, answer
        return answer["data"]

    async def prepare(self) -> None:
        made = await self.ask(TABLE)
        self.benchmark = made["createBenchmark"]["benchmark"]["id"]
        track = await self.ask(ADD_TRACK, id=self.benchmark, model=made["createModel"]["model"]["id"])
        self.track = track["addTrack"]["track"]["id"]
        await self.add("first", "second")

    async def add(self, *inputs: str) -> None:
        added = await self.ask(ADD_ROWS, id=self.benchmark, rows=[{"input": each} for each in inputs])
        self.rows += [row["id"] for row in added["addRows"]["rows"]]

    async def record(self, row: int, output: str) -> None:
        cell = {"rowId": self.rows[row], "trackId": self.track, "output": output}
        assert (await self.ask(RECORD, id=self.benchmark, cells=[cell]))["recordCells"]["stored"] == 1


@pytest.fixture
async def host(database: str, tmp_path: Path) -> AsyncIterator[str]:
    async with serving(create_app(Settings(data_dir=tmp_path / "here"), database)) as host:
        yield host


@pytest.fixture
async def writer(database: str, tmp_path: Path) -> AsyncIterator[Writer]:
    async with (
        serving(create_app(Settings(data_dir=tmp_path / "there"), database)) as host,
        client_of(host) as client,
    ):
        writer = Writer(client)
        await writer.prepare()
        yield writer


async def frames(host: str, benchmark: str) -> Events:
    async with socket_to(host) as socket:
        await socket.send('{"type": "connection_init"}')
        await socket.recv()
        payload = {"query": CHANGES, "variables": {"id": benchmark}}
        await socket.send(orjson.dumps({"type": "subscribe", "id": "1", "payload": payload}).decode())
        async for frame in socket:
            yield orjson.loads(frame)


async def events(host: str, benchmark: str) -> Events:
    async for frame in frames(host, benchmark):
        assert frame["type"] == "next", frame
        assert "errors" not in frame["payload"], frame
        yield frame["payload"]["data"]["benchmarkChanges"]


@asynccontextmanager
async def watching(host: str, benchmark: str) -> AsyncIterator[Events]:
    """After the first event, within half a minute."""
    async with asyncio.timeout(30), aclosing(events(host, benchmark)) as heard:
        first = await anext(heard)
        assert (first["resync"], first["rows"], first["cells"], first["removedIds"]) == (True, [], [], [])
        yield heard


async def test_a_change_made_at_another_server_is_told_with_what_it_changed(host: str, writer: Writer) -> None:
    async with watching(host, writer.benchmark) as heard:
        await writer.record(0, "yes")
        event = await anext(heard)

    assert event["resync"] is False
    assert [(cell["status"], cell["output"]) for cell in event["cells"]] == [("SUCCEEDED", "yes")]
    assert [(expected["text"], expected["revision"]) for expected in event["expectedOutputs"]] == [("yes", 1)]
    assert (event["rows"], event["removedIds"]) == ([], [])


async def test_a_score_is_told_when_it_comes_and_when_it_turns_stale(host: str, writer: Writer, database: str) -> None:
    await writer.record(0, "yes")
    connection = await asyncpg.connect(database)
    async with watching(host, writer.benchmark) as heard:
        await connection.execute(SCORED)
        await connection.execute("NOTIFY assay_benchmark")
        came = await anext(heard)
        await writer.record(0, "no")
        turned = await anext(heard)
    await connection.close()

    assert (came["resync"], came["cells"]) == (False, [])
    told = [
        (each["status"], each["stale"], each["cell"]["output"]) for event in (came, turned) for each in event["scores"]
    ]
    assert told == [("SCORED", False, "yes"), ("SCORED", True, "no")]


async def test_rows_are_told_when_they_come_and_when_they_go(host: str, writer: Writer) -> None:
    async with watching(host, writer.benchmark) as heard:
        await writer.add("third")
        came = await anext(heard)
        await writer.ask(REMOVE, ids=[writer.rows[0]])
        went = await anext(heard)

    assert [row["input"] for row in came["rows"]] == ["third"]
    assert (went["removedIds"], went["rows"]) == ([writer.rows[0]], [])


async def test_what_psql_changes_is_told_once_somebody_announces_anything(
    host: str, writer: Writer, database: str
) -> None:
    connection = await asyncpg.connect(database)
    async with watching(host, writer.benchmark) as heard:
        await connection.execute("UPDATE benchmark_rows SET input = 'changed' WHERE input = 'second'")
        await connection.execute("NOTIFY assay_benchmark")
        event = await anext(heard)
    await connection.close()

    assert [row["input"] for row in event["rows"]] == ["changed"]


async def test_a_change_of_the_table_itself_is_told(host: str, writer: Writer, database: str) -> None:
    connection = await asyncpg.connect(database)
    async with watching(host, writer.benchmark) as heard:
        await connection.execute("UPDATE benchmarks SET name = 'other', version = version + 1")
        await connection.execute("NOTIFY assay_benchmark")
        event = await anext(heard)
    await connection.close()

    assert event["benchmark"]["name"] == "other"
    assert (event["rows"], event["cells"]) == ([], [])


async def test_another_table_is_none_of_its_watchers_business(host: str, writer: Writer) -> None:
    other = (await writer.ask(OTHER))["createBenchmark"]["benchmark"]["id"]
    async with watching(host, other) as heard:
        await writer.record(0, "yes")
        await writer.ask(ADD_ROWS, id=other, rows=[{"input": "mine"}])
        event = await anext(heard)

    assert ([row["input"] for row in event["rows"]], event["cells"]) == (["mine"], [])


async def test_under_load_changes_are_told_together_and_never_an_older_state_after_a_newer_one(
    host: str, writer: Writer, database: str
) -> None:
    last, told = 600, []
    await writer.record(0, "0")
    await writer.record(1, "0")
    connection = await asyncpg.connect(database)

    async def write() -> None:
        for number in range(1, last + 1):
            change = "UPDATE cells SET output = $1 WHERE row_pk = (SELECT id FROM benchmark_rows WHERE position = $2)"
            await connection.execute(change, str(number), number % 2)
            await connection.execute("NOTIFY assay_benchmark")

    async with watching(host, writer.benchmark) as heard, asyncio.TaskGroup() as tasks:
        tasks.create_task(write())
        async for event in heard:
            told.append({cell["id"]: int(cell["output"]) for cell in event["cells"]})
            if last in told[-1].values():
                break
    await connection.close()

    assert len(told) < last / 2
    for cell in {cell for each in told for cell in each}:
        states = [each[cell] for each in told if cell in each]
        assert states == sorted(states)


async def test_more_than_would_be_told_one_by_one_asks_to_read_anew(host: str, writer: Writer) -> None:
    async with watching(host, writer.benchmark) as heard:
        await writer.ask(ADD_ROWS, id=writer.benchmark, rows=[{"input": str(number)} for number in range(1_001)])
        event = await anext(heard)

    assert (event["resync"], event["rows"]) == (True, [])


async def test_what_was_told_of_is_left_out_where_it_is_gone_by_the_time_of_reading(host: str, writer: Writer) -> None:
    async with watching(host, writer.benchmark) as heard:
        await writer.add("comes and goes")
        await writer.ask(REMOVE, ids=[writer.rows[-1]])
        seen = [await anext(heard)]
        while writer.rows[-1] not in seen[-1]["removedIds"]:
            seen.append(await anext(heard))

    assert seen[-1]["rows"] == []


async def test_a_table_that_is_deleted_ends_its_events(host: str, writer: Writer) -> None:
    async with asyncio.timeout(30), aclosing(frames(host, writer.benchmark)) as heard:
        version = (await anext(heard))["payload"]["data"]["benchmarkChanges"]["benchmark"]["version"]
        await writer.ask(DELETE, id=writer.benchmark, version=version)

        assert (await anext(heard))["type"] == "complete"


@pytest.mark.parametrize("id_", ["QmVuY2htYXJrOjk5OQ==", "Um93OjE=", "nonsense"])
async def test_a_table_that_is_not_there_cannot_be_watched(host: str, id_: str) -> None:
    async with asyncio.timeout(30), aclosing(frames(host, id_)) as heard:
        frame = await anext(heard)

    [error] = frame["payload"]["errors"] if frame["type"] == "next" else frame["payload"]
    assert error["extensions"]["code"] == "INVALID_ARGUMENT"


@pytest.fixture
async def engine(database: str) -> AsyncIterator[AsyncEngine]:
    engine = write_engine(database, connections=3)
    yield engine
    await engine.dispose()


INSERT = text(
    "INSERT INTO benchmark_rows (benchmark_pk, position, input, version)"
    " SELECT id, (SELECT count(*) FROM benchmark_rows), 'late', 1 FROM benchmarks"
)


@pytest.fixture
async def benchmark_pk(engine: AsyncEngine) -> int:
    async with engine.begin() as connection:
        made = "INSERT INTO benchmarks (name, kind, auto_capture, version) VALUES ('b', 'CONVERSATION', false, 1)"
        return int((await connection.execute(text(f"{made} RETURNING id"))).scalar_one())


async def test_a_transaction_that_began_before_a_look_and_ended_after_it_is_not_missed(
    engine: AsyncEngine, benchmark_pk: int
) -> None:
    async with engine.connect() as reading, engine.connect() as slow, engine.connect() as quick:
        first = await changes.since(reading, benchmark_pk, None)
        await slow.execute(INSERT)
        await quick.execute(text("UPDATE benchmarks SET version = 2"))
        await quick.commit()
        await reading.rollback()
        assert first is not None
        second = await changes.since(reading, benchmark_pk, first.snapshot)
        await slow.commit()
        await reading.rollback()
        assert second is not None
        third = await changes.since(reading, benchmark_pk, second.snapshot)
        assert third is not None
        fourth = await changes.since(reading, benchmark_pk, third.snapshot)

    assert (second.is_table, second.rows) == (True, [])
    assert (third.is_table, len(third.rows)) == (False, 1)
    assert fourth is not None
    assert not fourth.is_any


async def test_what_everybody_saw_is_forgotten_and_nothing_else(engine: AsyncEngine, benchmark_pk: int) -> None:
    count = text("SELECT count(*) FROM benchmark_changes")
    async with engine.connect() as connection:
        await connection.execute(INSERT)
        await connection.commit()
        oldest = await changes.forget(connection, None)
        await connection.commit()
        await connection.execute(INSERT)
        await connection.commit()
        before = (await connection.execute(count)).scalar_one()
        await changes.forget(connection, oldest)

        assert (before, (await connection.execute(count)).scalar_one()) == (2, 1)


async def test_who_stops_watching_leaves_nothing_behind(engine: AsyncEngine, benchmark_pk: int) -> None:
    watch = TableWatch(engine)
    heard = watch.changes(benchmark_pk)
    assert (await anext(heard)).resync

    await heard.aclose()

    assert watch._feeds == {}
