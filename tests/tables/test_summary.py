"""The summary of a benchmark equals a direct count of what its rows and cells show."""

import random
from collections import Counter
from decimal import Decimal
from typing import Any

import pytest

from models.base import AgentKind
from tests.rules.house import Answer, House
from tests.tables.table import Table, made


async def scribbled(house: House, kind: AgentKind, chance: random.Random) -> Table:
    """A table with answers, failures, edits and nothings in random places."""
    table = await made(house, kind, tracks=3, rows=12)
    cells = [
        scribble(table, place, track, chance) for place in range(12) for track in range(3) if chance.random() < 0.7
    ]
    await table.record(*cells)
    for place in chance.sample(range(12), 5):
        await table.edit(chance.choice(["right", None]), place)
        if chance.random() < 0.4:
            await table.unlock(place)
    return table


def scribble(table: Table, place: int, track: int, chance: random.Random) -> dict[str, Any]:
    measured = {
        "latencyMs": chance.randrange(1, 4000),
        "inputTokens": chance.randrange(2**30),
        "outputTokens": chance.choice([None, 7]),
        "cost": chance.choice([None, "0.000125"]),
    }
    if chance.random() < 0.3:
        return {"rowId": table.rows[place], "trackId": table.tracks[track], "error": "overloaded", **measured}
    return table.answer(chance.choice(["out", "other"]), place, track, **measured)


def holds_something(table: Table, expected: Answer) -> bool:
    """A text or a field with a value; that a person emptied it is known, but nothing is expected."""
    if table.kind == AgentKind.CONVERSATION:
        return expected["text"] is not None
    last = expected["history"]["nodes"][-1:]
    return bool(last and last[0]["fields"])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", list(AgentKind))
async def test_the_summary_equals_a_direct_count(tables: House, kind: AgentKind, seed: int) -> None:
    table = await scribbled(tables, kind, random.Random(seed))  # noqa: S311

    shown = await table.read()

    rows, summary = shown["rows"]["nodes"], shown["summary"]
    expected = [row["expectedOutput"] for row in rows]
    assert summary["rowCount"] == len(rows)
    assert summary["expectedCount"] == sum(holds_something(table, each) for each in expected)
    assert summary["lockedCount"] == sum(each["locked"] for each in expected)
    assert summary["autoCount"] == sum("AUTO" in origins(each) for each in expected)
    assert [each["track"]["id"] for each in summary["tracks"]] == table.tracks
    for figures in summary["tracks"]:
        its = [cell for row in rows for cell in row["cells"] if cell["track"] == figures["track"]]
        assert counted(figures) == counted_of(its)


def origins(expected: Answer) -> set[str]:
    return {expected["origin"]} | {field["origin"] for field in expected["fields"]}


def counted(figures: Answer) -> Answer:
    figures = {name: value for name, value in figures.items() if name not in ("track", "latencyP50Ms")}
    return {**figures, "cost": Decimal(figures["cost"])}


def counted_of(cells: list[Answer]) -> Answer:
    statuses = Counter(cell["status"] for cell in cells)
    stored = [cell for cell in cells if cell["updatedAt"] is not None]
    return {
        "succeeded": statuses["SUCCEEDED"],
        "failed": statuses["FAILED"],
        "empty": statuses["EMPTY"],
        "inputTokens": sum(cell["inputTokens"] or 0 for cell in stored),
        "outputTokens": sum(cell["outputTokens"] or 0 for cell in stored),
        "cost": sum((Decimal(cell["cost"]) for cell in stored if cell["cost"]), Decimal(0)),
        "unpricedCells": sum(cell["cost"] is None and cell["status"] != "FAILED" for cell in stored),
    }


async def test_the_summary_of_a_benchmark_without_tracks_and_rows_is_empty(tables: House) -> None:
    table = await made(tables, AgentKind.CONVERSATION, tracks=0, rows=0)
    summary = (await table.read())["summary"]
    assert summary == {"rowCount": 0, "expectedCount": 0, "lockedCount": 0, "autoCount": 0, "tracks": []}


async def test_the_median_latency_is_that_of_what_was_measured(conversation: Table) -> None:
    await conversation.record(
        conversation.answer("a", 0, latencyMs=100),
        conversation.answer("b", 1, latencyMs=300),
        conversation.answer("c", 0, track=1),
    )
    figures = (await conversation.read())["summary"]["tracks"]
    assert [each["latencyP50Ms"] for each in figures] == [200.0, None]
