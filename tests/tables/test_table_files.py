"""The whole table as a file: what every track answered, and how that was scored."""

import csv
import json
from io import BytesIO, StringIO
from typing import Any

import pytest

from interchange.store.exports import write
from models.base import ScoreType
from resolvers.row_files import RowFormat
from resolvers.tables import benchmarks
from tests.tables.scoring import give, metric_of, metrics, revise, score
from tests.tables.table import Table


async def written(table: Table, format: RowFormat) -> str:
    file = BytesIO()
    async with table.house.connection() as connection:
        assert await write(connection, benchmarks.c.id == table.key(), "table", format, file) is not None
    return file.getvalue().decode()


async def name_of(table: Table, metric: int) -> str:
    ((name,),) = await table.house.execute(
        metrics.select().with_only_columns(metrics.c.name).where(metrics.c.id == metric)
    )
    return str(name)


async def judged(table: Table) -> int:
    """A number and a text of the first cell, and a failure beside it."""
    metric = await metric_of(table.house, fit=ScoreType.NUMBER, tone=ScoreType.TEXT)
    await give(table, metric)
    await table.say("right")
    await score(table, metric, 0.25, variable="fit")
    await score(table, metric, "kind, mostly", variable="tone")
    await score(table, metric, "FAILED", track=1, variable="fit")
    return metric


async def scores(table: Table, format: RowFormat = RowFormat.JSON) -> list[Any]:
    """Of the first row, by track."""
    text = await written(table, format)
    row = json.loads(text)[0] if format is RowFormat.JSON else json.loads(text.splitlines()[0])
    return [cell.get("scores") for cell in row["cells"]]


@pytest.mark.parametrize("format", [RowFormat.JSON, RowFormat.JSONL])
async def test_a_cell_holds_its_scores_by_metric_and_variable(table: Table, format: RowFormat) -> None:
    metric = await judged(table)
    named = {"metric": await name_of(table, metric)}
    assert await scores(table, format) == [
        [
            {**named, "variable": "fit", "status": "SCORED", "value": 0.25},
            {**named, "variable": "tone", "status": "SCORED", "value": "kind, mostly"},
        ],
        [{**named, "variable": "fit", "status": "FAILED", "reason": "as it was told"}],
    ]


async def test_a_stale_score_is_told_without_its_value(table: Table) -> None:
    metric = await judged(table)
    await revise(table.house, metric)
    assert [(each["status"], "value" in each) for each in (await scores(table))[0]] == [("STALE", False)] * 2


async def test_a_truth_is_a_truth_and_not_a_number(table: Table) -> None:
    metric = await metric_of(table.house)
    await give(table, metric)
    await score(table, metric, False)
    assert [each["value"] for each in (await scores(table))[0]] == [False]


async def test_a_table_without_metrics_has_no_scores(table: Table) -> None:
    await score(table, await metric_of(table.house))
    assert await scores(table) == [None, None]


async def test_csv_has_a_value_and_a_status_for_each_variable_and_track(table: Table) -> None:
    name = await name_of(table, await judged(table))

    rows = list(csv.DictReader(StringIO(await written(table, RowFormat.CSV))))

    first, second = (track["name"] for track in (await table.read())["tracks"])
    assert [rows[0][f"{name}.{variable}: {first}"] for variable in ("fit", "tone")] == ["0.25", "kind, mostly"]
    assert [rows[0][f"{name}.{variable} status: {first}"] for variable in ("fit", "tone")] == ["SCORED"] * 2
    assert [rows[0][f"{name}.fit{part}: {second}"] for part in ("", " status")] == ["", "FAILED"]
    assert {value for header, value in rows[1].items() if header.startswith(name)} == {""}
