"""Sidecars of generated trees sent record by record: what stands is what an import would have accepted."""

import json
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rules.house import Answer, House

Tree = runpy.run_path(str(Path(__file__).parents[1] / "cases/ground_truth/trees.py"))["Tree"]

RECORD = """
mutation Record($assessment: AssessmentInput!) {
  recordAssessment(input: {assessment: $assessment}) { __typename }
}
"""
NAMED = {
    "agent_id": "agentId",
    "case_index": "caseIndex",
    "attempt_id": "attemptId",
    "ground_truth_id": "defectId",
    "ground_truth_sha256": "groundTruthSha256",
    "case_sha256": "caseSha256",
    "result_sha256": "resultSha256",
    "case_reproduced": "caseReproduced",
    "judge_detected": "judgeDetected",
    "reviewed_by": "reviewedBy",
    "reviewed_at": "reviewedAt",
    "rationale": "rationale",
}
ACCEPTED = """
SELECT suite_id, agent_id, case_index, attempt_id, defect_id, ground_truth_sha256, case_sha256, result_sha256,
    case_reproduced, judge_detected, reviewed_by, reviewed_at, rationale
FROM assessments JOIN suites ON suites.id = suite_pk
WHERE assessments.status = 'ACCEPTED' AND assessments.keeper = '{}'
ORDER BY 1, 2, 3, 4, 5
"""


def sidecars(root: Path) -> Iterator[tuple[Path, Answer]]:
    for path in sorted(root.glob("results/**/ground_truth/assessments.json")):
        yield path, json.loads(path.read_text())


def identity(record: Answer) -> str:
    names = ("agent_id", "case_index", "attempt_id", "ground_truth_id")
    return json.dumps([record[name] for name in names])


def keep_first(root: Path) -> None:
    """Of records that decide one identity, leave the first."""
    for path, document in sidecars(root):
        firsts: dict[str, Answer] = {}
        for record in document["assessments"]:
            firsts.setdefault(identity(record), record)
        path.write_text(json.dumps({**document, "assessments": list(firsts.values())}, ensure_ascii=False))


def records(root: Path) -> list[tuple[str, Answer]]:
    """What the sidecars of trees say that an import would read."""
    found = []
    for path, document in sidecars(root):
        plan = json.loads((path.parents[1] / "plan.json").read_text())
        if document["schema"].endswith("v1") and document["suite_id"] == plan["suite_id"]:
            found += [(document["suite_id"], record) for record in document["assessments"]]
    return found


async def send(house: House, suite_id: str, record: Answer) -> None:
    """What GraphQL itself cannot read fails the request; everything else is an answer."""
    given = {graph: record[name] for name, graph in NAMED.items() if name in record}
    await house.answer(RECORD, assessment={"suiteId": suite_id, **given})


@pytest.mark.parametrize("seed", range(80))
async def test_records_sent_one_by_one_are_what_an_import_accepts(shared: House, seed: int, tmp_path: Path) -> None:
    Tree(seed, tmp_path).build()
    sent = records(tmp_path)
    await shared.clear()
    keep_first(tmp_path)
    await shared.take(tmp_path)
    imported = await shared.execute(ACCEPTED.format("TREE"))
    for path, _ in sidecars(tmp_path):
        path.unlink()
    await shared.take(tmp_path)

    for suite_id, record in sent:
        await send(shared, suite_id, record)

    assert await shared.execute(ACCEPTED.format("API")) == imported
    await shared.assert_sound()
