"""Rows are added once under an idempotency key, carry files that were sent, and are changed against their version."""

from typing import Any

import pytest

from models.base import AgentKind
from tests.interchange.building import sha256
from tests.rules.house import Answer, House
from tests.tables.counting import statements
from tests.tables.table import Table, made


async def add(table: Table, *rows: dict[str, Any], **given: Any) -> Answer:
    return await table.act("addRows", benchmarkId=table.id, rows=rows, **given)


async def test_rows_are_added_in_order_after_those_that_are_there(table: Table) -> None:
    answer = await add(table, {"input": "third", "key": "k3"}, {"input": ""})

    shown = [(row["position"], row["key"], row["input"], row["version"]) for row in answer["added"]]
    assert shown == [(2, "k3", "third", 1), (3, None, "", 1)]
    rows = (await table.read())["rows"]["nodes"]
    assert [row["id"] for row in rows] == table.rows + [row["id"] for row in answer["added"]]


async def test_a_repeated_call_under_one_key_adds_nothing_and_answers_the_same(table: Table) -> None:
    first = await add(table, {"input": "once"}, idempotencyKey="call-1")

    again = await add(table, {"input": "once"}, idempotencyKey="call-1")
    other = await add(table, {"input": "another"}, idempotencyKey="call-1")

    assert again == first
    assert (other["__typename"], other["existing"]) == ("Conflict", {"__typename": "Benchmark", "id": table.id})
    assert len((await table.read())["rows"]["nodes"]) == 3


async def test_the_same_key_in_another_benchmark_is_another_call(table: Table) -> None:
    other = await made(table.house, table.kind, rows=0)
    first = await add(table, {"input": "once"}, idempotencyKey="call-1")
    second = await add(other, {"input": "once"}, idempotencyKey="call-1")
    assert first["added"][0]["id"] != second["added"][0]["id"]


async def test_a_repeated_call_leaves_out_rows_that_were_removed_since(table: Table) -> None:
    first = await add(table, {"input": "a"}, {"input": "b"}, idempotencyKey="call-1")
    await table.act("removeRows", ids=[first["added"][0]["id"]])

    again = await add(table, {"input": "a"}, {"input": "b"}, idempotencyKey="call-1")

    assert [row["id"] for row in again["added"]] == [first["added"][1]["id"]]


async def test_a_repeated_call_without_rows_is_no_fault(table: Table) -> None:
    answers = [await add(table, idempotencyKey="call-1") for _ in range(2)]
    assert [answer["added"] for answer in answers] == [[], []]


async def test_keys_are_unique_in_their_benchmark(table: Table) -> None:
    [row] = (await add(table, {"input": "i", "key": "k"}))["added"]

    again = await add(table, {"input": "j", "key": "k"})
    twice = await add(table, {"input": "i", "key": "l"}, {"input": "j", "key": "l"})
    renamed = await table.act("updateRow", id=table.rows[0], expectedVersion=1, key="k")

    assert [answer["__typename"] for answer in (again, twice, renamed)] == ["Duplicate", "InvalidInput", "Duplicate"]
    assert again["existing"] == renamed["existing"] == {"__typename": "Row", "id": row["id"]}
    assert twice["path"] == ["rows", "1", "key"]
    assert len((await table.read())["rows"]["nodes"]) == 3


async def test_a_row_is_found_by_its_key(table: Table) -> None:
    [row] = (await add(table, {"input": "i", "key": "k"}))["added"]
    read = 'query ($id: ID!) { row(benchmarkId: $id, key: "k") { id } }'
    assert (await table.house.ask(read, id=table.id))["row"] == {"id": row["id"]}


async def test_a_row_has_up_to_ten_files_that_were_sent(table: Table) -> None:
    digest = await table.house.send(b"invoice")
    named = [{"sha256": digest, "name": f"page {number}"} for number in range(11)]

    too_many = await add(table, {"input": "i", "files": named})
    unknown = await add(table, {"input": "i", "files": [{"sha256": sha256(b"never sent"), "name": "n"}]})
    nameless = await add(table, {"input": "i", "files": [{"sha256": digest, "name": " "}]})
    answer = await add(table, {"input": "i", "files": named[:10]})

    faults = [(answer["path"], answer["fault"]) for answer in (too_many, unknown, nameless)]
    assert faults == [
        (["rows", "0", "files"], "TOO_MANY_FILES"),
        (["rows", "0", "files", "0", "sha256"], "FILE_UNAVAILABLE"),
        (["rows", "0", "files", "0", "name"], "INVALID_FIELD"),
    ]
    changed = await table.act("updateRow", id=answer["added"][0]["id"], expectedVersion=1, key="k")
    assert [file["name"] for file in changed["row"]["files"]] == [each["name"] for each in named[:10]]
    assert changed["row"]["files"][0]["file"] == {"sha256": digest}


async def test_files_are_replaced_whole_and_cleared_by_null(table: Table) -> None:
    digests = [await table.house.send(body) for body in (b"first", b"second")]
    given = [{"sha256": digest, "name": "n"} for digest in digests]
    row = table.rows[0]

    first = await table.act("updateRow", id=row, expectedVersion=1, files=given)
    second = await table.act("updateRow", id=row, expectedVersion=2, files=given[1:])
    none = await table.act("updateRow", id=row, expectedVersion=3, files=None)

    shown = [[file["file"]["sha256"] for file in answer["row"]["files"]] for answer in (first, second, none)]
    assert shown == [digests, digests[1:], []]


async def test_what_is_left_out_stays_and_null_clears(table: Table) -> None:
    [row] = (await add(table, {"input": "i", "key": "k"}))["added"]

    kept = await table.act("updateRow", id=row["id"], expectedVersion=1, input="j")
    cleared = await table.act("updateRow", id=row["id"], expectedVersion=2, key=None)
    emptied = await table.act("updateRow", id=row["id"], expectedVersion=3, input=None)

    assert (kept["row"]["key"], kept["row"]["input"], kept["row"]["version"]) == ("k", "j", 2)
    assert (cleared["row"]["key"], cleared["row"]["input"]) == (None, "j")
    assert (emptied["__typename"], emptied["path"]) == ("InvalidInput", ["input"])


@pytest.mark.parametrize(
    ("row", "path"),
    [
        ({"input": "\0"}, ["input"]),
        ({"input": "i", "key": ""}, ["key"]),
        ({"input": "i", "key": "é" * 251}, ["key"]),
        ({"input": "i", "expectedText": "t"}, ["expectedText"]),
        ({"input": "i", "expectedFields": [1]}, ["expectedFields"]),
        ({"input": "i", "expectedFields": {"other": 1}}, ["expectedFields", "other"]),
        ({"input": "i", "expectedFields": {"total": 1}}, ["expectedFields", "total"]),
    ],
)
async def test_one_wrong_row_refuses_all(automation: Table, row: dict[str, Any], path: list[str]) -> None:
    answer = await add(automation, {"input": "sound"}, row)
    assert (answer["__typename"], answer["path"]) == ("InvalidInput", ["rows", "1", *path])
    assert len((await automation.read())["rows"]["nodes"]) == 2


async def test_rows_of_two_benchmarks_are_not_removed_at_once(table: Table) -> None:
    other = await made(table.house, table.kind)
    answer = await table.act("removeRows", ids=[table.rows[0], other.rows[0]])
    assert (answer["__typename"], answer["path"]) == ("InvalidInput", ["ids"])
    gone = await table.act("removeRows", ids=[])
    assert gone["__typename"] == "InvalidInput"


async def test_rows_that_are_gone_are_not_found(table: Table) -> None:
    await table.act("removeRows", ids=table.rows[1:])
    some = await table.act("removeRows", ids=table.rows)
    none = await table.act("removeRows", ids=table.rows[1:])
    assert [(answer["__typename"], answer["path"]) for answer in (some, none)] == [
        ("NotFound", ["ids", "1"]),
        ("NotFound", ["ids", "0"]),
    ]
    assert len((await table.read())["rows"]["nodes"]) == 1


async def test_many_rows_with_what_is_expected_of_them_need_no_more_statements_than_few(tables: House) -> None:
    fields = [{"name": f"f{number}", "type": "STRING"} for number in range(12)]
    table = await made(tables, AgentKind.AUTOMATION, fields=fields, rows=0)
    digest = await tables.send(b"shared")
    expected = {each["name"]: "v" for each in fields}
    row = {"input": "i", "files": [{"sha256": digest, "name": "n"}], "expectedFields": expected}

    with statements(tables) as for_one:
        await add(table, row)
    with statements(tables) as for_many:
        answer = await add(table, *[row] * 900)

    assert len(answer["added"]) == 900
    assert len(for_many) == len(for_one)
