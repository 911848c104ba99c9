"""A tree whose Suite has a Case for everything that can be wrong with one, and what reviewers say of it."""

import os
from pathlib import Path
from typing import Any

from interchange.digests import digest_json
from tests.interchange.building import (
    CASE,
    MANIFEST,
    SOURCE,
    Object,
    defect,
    manifest_of,
    prepared,
    result,
    sha256,
    write,
    write_suite,
    write_unit,
)

SLOTS = (
    "sound",
    "changed",
    "missing",
    "outside",
    "large",
    "pipe",
    "unprepared",
    "error",
    "rejected",
    "unsound",
    "incomplete",
    "unreported",
    "running",
    "retried",
)
ARTIFACT_LIMIT = 64 * 1024 * 1024


def benchmark(**changes: Any) -> Object:
    return {**result()["benchmark"], **changes}


RESULTS: dict[str, Object] = {
    "error": result(error={"type": "TimeoutError"}),
    "rejected": result(benchmark=benchmark(host_acceptance="rejected")),
    "unsound": result(benchmark=benchmark(evidence_status="missing")),
    "incomplete": result(execution_status="needs_attention"),
    "unreported": result(benchmark=benchmark(report={})),
}


def write_ground(root: Path) -> None:
    write_unit(root)
    events: list[Object] = [{"event": "run_started"}]
    for index, name in enumerate(SLOTS):
        events += _slot(index, name)
    suite = write_suite(root, [*events, {"event": "suite_completed"}], cases=len(SLOTS))
    for index, name in enumerate(SLOTS):
        write(suite / f"cases/{index}/case.json", b"edited" if name == "changed" else b"case")
    (suite / "cases" / str(SLOTS.index("missing")) / "case.json").unlink()
    os.truncate(suite / "cases" / str(SLOTS.index("large")) / "case.json", ARTIFACT_LIMIT + 1)
    pipe = suite / "cases" / str(SLOTS.index("pipe")) / "case.json"
    pipe.unlink()
    os.mkfifo(pipe)
    write_suite(root, directory="results/older", suite_id="older", agents=[_agent("alpha", sha256(b"older source"))])
    write_suite(root, directory="results/others", suite_id="others", agents=[_agent("beta", SOURCE)])


def _agent(agent_id: str, source: str) -> Object:
    return {"agent_id": agent_id, "case_count": 1, "source_sha256": source}


def _slot(index: int, name: str) -> list[Object]:
    path = "../../stray.json" if name == "outside" else None
    events = [] if name == "unprepared" else [prepared(index, path=path)]
    for number in range(1, 3 if name == "retried" else 2):
        attempt = {"agent_id": "alpha", "case_index": index, "attempt_id": f"try-{number}", "attempt_number": number}
        events.append({"event": "case_attempt_started", **attempt})
        if name != "running":
            events.append({"event": "case_completed", **attempt, "case_result": RESULTS.get(name, result())})
    return events


def decision(slot: str = "sound", **changes: Any) -> Object:
    """What recordAssessment takes: sound in itself, about one of the slots."""
    return {
        "suiteId": "first",
        "agentId": "alpha",
        "caseIndex": SLOTS.index(slot),
        "attemptId": "try-1",
        "defectId": "defect-0",
        "groundTruthSha256": digest_json(defect()),
        "caseSha256": CASE,
        "resultSha256": digest_json(RESULTS.get(slot, result())),
        "caseReproduced": True,
        "judgeDetected": False,
        "reviewedBy": "reviewer-2",
        "reviewedAt": "2026-10-04T09:30:00.123456Z",
        "rationale": "Compared the trace with the reference.",
        **changes,
    }


def without(given: Object, *names: str) -> Object:
    return {name: value for name, value in given.items() if name not in names}


def edit_defect(root: Path, **changes: Any) -> str:
    """Another revision of the tree's defect; answers its digest."""
    write(root / MANIFEST, manifest_of(defect(**changes)))
    return digest_json(defect(**changes))


def described(runs: list[str], **changes: Any) -> Object:
    """A DefectInput that rests on files of these digests."""
    return {
        "title": "Forgets the currency",
        "expectedBehavior": "Asks for it",
        "observedBehavior": "Assumes dollars",
        "confirmedBy": "reviewer-1",
        "confirmedAt": "2026-10-05T10:00:00+02:00",
        "sourceSha256": SOURCE,
        "caseSha256": CASE,
        "observations": [observed(number, run) for number, run in enumerate(runs)],
        **changes,
    }


def observed(number: int, run: str, **changes: Any) -> Object:
    return {
        "observationId": f"run-{number}",
        "caseSha256": CASE,
        "evidencePath": f"observations/currency/run-{number}.json",
        "evidenceSha256": run,
        **changes,
    }
