"""Generated trees, imported whole: what the graph, REST and the documents say of them."""

import json
import random
from dataclasses import replace
from pathlib import Path
from shutil import rmtree

import pytest
from sqlalchemy import select

from interchange.digests import digest_json
from interchange.reader import read_tree
from interchange.records import TreeRecord
from interchange.verify import verify
from models import Agent, Suite
from models.base import table
from tests.interchange.trees import CASES, EVALUATORS, FIGURES, Service, as_document, built, comparable, from_graph
from tests.oracle import overview

KNOWN = range(80)
# Other trees in every run; the name of a failed test tells which one it was.
FURTHER = random.sample(range(1_000, 1_000_000), 10)

agents, suites = table(Agent), table(Suite)

DOCUMENTS = """
query Documents {
  agents(first: 100) { nodes { agentId manifestUrl defects(first: 100) { nodes { defectId groundTruthSha256 } } } }
  suites(first: 100) { nodes { suiteId assessmentsUrl } }
}
"""


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


@pytest.mark.parametrize("seed", FURTHER)
async def test_a_tree_that_becomes_another_one_and_itself_again_is_in_step_each_time(
    service: Service, seed: int, tmp_path: Path
) -> None:
    root = tmp_path / "tree"
    for present in (seed, seed + 1, seed):
        rmtree(root, ignore_errors=True)

        await service.take(built(present, root))

        document = await service.get("/api/benchmark/overview")
        assert comparable(document) == comparable(overview(read_tree(root)))
        assert [difference async for difference in verify(service.connection, service.files)] == []


@pytest.mark.parametrize("seed", FURTHER)
async def test_an_evaluator_counts_its_suites_and_their_agents_alone(
    service: Service, seed: int, tmp_path: Path
) -> None:
    root = built(seed, tmp_path)
    await service.take(root)

    answer = await service.ask(EVALUATORS + FIGURES)

    record = read_tree(root)
    shown = {each.pop("evaluator"): as_document(each) for each in answer["benchmarkOverview"]["evaluators"]}
    assert shown.keys() == {suite.source.evaluator for suite in record.suites}
    for evaluator, document in shown.items():
        assert comparable(document) == comparable(overview(within(record, evaluator)))


def within(record: TreeRecord, evaluator: str) -> TreeRecord:
    """The tree as it would be without the Suites of other evaluators, and without agents that none of these names."""
    chosen = [suite for suite in record.suites if suite.source.evaluator == evaluator]
    names = {suite.suite_id for suite in chosen}
    named = {agent.agent_id for suite in chosen for agent in suite.agents}
    return replace(
        record,
        suites=chosen,
        agents=[agent for agent in record.agents if agent.agent_id in named],
        notices=[notice for notice in record.notices if notice.agent_id in named or notice.suite_id in names],
    )
