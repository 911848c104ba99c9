"""Rows are found by what is expected of them and by what tracks answered; every part of a table is a node."""

from typing import Any

import pytest

from engine.encode import read_global_id, write_global_id
from models.base import AgentKind
from tests.rules.house import House
from tests.tables.table import Table, field, made

FIND = """
query ($id: ID!, $where: RowFilter) { node(id: $id) { ... on Benchmark {
  rows(where: $where) { totalCount nodes { position } }
} } }
"""
NODES = """
query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id
  ... on Cell { status output row { id } track { id } }
  ... on ExpectedOutput { row { id } revision }
  ... on ExpectedOutputRevision { change fields }
} }
"""


@pytest.fixture(scope="session")
async def mixture(tables: House) -> Table:
    """Rows that are captured, mixed, locked, freed, emptied and empty, in this order."""
    table = await made(tables, AgentKind.AUTOMATION, rows=6)
    await table.record(*[table.answer(f"out {place}", place) for place in range(4)], table.answer("other", 1, 1))
    await table.fail(2, track=1)
    await table.edit_of({"fields": [field("note", "n")]}, 1)
    await table.edit("right", 2)
    await table.edit("right", 3)
    await table.unlock(3)
    await table.edit_of({"fields": [{"name": "total"}]}, 4)
    return table


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ({"origin": {"eq": "AUTO"}}, [0]),
        ({"origin": {"eq": "MIXED"}}, [1]),
        ({"origin": {"in": ["MANUAL", "EMPTY"]}}, [2, 3, 4, 5]),
        ({"locked": {"eq": True}}, [1, 2, 4]),
        ({"hasExpected": {"eq": False}}, [4, 5]),
        ({"not": {"hasExpected": {"eq": True}}, "locked": {"eq": True}}, [4]),
        ({"input": {"contains": "3"}}, [3]),
        ({"key": {"isNull": False}}, []),
    ],
)
async def test_rows_are_found_by_their_ground_truth(mixture: Table, where: Any, found: list[int]) -> None:
    rows = (await mixture.house.ask(FIND, id=mixture.id, where=where))["node"]["rows"]
    assert [row["position"] for row in rows["nodes"]] == found
    assert rows["totalCount"] == len(found)


@pytest.mark.parametrize(
    ("track", "cell", "found"),
    [
        (1, {"status": {"eq": "SUCCEEDED"}}, [1]),
        (1, {"status": {"eq": "FAILED"}}, [2]),
        (0, {"status": {"eq": "EMPTY"}}, [4, 5]),
        (None, {"status": {"eq": "FAILED"}}, [2]),
    ],
)
async def test_rows_are_found_by_what_a_track_answered(
    mixture: Table, track: int | None, cell: Any, found: list[int]
) -> None:
    its = {} if track is None else {"trackId": {"eq": mixture.tracks[track]}}
    rows = (await mixture.house.ask(FIND, id=mixture.id, where={"cells": {**cell, **its}}))["node"]["rows"]
    assert [row["position"] for row in rows["nodes"]] == found


async def test_cells_of_chosen_tracks_stand_in_track_order(mixture: Table) -> None:
    read = "query ($id: ID!, $ids: [ID!]) { node(id: $id) { ... on Row { cells(trackIds: $ids) { track { id } } } } }"
    ids = [mixture.tracks[1], mixture.tracks[0]]
    both = await mixture.house.ask(read, id=mixture.rows[0], ids=ids)
    one = await mixture.house.ask(read, id=mixture.rows[0], ids=ids[:1])
    none = await mixture.house.ask(read, id=mixture.rows[0], ids=[])
    shown = [[cell["track"]["id"] for cell in answer["node"]["cells"]] for answer in (both, one, none)]
    assert shown == [mixture.tracks, ids[:1], []]


async def test_cells_and_expected_outputs_are_nodes_answered_or_not(mixture: Table) -> None:
    row = await mixture.row(1)
    answered, other = (cell["id"] for cell in row["cells"])
    empty = (await mixture.row(5))["cells"][1]["id"]
    history = "query ($id: ID!) { node(id: $id) { ... on ExpectedOutput { history { nodes { id } } } } }"
    expected = row["expectedOutput"]["id"]
    revisions = (await mixture.house.ask(history, id=expected))["node"]["history"]["nodes"]

    found = (await mixture.house.ask(NODES, ids=[answered, other, empty, expected, revisions[-1]["id"]]))["nodes"]

    assert [each["__typename"] for each in found] == [*["Cell"] * 3, "ExpectedOutput", "ExpectedOutputRevision"]
    assert [each["status"] for each in found[:3]] == ["SUCCEEDED", "SUCCEEDED", "EMPTY"]
    assert [each["track"]["id"] for each in found[:3]] == [mixture.tracks[0], mixture.tracks[1], mixture.tracks[1]]
    assert found[3]["row"]["id"] == mixture.rows[1]
    assert (found[4]["change"], found[4]["fields"]) == ("EDITED", {"note": "n", "total": "out 1"})


async def test_a_cell_of_a_row_and_a_track_of_two_benchmarks_is_none(mixture: Table) -> None:
    other = await made(mixture.house, AgentKind.AUTOMATION)
    row, track = (read_global_id(id_, ())[1] for id_ in (mixture.rows[0], other.tracks[0]))
    ids = [write_global_id("Cell", key) for key in (f"{row}-{track}", f"{row}-", "x", "-1--1")]
    assert (await mixture.house.ask(NODES, ids=ids))["nodes"] == [None] * 4


async def test_benchmarks_are_listed_filtered_and_ordered(mixture: Table) -> None:
    name = (await mixture.read())["name"]
    read = """
    query ($name: String!) {
      benchmark(name: $name) { id }
      benchmarks(where: {name: {eq: $name}, kind: {eq: AUTOMATION}, autoCapture: {eq: true}},
                 orderBy: [{field: CREATED_AT, direction: DESC}, {field: NAME}]) { totalCount nodes { id } }
      none: benchmarks(where: {name: {eq: $name}, agent: {agentId: {eq: "nobody"}}}) { nodes { id } }
    }
    """
    shown = await mixture.house.ask(read, name=name)
    assert shown["benchmark"] == {"id": mixture.id}
    assert shown["benchmarks"] == {"totalCount": 1, "nodes": [{"id": mixture.id}]}
    assert shown["none"]["nodes"] == []
