"""Metrics over the cells of a table, scored as a worker would score them: from what is stored at that moment."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, and_, func, insert, literal, select, update

from models import BenchmarkMetric, Metric, MetricVariable, Score
from models.base import Aggregation, ScoreType, table
from resolvers.scores import current_expected_revision
from resolvers.tables import cells
from tests.rules.house import Answer, House
from tests.tables.table import Table, key_of, numbers

metrics, variables = table(Metric), table(MetricVariable)
of_benchmarks, scores = table(BenchmarkMetric), table(Score)

SCORE = "id variable status number boolean text reason stale cost metric { id }"
SCORES = f"""
query ($id: ID!, $metrics: [ID!]) {{ node(id: $id) {{ ... on Benchmark {{
  rows(first: 500) {{ nodes {{ id cells {{ id track {{ id }} scores(metricIds: $metrics) {{ {SCORE} }} }} }} }}
  summary {{ rowCount tracks {{ track {{ id }} scores {{
    metric {{ id }} variable scored failed skipped missing stale average countTrue deviation
  }} }} }}
}} }} }}
"""
AGGREGATIONS = {ScoreType.NUMBER: Aggregation.AVERAGE, ScoreType.BOOLEAN: Aggregation.COUNT_TRUE}


async def metric_of(house: House, kind: str = "EXACT_MATCH", **types: ScoreType) -> int:
    """A metric with these variables, or the one of its kind."""
    made = insert(metrics).values(name=f"metric {next(numbers)}", kind=kind, options="{}", version=1)
    ((key,),) = await house.execute(made.returning(metrics.c.id))
    for place, (name, type_) in enumerate((types or {"value": ScoreType.BOOLEAN}).items()):
        await house.execute(
            insert(variables).values(
                metric_pk=key, name=name, position=place, type=type_, aggregation=AGGREGATIONS.get(type_)
            )
        )
    return int(key)


async def score(
    table: Table, metric: int, value: Any = True, place: int = 0, track: int = 0, *, variable: str = "value"
) -> None:
    """The score of a cell against all that is stored now; FAILED and SKIPPED are told as such."""
    row_pk, track_pk = table.key(place), key_of(table.tracks[track])
    its_cell = and_(cells.c.row_pk == row_pk, cells.c.track_pk == track_pk)
    said: dict[str, ColumnElement[Any]] = {
        "row_pk": literal(row_pk),
        "track_pk": literal(track_pk),
        "metric_pk": literal(metric),
        "variable": literal(variable),
        **{name: literal(each) for name, each in values_of(value).items()},
        "cell_revision": func.coalesce(select(cells.c.revision).where(its_cell).scalar_subquery(), 0),
        "expected_revision": current_expected_revision(literal(row_pk)),
        "metric_version": select(metrics.c.version).where(metrics.c.id == metric).scalar_subquery(),
    }
    await table.house.execute(insert(scores).from_select(list(said), select(*said.values())))


def values_of(value: Any) -> Mapping[str, Any]:
    if value in ("FAILED", "SKIPPED"):
        return {"status": value, "reason": "as it was told"}
    name = {bool: "boolean", str: "text"}.get(type(value), "number")
    return {"status": "SCORED", name: value}


async def give(table: Table, *chosen: int) -> None:
    """These are the benchmark's metrics, in this order."""
    for place, metric in enumerate(chosen):
        await table.house.execute(
            insert(of_benchmarks).values(benchmark_pk=table.key(), metric_pk=metric, position=place)
        )


async def look_at_no_ground_truth(house: House, metric: int) -> None:
    """The scores of this metric were computed from the output alone."""
    await house.execute(update(scores).where(scores.c.metric_pk == metric).values(expected_revision=None))


async def revise(house: House, metric: int) -> None:
    """The metric is another one from now on."""
    await house.execute(update(metrics).where(metrics.c.id == metric).values(version=metrics.c.version + 1))


async def shown(table: Table, *metric_ids: str) -> Answer:
    found: Answer = (await table.house.ask(SCORES, id=table.id, metrics=list(metric_ids) or None))["node"]
    return found


async def scores_at(table: Table, place: int = 0, track: int = 0) -> list[Answer]:
    rows = (await shown(table))["rows"]["nodes"]
    row = next(row for row in rows if row["id"] == table.rows[place])
    cell = next(cell for cell in row["cells"] if cell["track"]["id"] == table.tracks[track])
    found: list[Answer] = cell["scores"]
    return found


async def is_stale(table: Table, place: int = 0, track: int = 0) -> bool:
    (one,) = await scores_at(table, place, track)
    stale: bool = one["stale"]
    return stale
