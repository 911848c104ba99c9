"""Two ways to execute one operation over tables, their scores and their runs must give one answer."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.encode import read_global_id
from tests.databases import created, execute
from tests.operations import Known, operations
from tests.two_ways import TwoWays, found, two_ways

DATA = (Path(__file__).parent / "cases" / "tables.sql").read_text()
ROOTS = ("node", "nodes", "benchmark", "benchmarks", "row", "metric", "metrics", "model", "models", "runs")
KNOWN = """
{
  benchmarks { edges { cursor node {
    id name createdAt updatedAt metrics { id } tracks { id name }
    rows { nodes { id key cells { id updatedAt scores { id } } expectedOutput { id history { nodes { id } } } } }
  } } }
  metrics { edges { cursor node { id name } } }
  models { edges { cursor node { id name } } }
  runs { edges { cursor node { id startedBy createdAt finishedAt items { nodes { id startedAt } } } } }
}
"""


def known(answer: dict[str, Any]) -> Known:
    def ids(type_name: str) -> list[str]:
        return [id_ for id_ in found(answer, "id") if decoded_type(id_) == type_name]

    instants = found(answer, "createdAt", "updatedAt", "startedAt", "finishedAt")
    return Known(
        texts=["", "a", *found(answer, "name", "key", "startedBy")],
        ids=found(answer, "id"),
        cursors={f"Query.{name}": [edge["cursor"] for edge in page["edges"]] for name, page in answer.items()},
        ids_of={
            "benchmarkId": ids("Benchmark"),
            "metricIds": ids("Metric"),
            "trackIds": ids("Track"),
            ".trackId": ids("Track"),
            ".rowId": ids("Row"),
        },
        literals={
            "Int": ["0", "1", "2"],
            "DateTime": [f'"{instant}"' for instant in ["2026-01-01T00:00:00+02:00", *instants]],
        },
    )


def decoded_type(id_: str) -> str:
    return read_global_id(id_, ())[0]


@pytest.fixture(scope="module")
async def ways(postgres: str, migrated_template: str) -> AsyncIterator[TwoWays]:
    async with created(postgres, template=migrated_template) as dsn:
        await execute(dsn, DATA)
        async with two_ways(dsn, KNOWN, known) as ways:
            yield ways


@given(drawing=st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
async def test_the_engine_answers_of_tables_as_graphql_core_would(ways: TwoWays, drawing: st.DataObject) -> None:
    await ways.require_agreement(drawing.draw(operations(ways.plain.plain, ways.known, ROOTS)))


ALL = """
{
  benchmarks { nodes {
    id metrics { id name kind options judgeModel { id } variables { name type minimum maximum aggregation } }
    runs { totalCount nodes {
      id status startedBy maxCost cost unpricedCalls
      generation { scope cellCount trackNames tracks { id } }
      evaluation { scope scoreCount metricNames metrics { id } }
      progress { total done succeeded failed cancelled outOfBudget remaining captured lockedSkipped etaSeconds }
      items { nodes { id status attempts captured cost run { id } cell { id } error { kind message attempts } } }
    } }
    rows { nodes { cells {
      id run { id } pending { id status }
      scores { id variable status number boolean text reason rawReply stale cost computedAt cell { id } metric { id } }
    } } }
    summary { tracks { scores {
      metric { id } variable scored failed skipped missing stale average countTrue deviation
    } } }
  } }
}
"""


async def test_everything_of_metrics_scores_and_runs_is_the_same_both_ways(ways: TwoWays) -> None:
    expected = await ways.plain.execute(ALL)
    answer = await ways.schema.execute(ALL, context_value=ways.desk)
    assert expected.errors is None
    assert json.loads(orjson.dumps(answer.data)) == expected.data


CHOSEN = """
query ($tracks: [ID!], $metrics: [ID!], $where: RunItemFilter) {
  benchmarks { nodes {
    rows { nodes { cells(trackIds: $tracks) { id scores(metricIds: $metrics) { id } } } }
    runs(where: {startedBy: {startsWith: "o"}}, orderBy: [{field: CREATED_AT, direction: DESC}]) { nodes {
      id items(where: $where, orderBy: [{field: STARTED_AT, direction: DESC}]) { totalCount nodes { id startedAt } }
    } }
  } }
}
"""


async def test_what_is_chosen_by_ids_is_the_same_both_ways(ways: TwoWays) -> None:
    track, metric = ways.known.ids_of["trackIds"][0], ways.known.ids_of["metricIds"][0]
    where = {"trackId": {"eq": track}, "rowId": {"isNull": False}, "status": {"ne": "QUEUED"}}
    chosen = {"tracks": [track], "metrics": [metric], "where": where}
    expected = await ways.plain.execute(CHOSEN, chosen)
    answer = await ways.schema.execute(CHOSEN, variable_values=chosen, context_value=ways.desk)
    assert expected.errors is None
    assert json.loads(orjson.dumps(answer.data)) == expected.data


def test_nothing_of_tables_ran_through_graphql_core(ways: TwoWays) -> None:
    assert ways.schema.engine.counters.fell_back == 0
