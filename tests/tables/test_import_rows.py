import asyncio
import json
from io import BytesIO
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy.dialects.postgresql import insert

from interchange.store.exports import What, write
from models import File
from models.base import AgentKind
from models.base import table as table_of_model
from resolvers.access import Viewer
from resolvers.row_files import RowFormat
from resolvers.tables import benchmarks
from tests.interchange.test_rows import AUTOMATION, CONVERSATION, DIGEST, FILLED, SPOKEN
from tests.interchange.test_rows import write as written
from tests.rules.house import Answer, House
from tests.tables.table import ANN, BEN, EMPTY, Table, field, made

IMPORT = """
mutation M($input: ImportRowsInput!) { importRows(input: $input) {
  __typename
  ... on Error { message }
  ... on InvalidRows { faults { line path message } }
  ... on Refused { code }
  ... on NotFound { path }
  ... on ImportRowsPayload { added unchanged benchmark { id summary { rowCount lockedCount } } }
} }
"""
FIELDS = [
    {"name": "total", "type": "NUMBER"},
    {"name": "note", "type": "STRING"},
    {"name": "items", "type": "LIST"},
    {"name": "day", "type": "DATE"},
]
FORMATS = list(RowFormat)


def lines(*records: Any) -> bytes:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()


async def send(table: Table, data: bytes, format: str = "JSONL", viewer: Viewer = ANN) -> Answer:
    digest = await table.house.send(data)
    given = {"benchmarkId": table.id, "fileSha256": digest, "format": format}
    answer: Answer = (await table.house.ask(IMPORT, viewer, input=given))["importRows"]
    return answer


async def faults(table: Table, data: bytes, format: str = "JSONL") -> list[tuple[int, list[str]]]:
    answer = await send(table, data, format)
    assert answer["__typename"] == "InvalidRows", answer
    return [(fault["line"], fault["path"]) for fault in answer["faults"]]


async def export(table: Table, format: RowFormat = RowFormat.JSONL, what: What = "rows") -> bytes:
    file = BytesIO()
    async with table.house.connection() as connection:
        assert await write(connection, benchmarks.c.id == table.key(), what, format, file) is not None
    return file.getvalue()


async def copied(table: Table, data: bytes, format: RowFormat) -> Table:
    """A table of the same kind that imported this."""
    fields = FIELDS if table.kind == AgentKind.AUTOMATION else None
    other = await made(table.house, table.kind, rows=0, fields=fields)
    answer = await send(other, data, format)
    assert answer["__typename"] == "ImportRowsPayload", answer
    return other


@pytest.fixture
async def talk(tables: House) -> Table:
    """Rows with every kind of expected output."""
    table = await made(tables, AgentKind.CONVERSATION, rows=0)
    digest = await tables.send(b"attached")
    kept = await send(
        table,
        lines(
            {"key": "007", "input": "1.0", "expected_output": "null"},
            {
                "key": "🧾",
                "input": "שלום",
                "expected_output": 'a "b",\r\nc',
                "files": [{"sha256": digest, "name": "ä.pdf"}],
            },
            {"input": "", "expected_output": " ", "origin": "MANUAL", "locked": False},
            {"input": "emptied", "origin": "MANUAL", "locked": True},
            {"input": "captured", "expected_output": "1.0", "origin": "AUTO"},
            {"input": "nothing"},
        ),
    )
    assert kept["added"] == 6
    return table


@pytest.fixture
async def form(tables: House) -> Table:
    table = await made(tables, AgentKind.AUTOMATION, rows=0, fields=FIELDS)
    kept = await send(
        table,
        lines(
            {
                "key": "1",
                "input": "all",
                "expected_output": {"total": 1.0, "note": "", "items": [1, "007"], "day": None},
            },
            {
                "input": "mixed",
                "expected_output": {"total": 100000.0, "note": "null"},
                "origin": {"total": "AUTO", "note": "MANUAL", "day": "MANUAL"},
                "locked": {"note": True, "day": False},
            },
            {"input": "nothing"},
        ),
    )
    assert kept["added"] == 3
    return table


async def test_an_expected_output_that_comes_without_an_origin_is_manual_and_locked(conversation: Table) -> None:
    answer = await send(conversation, lines({"key": "a", "input": "q", "expected_output": "yes"}))

    assert (answer["added"], answer["unchanged"]) == (1, 0)
    assert answer["benchmark"]["summary"] == {"rowCount": 3, "lockedCount": 1}
    row = (await conversation.read())["rows"]["nodes"][-1]
    expected = row["expectedOutput"]
    assert (row["key"], expected["text"], expected["origin"], expected["locked"]) == ("a", "yes", "MANUAL", True)
    assert (expected["editedBy"], expected["revision"]) == ("ann", 1)
    assert [each["change"] for each in expected["history"]["nodes"]] == ["IMPORTED"]


async def test_no_answer_replaces_what_an_import_locked(automation: Table) -> None:
    automation.rows = []
    await send(automation, lines({"input": "q", "expected_output": {"total": "3"}}))
    automation.rows = [row["id"] for row in (await automation.read())["rows"]["nodes"]]
    cell = {"rowId": automation.rows[-1], "trackId": automation.tracks[0], "fields": {"total": "4", "note": "n"}}

    await automation.act("recordCells", benchmarkId=automation.id, cells=[cell])

    assert await automation.fields(2) == {"total": ("3", "MANUAL", True), "note": ("n", "AUTO", False)}


async def test_an_edit_against_the_imported_revision_is_no_conflict(conversation: Table) -> None:
    await send(conversation, lines({"input": "q", "expected_output": "yes"}))
    row = (await conversation.read())["rows"]["nodes"][-1]["id"]

    stale = await conversation.act("editExpectedOutput", BEN, rowId=row, expectedRevision=0, text="no")
    edited = await conversation.act("editExpectedOutput", BEN, rowId=row, expectedRevision=1, text="no")

    assert (stale["__typename"], edited["__typename"]) == ("Conflict", "EditExpectedOutputPayload")


async def test_rows_come_behind_those_that_are_there_in_the_order_of_the_file(conversation: Table) -> None:
    await send(conversation, lines({"input": "c"}, {"input": "d"}))

    found = (await conversation.read())["rows"]["nodes"]
    assert [(row["position"], row["input"]) for row in found] == [(0, "input 0"), (1, "input 1"), (2, "c"), (3, "d")]


@pytest.mark.parametrize("format", ["JSON", "JSONL"])
async def test_rows_exported_and_imported_are_exported_as_the_same_bytes(
    talk: Table, form: Table, format: RowFormat
) -> None:
    for table in (talk, form):
        data = await export(table, RowFormat(format))

        again = await export(await copied(table, data, RowFormat(format)), RowFormat(format))

        assert again == data


@pytest.fixture(scope="module")
async def attached(tables: House) -> None:
    """The file that drawn rows name."""
    known = insert(table_of_model(File)).values(sha256=DIGEST, size=0)
    await tables.execute(known.on_conflict_do_nothing())


@pytest.mark.usefixtures("attached")
@pytest.mark.parametrize("format", ["JSON", "JSONL"])
@given(drawing=st.data())
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
async def test_any_rows_come_out_as_they_went_in(tables: House, format: str, drawing: st.DataObject) -> None:
    kind = drawing.draw(st.sampled_from(list(AgentKind)))
    fields = dict(AUTOMATION.fields) if kind == AgentKind.AUTOMATION else {}
    columns = [{"name": name, "type": type_} for name, type_ in fields.items()]
    rows = drawing.draw(SPOKEN if kind == AgentKind.CONVERSATION else FILLED)
    data = written(rows, format, CONVERSATION if kind == AgentKind.CONVERSATION else AUTOMATION).encode()
    first, second = [await made(tables, kind, tracks=0, rows=0, fields=columns) for _ in range(2)]

    await send(first, data, format)
    exported = await export(first, RowFormat(format))
    await send(second, exported, format)

    assert exported == data
    assert await export(second, RowFormat(format)) == data


async def test_a_csv_brings_back_everything_but_empty_expected_texts(talk: Table, form: Table) -> None:
    await send(talk, lines({"input": "lost", "expected_output": ""}))
    for table, differing in ((talk, 1), (form, 0)):
        copy = await copied(table, await export(table, RowFormat.CSV), RowFormat.CSV)

        pairs = zip((await export(table)).splitlines(), (await export(copy)).splitlines(), strict=True)
        assert sum(first != second for first, second in pairs) == differing


@pytest.mark.parametrize("format", FORMATS)
async def test_keyed_rows_that_are_there_already_are_left_as_they_are(
    talk: Table, form: Table, format: RowFormat
) -> None:
    for table, keyed in ((talk, 2), (form, 1)):
        data = await export(table, format)
        before = await table.read()

        answer = await send(table, data, format)

        total = len(before["rows"]["nodes"])
        assert (answer["added"], answer["unchanged"]) == (total - keyed, keyed)
        assert (await table.read())["rows"]["nodes"][:total] == before["rows"]["nodes"]


async def test_a_file_of_known_rows_alone_writes_nothing(tables: House) -> None:
    table = await made(tables, AgentKind.CONVERSATION, rows=0)
    rows = [{"key": str(number), "input": "q", "expected_output": "a"} for number in range(3)]
    await send(table, lines(*rows))
    before = await tables.image(besides="actions")

    answer = await send(table, lines(*rows))

    assert (answer["added"], answer["unchanged"]) == (0, 3)
    assert await tables.image(besides="actions") == {**before, "files": (await tables.image())["files"]}


@pytest.mark.parametrize(
    "other",
    [
        {"input": "other"},
        {"input": "q", "expected_output": "b"},
        {"input": "q"},
        {"input": "q", "expected_output": "a", "origin": "AUTO"},
        {"input": "q", "expected_output": "a", "origin": "MANUAL", "locked": False},
        {"input": "q", "expected_output": "a", "files": [{"sha256": "FILE", "name": "f"}]},
    ],
)
async def test_a_key_that_the_table_has_with_another_content_is_a_fault(tables: House, other: dict[str, Any]) -> None:
    table = await made(tables, AgentKind.CONVERSATION, rows=0)
    await send(table, lines({"key": "a", "input": "q", "expected_output": "a"}))
    digest = await tables.send(b"a file")
    data = lines({"input": "new"}, {"key": "a", **other}).replace(b"FILE", digest.encode())

    assert await faults(table, data) == [(2, ["key"])]
    assert len((await table.read())["rows"]["nodes"]) == 1


async def test_a_wrong_file_is_refused_whole_with_every_fault_of_it(conversation: Table) -> None:
    before = await conversation.read()
    digest = await conversation.house.send(b"there")
    unknown, known = {"sha256": "f" * 64, "name": "f"}, {"sha256": digest, "name": "f"}

    found = await faults(
        conversation, lines({"input": "a", "files": [known, unknown]}, {"input": "b", "files": [unknown]})
    )
    assert found == [(1, ["files", "1", "sha256"]), (2, ["files", "0", "sha256"])]
    found = await faults(conversation, lines({"input": "a"}, {"input": "b", "files": [known] * 11}, {"key": "c"}))
    assert found == [(2, ["files"]), (3, ["input"])]
    assert await faults(conversation, b"key,text\r\na,b\r\n", "CSV") == [(1, [])]
    assert await faults(conversation, b'[\n{"input": "a"},\nnonsense]', "JSON") == [(3, [])]

    assert await conversation.read() == before


async def test_a_file_or_a_benchmark_that_is_not_there_is_told(conversation: Table) -> None:
    given = {"benchmarkId": conversation.id, "fileSha256": "e" * 64, "format": "JSON"}
    answer = (await conversation.house.ask(IMPORT, ANN, input=given))["importRows"]
    assert (answer["__typename"], answer["code"]) == ("Refused", "FILE_UNAVAILABLE")

    version = await conversation.version()
    await conversation.act("deleteBenchmark", id=conversation.id, expectedVersion=version)
    assert (await send(conversation, lines({"input": "a"})))["path"] == ["benchmarkId"]


async def test_a_reviewer_imports_no_rows(conversation: Table) -> None:
    assert (await send(conversation, lines({"input": "a"}), viewer=BEN))["__typename"] == "Forbidden"


async def test_ten_imports_at_once_leave_each_key_once(conversation: Table) -> None:
    files = [
        lines(*({"key": f"{number % 7}", "input": "q"} for number in range(start, start + 7))) for start in range(10)
    ]

    answers = await asyncio.gather(*(send(conversation, data) for data in files))

    assert sum(answer["added"] for answer in answers) == 7
    found = (await conversation.read())["rows"]["nodes"]
    assert [row["position"] for row in found] == list(range(9))


async def test_a_table_shows_what_every_track_answered(automation: Table) -> None:
    await automation.act(
        "recordCells",
        benchmarkId=automation.id,
        cells=[
            {"rowId": automation.rows[0], "trackId": automation.tracks[0], "fields": {"total": "1.0"}, "cost": "0.010"},
            {"rowId": automation.rows[0], "trackId": automation.tracks[1], "error": "no, sorry", "latencyMs": 5},
        ],
    )
    first, second = (track["name"] for track in (await automation.read())["tracks"])

    document = json.loads(await export(automation, RowFormat.JSON, "table"))
    csv = (await export(automation, RowFormat.CSV, "table")).decode().splitlines()

    assert document[0] == {
        "input": "input 0",
        "expected_output": {"total": "1.0"},
        "origin": {"total": "AUTO"},
        "locked": {"total": False},
        "cells": [
            {"track": first, "fields": {"total": "1.0"}, "status": "SUCCEEDED", "cost": "0.010"},
            {"track": second, "status": "FAILED", "error": "no, sorry", "latency_ms": 5},
        ],
    }
    assert document[1]["cells"] == [{"track": first, "status": "EMPTY"}, {"track": second, "status": "EMPTY"}]
    assert csv[0].split(",")[6:8] == [f"output: {first}", f"status: {first}"]
    assert '"{""total"":""1.0""}",SUCCEEDED,,,,,0.010,,FAILED,"no, sorry",5,,,' in csv[1]


async def test_a_table_without_tracks_is_its_rows(tables: House) -> None:
    table = await made(tables, AgentKind.CONVERSATION, tracks=0, rows=1)

    assert json.loads(await export(table, RowFormat.JSON, "table")) == [{"input": "input 0", "cells": []}]


async def test_the_urls_of_a_table_name_their_format(conversation: Table) -> None:
    query = "query ($id: ID!) { node(id: $id) { ... on Benchmark { rowsUrl csv: rowsUrl(format: CSV) tableUrl } } }"

    found = (await conversation.house.ask(query, id=conversation.id))["node"]

    place = f"/api/benchmarks/{conversation.key()}"
    assert found == {"rowsUrl": f"{place}/rows.json", "csv": f"{place}/rows.csv", "tableUrl": f"{place}/table.csv"}


async def test_captured_and_cleared_values_are_exported_as_they_stand(automation: Table) -> None:
    cell = {"rowId": automation.rows[0], "trackId": automation.tracks[0], "fields": {"total": "1", "note": "n"}}
    await automation.act("recordCells", benchmarkId=automation.id, cells=[cell])
    await automation.act(
        "editExpectedOutput", rowId=automation.rows[0], expectedRevision=1, fields=[field("total", "2")]
    )
    await automation.toggle(False)

    assert await automation.fields() == {"total": ("2", "MANUAL", True), "note": EMPTY}
    assert json.loads((await export(automation)).splitlines()[0]) == {
        "input": "input 0",
        "expected_output": {"total": "2"},
        "origin": {"total": "MANUAL"},
        "locked": {"total": True},
    }
