from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

from interchange.digests import source_digest
from interchange.reader import read_tree
from server.demo import ROOT, load_demo
from server.files import FileStore, file_store
from server.settings import Settings

OVERVIEW = """{
  benchmarkOverview {
    totals { suiteCount agentCount caseCount completedCaseCount }
    groundTruth { status defectCount assessmentCount discoveryRate warnings { code } }
    warnings { code suiteId }
    agents { nodes { agentId groundTruth { status } defects { nodes { defectId status } } } }
    evaluators { evaluator }
  }
}"""


@pytest.fixture
def files(tmp_path: Path) -> FileStore:
    return file_store(Settings(data_dir=tmp_path))


@pytest.fixture(scope="module")
async def client(demo: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=demo) as client:
        yield client


@pytest.fixture(scope="module")
async def overview(client: httpx.AsyncClient) -> dict[str, Any]:
    response = await client.post("/graphql", json={"query": OVERVIEW})
    found: dict[str, Any] = response.json()["data"]["benchmarkOverview"]
    return found


def codes(warnings: list[dict[str, Any]]) -> Counter[str]:
    return Counter(warning["code"] for warning in warnings)


def test_it_shows_agents_in_three_states(overview: dict[str, Any]) -> None:
    statuses = {agent["agentId"]: agent["groundTruth"]["status"] for agent in overview["agents"]["nodes"]}
    assert statuses == {
        "refund-desk": "ASSESSED",
        "research-brief": "PARTIALLY_ASSESSED",
        "invoice-reader": "INVALID",
    }


def test_it_shows_every_status_of_a_defect(overview: dict[str, Any]) -> None:
    defects = [defect for agent in overview["agents"]["nodes"] for defect in agent["defects"]["nodes"]]
    assert Counter(defect["status"] for defect in defects) == {
        "DISCOVERED": 4,
        "NOT_DISCOVERED": 3,
        "PARTIALLY_ASSESSED": 1,
        "NOT_ASSESSED": 2,
    }


def test_it_counts_ten_known_defects_of_which_four_were_discovered(overview: dict[str, Any]) -> None:
    ground_truth = overview["groundTruth"]
    assert ground_truth["defectCount"] == 10
    assert ground_truth["assessmentCount"] == 14
    assert ground_truth["discoveryRate"] == 0.4
    assert overview["totals"] == {"suiteCount": 4, "agentCount": 3, "caseCount": 29, "completedCaseCount": 21}


def test_it_shows_why_records_do_not_count(overview: dict[str, Any]) -> None:
    assert codes(overview["groundTruth"]["warnings"]) == {
        "EVIDENCE_DIGEST_MISMATCH": 1,
        "SOURCE_MISMATCH": 1,
        "INVALID_FIELD": 1,
        "CASE_ARTIFACT_MISMATCH": 1,
        "EXECUTION_ERROR": 1,
        "EVIDENCE_REJECTED": 1,
        "STALE_REVISION": 2,
        "UNKNOWN_DEFECT": 1,
        "CONFLICTING_ASSESSMENTS": 1,
        "REPORT_MISSING": 1,
    }
    assert overview["warnings"] == [{"code": "UNAVAILABLE_SUITE", "suiteId": "nightly-2026-10-05"}]


def test_its_suites_ran_on_several_sdks(overview: dict[str, Any]) -> None:
    assert {evaluator["evaluator"] for evaluator in overview["evaluators"]} == {
        "kuma",
        "local",
        "lighthouse",
        "@partial",
    }


def test_a_suite_is_running_and_one_reuses_cases_of_another() -> None:
    suites = {suite.suite_id: suite for suite in read_tree(ROOT).suites}
    rerun = suites["rerun-2026-09-28"]
    assert suites["nightly-2026-10-12"].state == "RUNNING"
    assert rerun.origin_suite_id == "weekly-2026-09-14"
    assert all(slot.origin for slot in rerun.slots)


def test_attempts_were_retried_refused_and_are_under_way() -> None:
    slots = [slot for suite in read_tree(ROOT).suites for slot in suite.slots]
    attempts = [attempt for slot in slots for attempt in slot.attempts]
    assert any(len(slot.attempts) == 2 and slot.execution_status == "completed" for slot in slots)
    assert {attempt.refusal for attempt in attempts} == {None, "EXECUTION_ERROR", "EVIDENCE_REJECTED"}
    assert {slot.execution_status for slot in slots} >= {
        "pending_generation",
        "ready",
        "dispatched",
        "waiting_judge",
        "retry_wait",
        "retrying",
        "needs_attention",
    }


def test_defects_are_bound_to_the_sources_that_lie_beside_them() -> None:
    for agent in read_tree(ROOT).agents:
        unit = ROOT / str(agent.unit_path)
        assert {defect.source_sha256 for defect in agent.defects} <= {source_digest(unit)}


async def test_the_bytes_that_its_records_rely_on_are_kept(client: httpx.AsyncClient) -> None:
    tree = read_tree(ROOT)
    evidence = tree.agents[0].defects[0].observations[0].evidence
    response = await client.get(f"/files/{evidence.sha256}")
    assert response.content == (ROOT / evidence.path).read_bytes()


async def test_it_is_loaded_into_an_empty_database_alone(database: str, files: FileStore) -> None:
    assert await load_demo(database, files)
    assert not await load_demo(database, files)


async def test_a_database_that_holds_another_tree_stays_as_it_is(database: str, files: FileStore) -> None:
    connection = await asyncpg.connect(database)
    try:
        await connection.execute("INSERT INTO trees (name, root, registry_valid) VALUES ('mine', '/', true)")
        assert not await load_demo(database, files)
        assert await connection.fetchval("SELECT count(*) FROM agents") == 0
    finally:
        await connection.close()
