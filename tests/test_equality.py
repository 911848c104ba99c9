"""Two ways to execute one operation over the demo tree must give one answer."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import asyncpg
import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy.exc import SQLAlchemyError

from schema.build import Schema, build
from server.database import SERVER_SETTINGS, write_engine
from server.demo import load_demo
from server.files import file_store
from server.settings import Settings
from tests.databases import created
from tests.engine.library import Desk
from tests.operations import Asked, Known, operations
from tests.plain import Plain

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


def found(answer: Any, *names: str) -> list[str]:
    """Every text under these names, wherever it stands."""
    if isinstance(answer, list):
        return sorted({text for each in answer for text in found(each, *names)})
    if not isinstance(answer, dict):
        return []
    here = {value for name, value in answer.items() if name in names and isinstance(value, str)}
    return sorted(here | {text for value in answer.values() for text in found(value, *names)})


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


@dataclass
class TwoWays:
    """One schema over one database, asked by the engine and by graphql-core alone."""

    schema: Schema
    desk: Desk
    plain: Plain
    known: Known


@pytest.fixture(scope="module")
async def ways(
    postgres: str, migrated_template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[TwoWays]:
    async with created(postgres, template=migrated_template) as dsn:
        await load_demo(dsn, file_store(Settings(data_dir=tmp_path_factory.mktemp("files"))))
        desk = Desk(await asyncpg.connect(dsn, server_settings=SERVER_SETTINGS))
        # One statement that fails must not fail the next ones.
        engine = write_engine(dsn).execution_options(isolation_level="AUTOCOMMIT")
        async with engine.connect() as connection:
            made = build()
            answer = await made.execute(KNOWN, context_value=desk)
            assert answer.errors is None
            yield TwoWays(made, desk, Plain(made, connection), known(json.loads(orjson.dumps(answer.data))))
        await engine.dispose()
        await desk.connection.close()


@given(drawing=st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
async def test_the_engine_answers_as_graphql_core_would(ways: TwoWays, drawing: st.DataObject) -> None:
    asked: Asked = drawing.draw(operations(ways.plain.plain, ways.known, ROOTS))

    expected = await ways.plain.execute(asked.text, asked.variables)
    answer = await ways.schema.execute(asked.text, variable_values=asked.variables, context_value=ways.desk)

    assert not [error for error in expected.errors or () if isinstance(error.original_error, SQLAlchemyError)]
    assert json.loads(orjson.dumps(answer.data)) == expected.data
    assert [error.path for error in answer.errors or ()] == [error.path for error in expected.errors or ()]


def test_nothing_of_it_ran_through_graphql_core(ways: TwoWays) -> None:
    assert ways.schema.engine.counters.fell_back == 0
