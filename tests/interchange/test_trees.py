"""Generated trees, imported whole: what the graph, REST and the documents say of them."""

import json
import random
import runpy
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from obstore.store import MemoryStore
from sqlalchemy import literal_column, select, text, union_all
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlmodel import SQLModel

from interchange.digests import digest_json
from interchange.imports import Imported, import_tree
from interchange.reader import read_tree
from interchange.verify import verify
from models import Agent, Assessment, Suite
from models.base import AssessmentStatus, table
from server.app import create_app
from server.files import FileStore
from server.settings import Settings
from tests.databases import created
from tests.oracle import overview

CASES = Path(__file__).parents[1] / "cases/ground_truth"
KNOWN = range(80)
# Other trees in every run; the name of a failed test tells which one it was.
FURTHER = random.sample(range(1_000, 1_000_000), 10)
Tree = runpy.run_path(str(CASES / "trees.py"))["Tree"]
TABLES = SQLModel.metadata.sorted_tables

agents, suites, assessments = table(Agent), table(Suite), table(Assessment)

OVERVIEW = """
query Overview {
  benchmarkOverview {
    totals { suiteCount agentCount caseCount completedCaseCount }
    agents(first: 100) {
      nodes {
        agentId suiteCount caseCount completedCaseCount
        suites(first: 100) {
          nodes {
            suiteId state originSuiteId caseCount completedCaseCount
            suite { evaluationSource { status sdk sdks configuredSdk providerModes evidence } }
          }
        }
        groundTruth {
          status defectCount assessedDefectCount caseReproducedCount discoveredDefectCount assessmentCount discoveryRate
        }
        defects(first: 100) {
          nodes {
            defectId title groundTruthSha256 status caseReproduced judgeDetected assessmentCount assessedAttemptCount
          }
        }
      }
    }
    groundTruth {
      status defectCount assessedDefectCount caseReproducedCount discoveredDefectCount assessmentCount discoveryRate
      configuredAgentCount unconfiguredAgentCount invalidAgentCount
      warnings { code message agentId suiteId assessmentIndex }
    }
    warnings { code message agentId suiteId assessmentIndex }
  }
}
"""
DOCUMENTS = """
query Documents {
  agents(first: 100) { nodes { agentId manifestUrl defects(first: 100) { nodes { defectId groundTruthSha256 } } } }
  suites(first: 100) { nodes { suiteId assessmentsUrl } }
}
"""
# The document's keys come from the graph's, but for these.
RENAMED = {"defectId": "id", "warnings": "warnings"}
VOCABULARY = {"state", "status", "evidence"}


@dataclass
class Service:
    """Reads what a tree became, as the world does."""

    client: httpx.AsyncClient
    connection: AsyncConnection
    files: FileStore

    async def clear(self) -> None:
        async with self.connection.begin():
            await self.connection.execute(text(f"TRUNCATE {', '.join(t.name for t in TABLES)} RESTART IDENTITY"))

    async def take(self, root: Path) -> Imported:
        return await import_tree(self.connection, root, "tree", batch=self.files.batch)

    async def get(self, url: str) -> Any:
        response = await self.client.get(url)
        assert response.status_code == 200, response.text
        return response.json()

    async def ask(self, query: str) -> Any:
        response = await self.client.post("/graphql", json={"query": query})
        answer = response.json()
        assert "errors" not in answer, answer["errors"]
        return answer["data"]

    async def rows(self, query: Any) -> list[Any]:
        async with self.connection.begin():
            return [tuple(row) for row in await self.connection.execute(query)]

    async def accepted(self) -> set[Any]:
        claimed = (assessments.c[name] for name in ("agent_id", "case_index", "attempt_id", "defect_id"))
        said = (assessments.c[name] for name in ("case_reproduced", "judge_detected", "record_sha256"))
        accepted = assessments.c.status == AssessmentStatus.ACCEPTED
        return set(await self.rows(select(suites.c.suite_id, *claimed, *said).join(suites).where(accepted)))

    async def versions(self) -> list[Any]:
        """Every row with the transaction that wrote it last."""
        return await self.rows(
            union_all(
                *(
                    select(
                        literal_column(f"'{t.name}'"),
                        literal_column("ctid::text").label("place"),
                        literal_column("xmin::text").label("writer"),
                    ).select_from(t)
                    for t in TABLES
                )
            ).order_by(text("1, 2"))
        )


@pytest_asyncio.fixture(scope="module")
async def running(
    postgres: str, migrated_template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Service]:
    async with created(postgres, template=migrated_template) as dsn:
        app = create_app(Settings(data_dir=tmp_path_factory.mktemp("data")), dsn)
        async with (
            app.router.lifespan_context(app),
            app.state.database.engine.connect() as connection,
            httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client,
        ):
            yield Service(client, connection, FileStore(MemoryStore()))


@pytest.fixture
async def service(running: Service) -> Service:
    await running.clear()
    return running


def built(seed: int, directory: Path) -> Path:
    Tree(seed, directory).build()
    return directory


def comparable(document: dict[str, Any]) -> dict[str, Any]:
    """Without addresses and messages, and warnings as a set would have them."""
    found: dict[str, Any] = json.loads(json.dumps(document))
    for suite in (suite for agent in found["agents"] for suite in agent["suites"]):
        suite.pop("url", None)
    for warnings in (found["warnings"], found["ground_truth"]["warnings"]):
        for warning in warnings:
            warning.pop("message", None)
        warnings.sort(key=lambda warning: json.dumps(warning, sort_keys=True))
    return found


async def from_graph(service: Service) -> dict[str, Any]:
    """The document, put together from an answer of the graph."""
    answer = (await service.ask(OVERVIEW))["benchmarkOverview"]
    document = snake(answer)
    for agent in document["agents"]:
        agent["ground_truth"]["defects"] = agent.pop("defects")
        for suite in agent["suites"]:
            source = suite.pop("suite")["evaluation_source"]
            suite["evaluation_source"] = {"schema": "abb.evaluation.source.v1", **source}
    for warnings in (document["warnings"], document["ground_truth"]["warnings"]):
        warnings[:] = [{key: value for key, value in each.items() if value is not None} for each in warnings]
    return {"schema": "abb.benchmark.overview.v1", **document}


def snake(value: Any) -> Any:
    if isinstance(value, list):
        return [snake(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"nodes"}:
        return snake(value["nodes"])
    return {snake_name(key): lowered(key, snake(item)) for key, item in value.items()}


def snake_name(name: str) -> str:
    if name in RENAMED:
        return RENAMED[name]
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def lowered(name: str, value: Any) -> Any:
    return value.lower() if name in VOCABULARY else value


async def put_back(service: Service, root: Path) -> None:
    """Replaces the tree's own documents by those that the service gives out."""
    units = dict(await service.rows(select(agents.c.agent_id, agents.c.unit_path)))
    places = dict(await service.rows(select(suites.c.suite_id, suites.c.directory)))
    answer = await service.ask(DOCUMENTS)
    for agent in answer["agents"]["nodes"]:
        if agent["manifestUrl"]:
            manifest = root / units[agent["agentId"]] / "ground_truth/manifest.json"
            manifest.write_bytes((await service.client.get(agent["manifestUrl"])).content)
    for suite in answer["suites"]["nodes"]:
        sidecar = root / places[suite["suiteId"]] / "ground_truth/assessments.json"
        sidecar.parent.mkdir(exist_ok=True)
        sidecar.write_bytes((await service.client.get(suite["assessmentsUrl"])).content)


@pytest.mark.parametrize("seed", KNOWN)
async def test_an_imported_tree_has_its_known_overview(service: Service, seed: int, tmp_path: Path) -> None:
    expected = json.loads((CASES / f"expected/{seed}.json").read_text())

    await service.take(built(seed, tmp_path))

    assert comparable(await service.get("/api/benchmark/overview")) == comparable(expected)
    assert comparable(await from_graph(service)) == comparable(expected)


@pytest.mark.parametrize("seed", FURTHER)
async def test_any_tree_has_the_overview_that_its_records_give(service: Service, seed: int, tmp_path: Path) -> None:
    root = built(seed, tmp_path)

    await service.take(root)

    document = await service.get("/api/benchmark/overview")
    assert comparable(document) == comparable(overview(read_tree(root)))
    assert comparable(await from_graph(service)) == comparable(document)


@pytest.mark.parametrize("seed", FURTHER)
async def test_a_second_import_writes_nothing(service: Service, seed: int, tmp_path: Path) -> None:
    root = built(seed, tmp_path)
    await service.take(root)
    before = await service.versions()

    again = await service.take(root)

    assert not again.changed
    assert await service.versions() == before
    assert [difference async for difference in verify(service.connection, service.files)] == []


@pytest.mark.parametrize("seed", FURTHER)
async def test_documents_put_back_bring_the_same_accepted_set(service: Service, seed: int, tmp_path: Path) -> None:
    root = built(seed, tmp_path)
    await service.take(root)
    accepted, answer = await service.accepted(), await service.ask(DOCUMENTS)
    await put_back(service, root)

    await service.clear()
    await service.take(root)

    assert await service.accepted() == accepted
    assert await service.ask(DOCUMENTS) == answer


@pytest.mark.parametrize("seed", [3, 0])
async def test_documents_have_unchanged_digests(service: Service, seed: int, tmp_path: Path) -> None:
    await service.take(built(seed, tmp_path))
    accepted, answer = await service.accepted(), await service.ask(DOCUMENTS)

    for agent in answer["agents"]["nodes"]:
        if agent["manifestUrl"]:
            records = (await service.get(agent["manifestUrl"]))["defects"]
            digests = [defect["groundTruthSha256"] for defect in agent["defects"]["nodes"]]
            assert [digest_json(record) for record in records] == digests
    sidecars = [await service.get(suite["assessmentsUrl"]) for suite in answer["suites"]["nodes"]]
    records = [record for sidecar in sidecars for record in sidecar["assessments"]]
    assert {digest_json(record) for record in records} == {row[-1] for row in accepted}
    assert records
