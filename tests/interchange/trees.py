"""A service that holds generated trees, and its answers in one form."""

import json
import runpy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import literal_column, select, text, union_all
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlmodel import SQLModel

from interchange.imports import Imported, import_tree
from models import Assessment, Suite
from models.base import AssessmentStatus, table
from server.files import FileStore

Document = dict[str, Any]

CASES = Path(__file__).parents[1] / "cases/ground_truth"
Tree = runpy.run_path(str(CASES / "trees.py"))["Tree"]
TABLES = SQLModel.metadata.sorted_tables

suites, assessments = table(Suite), table(Assessment)

FIGURES = """
fragment Totals on OverviewTotals { suiteCount agentCount caseCount completedCaseCount }
fragment Figures on OverviewGroundTruth {
  status defectCount assessedDefectCount caseReproducedCount discoveredDefectCount assessmentCount discoveryRate
  configuredAgentCount unconfiguredAgentCount invalidAgentCount
}
fragment Warned on Warning { code message agentId suiteId assessmentIndex }
fragment Row on AgentOverview {
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
    nodes { defectId title groundTruthSha256 status caseReproduced judgeDetected assessmentCount assessedAttemptCount }
  }
}
"""
OVERVIEW = """
query Overview {
  benchmarkOverview {
    totals { ...Totals }
    agents(first: 100) { nodes { ...Row } }
    groundTruth { ...Figures warnings { ...Warned } }
    warnings { ...Warned }
  }
}
"""
EVALUATORS = """
query Evaluators {
  benchmarkOverview {
    evaluators {
      evaluator
      totals { ...Totals }
      agents(first: 100) { nodes { ...Row } }
      groundTruth { ...Figures warnings { ...Warned } }
    }
  }
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


async def from_graph(service: Service) -> Document:
    """The document, put together from an answer of the graph."""
    return as_document((await service.ask(OVERVIEW + FIGURES))["benchmarkOverview"])


def as_document(answer: Any) -> Document:
    """An answer in the words of the document, and built like it."""
    document = snake(answer)
    for agent in document["agents"]:
        agent["ground_truth"]["defects"] = agent.pop("defects")
        for suite in agent["suites"]:
            source = suite.pop("suite")["evaluation_source"]
            suite["evaluation_source"] = {"schema": "abb.evaluation.source.v1", **source}
    document = {"schema": "abb.benchmark.overview.v1", "warnings": [], **document}
    for warnings in (document["warnings"], document["ground_truth"]["warnings"]):
        warnings[:] = [{key: value for key, value in each.items() if value is not None} for each in warnings]
    return document


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
