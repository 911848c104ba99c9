"""Two ways to execute one operation over the demo tree must give one answer."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.demo import load_demo
from server.files import file_store
from server.settings import Settings
from tests.databases import created
from tests.operations import Known, operations
from tests.two_ways import TwoWays, found, two_ways

ROOTS = (
    *("node", "nodes", "agent", "agents", "defect", "defects", "suite", "suites", "attempt", "attempts"),
    *("assessments", "benchmarkOverview", "file", "reviewQueue", "discoveryProtocols"),
)
KNOWN = """
{
  agents(includeRetired: true) { edges { cursor node { id agentId createdAt } } }
  defects(includeRetired: true) {
    edges {
      cursor
      node { id defectId confirmedAt caseSha256 revisions { nodes { id } } observations { nodes { id } } }
    }
  }
  suites(includeRetired: true) { edges { cursor node { id suiteId cases { nodes { id artifact { id sha256 } } } } } }
  attempts { edges { cursor node { id attemptId resultSha256 } } }
  assessments { edges { cursor node { id reviewedAt } } }
}
"""


def known(answer: dict[str, Any]) -> Known:
    digests = found(answer, "caseSha256", "resultSha256", "sha256")
    instants = found(answer, "createdAt", "confirmedAt", "reviewedAt")
    return Known(
        texts=["", "a", *found(answer, "agentId", "defectId", "suiteId", "attemptId")],
        ids=found(answer, "id"),
        cursors={f"Query.{name}": [edge["cursor"] for edge in page["edges"]] for name, page in answer.items()},
        literals={
            "Int": ["0", "1", "2"],
            "Sha256": [f'"{digest}"' for digest in ["0" * 64, *digests]],
            "DateTime": [f'"{instant}"' for instant in ["2026-01-01T00:00:00+02:00", *instants]],
        },
    )


@pytest.fixture(scope="module")
async def ways(
    postgres: str, migrated_template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[TwoWays]:
    async with created(postgres, template=migrated_template) as dsn:
        await load_demo(dsn, file_store(Settings(data_dir=tmp_path_factory.mktemp("files"))))
        async with two_ways(dsn, KNOWN, known) as ways:
            yield ways


@given(drawing=st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
async def test_the_engine_answers_as_graphql_core_would(ways: TwoWays, drawing: st.DataObject) -> None:
    await ways.require_agreement(drawing.draw(operations(ways.plain.plain, ways.known, ROOTS)))


def test_nothing_of_it_ran_through_graphql_core(ways: TwoWays) -> None:
    assert ways.schema.engine.counters.fell_back == 0
