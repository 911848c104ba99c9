"""Small project trees, sound unless a test makes one thing in them unsound."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from interchange import reading
from interchange.digests import digest_json
from interchange.reader import read_tree
from interchange.records import AgentRecord, Notice, SlotRecord, SuiteRecord
from models.base import ReasonCode

Object = dict[str, Any]

SOURCE = hashlib.sha256(b"source").hexdigest()
CASE = hashlib.sha256(b"case").hexdigest()
REGISTRY = "resources/registry.toml"
UNIT = "resources/agents/01-alpha"
MANIFEST = f"{UNIT}/ground_truth/manifest.json"
SUITE = "results/first"
SIDECAR = f"{SUITE}/ground_truth/assessments.json"
ATTEMPT = {"agent_id": "alpha", "case_index": 0, "attempt_id": "try-1", "attempt_number": 1}


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content, ensure_ascii=False))
    return path


def write_unit(root: Path, *, manifest: Any = None, agent_id: str = "alpha") -> Path:
    """Registers the agent `alpha`, with what `manifest` says or one that holds a sound defect."""
    unit = root / UNIT
    write(root / REGISTRY, f'[[agents]]\nagent_id = "alpha"\npath = "{UNIT}"\n')
    write(unit / "agent.toml", f'agent_id = "{agent_id}"\nframework = "plain"\nname = "Alpha"\n')
    write(unit / "agent/main.py", "print()\n")
    for number in range(2):
        write(unit / f"ground_truth/observations/run-{number}.zip", f"run {number}".encode())
    write(root / MANIFEST, manifest if manifest is not None else manifest_of(defect()))
    return unit


def manifest_of(*defects: Any, **changes: Any) -> Object:
    return {"schema": "abb.agent.ground_truth.v1", "agent_id": "alpha", "defects": list(defects), **changes}


def observation(number: int, **changes: Any) -> Object:
    path = f"observations/run-{number}.zip"
    evidence = sha256(f"run {number}".encode())
    record = {"id": f"run-{number}", "case_sha256": CASE, "evidence_path": path, "evidence_sha256": evidence}
    return {**record, **changes}


def defect(**changes: Any) -> Object:
    return {
        "id": "defect-0",
        "title": "Repeats a refund",
        "expected_behavior": "One refund",
        "observed_behavior": "Two refunds",
        "confirmed_by": "reviewer-1",
        "confirmed_at": "2026-10-02T14:00:00+02:00",
        "source_sha256": SOURCE,
        "case_sha256": CASE,
        "observations": [observation(0), observation(1)],
        **changes,
    }


def plan_of(suite_id: str = "first", *, cases: int = 2, configuration: Any = None, **changes: Any) -> Object:
    agents = changes.pop("agents", [{"agent_id": "alpha", "case_count": cases, "source_sha256": SOURCE}])
    provenance = {"agents": agents, "configuration": {} if configuration is None else configuration}
    plan = {"schema": "abb.suite.plan.v1", "suite_id": suite_id, **provenance}
    return {**plan, "provenance_sha256": digest_json(provenance), **changes}


def numbered(events: list[Object], suite_id: str = "first") -> list[Object]:
    envelope = {"schema": "abb.suite.event.v1", "suite_id": suite_id, "timestamp": "2026-10-03T08:00:00+00:00"}
    return [{**envelope, "sequence": number, **event} for number, event in enumerate(events, 1)]


def result(**changes: Any) -> Object:
    benchmark = {
        "report": {"status": "issue", "score": 0.5},
        "provider_mode": "local-container",
        "host_acceptance": "accepted",
        "evidence_status": "captured",
        "host_trace_validation": "passed",
    }
    return {"status": "succeeded", "execution_status": "completed", "benchmark": benchmark, "artifacts": {}, **changes}


def prepared(index: int = 0, body: bytes = b"case", path: str | None = None) -> Object:
    artifact = {"case_id": f"case-{index}", "artifact_sha256": sha256(body)}
    artifact["artifact_path"] = path if path is not None else f"cases/{index}/case.json"
    return {"event": "case_prepared", "agent_id": "alpha", "case_index": index, "prepared_case": artifact}


def one_attempt(saved: Any = None) -> list[Object]:
    saved = result() if saved is None else saved
    return [
        {"event": "run_started"},
        prepared(),
        {"event": "case_attempt_started", **ATTEMPT},
        {"event": "case_completed", **ATTEMPT, "case_result": saved},
        {"event": "suite_completed"},
    ]


def write_suite(
    root: Path, events: list[Object] | None = None, *, directory: str = SUITE, suite_id: str = "first", **plan: Any
) -> Path:
    write(root / directory / "plan.json", plan_of(suite_id, **plan))
    write(root / directory / "cases/0/case.json", b"case")
    write(root / directory / "events.json", numbered(one_attempt() if events is None else events, suite_id))
    return root / directory


def assessment(**changes: Any) -> Object:
    return {
        "agent_id": "alpha",
        "case_index": 0,
        "attempt_id": "try-1",
        "ground_truth_id": "defect-0",
        "ground_truth_sha256": digest_json(defect()),
        "case_sha256": CASE,
        "result_sha256": digest_json(result()),
        "case_reproduced": True,
        "judge_detected": True,
        "reviewed_by": "reviewer-2",
        "reviewed_at": "2026-10-04T09:30:00Z",
        "rationale": "Compared the trace with the reference.",
        **changes,
    }


def sidecar_of(*assessments: Any, **changes: Any) -> Object:
    document = {"schema": "abb.ground_truth.assessments.v1", "suite_id": "first", "assessments": list(assessments)}
    return {**document, **changes}


def notices(root: Path) -> list[Notice]:
    return read_tree(root).notices


def codes(root: Path) -> list[ReasonCode]:
    return [notice.code for notice in notices(root)]


def only_agent(root: Path) -> AgentRecord:
    (agent,) = read_tree(root).agents
    return agent


def only_suite(root: Path) -> SuiteRecord:
    (suite,) = read_tree(root).suites
    return suite


def first_slot(root: Path) -> SlotRecord:
    return only_suite(root).slots[0]


@contextmanager
def nothing_outside_is_shown(root: Path, secret: str) -> Iterator[None]:
    """Neither absolute paths nor what stands outside may be told."""
    yield
    told = " ".join(notice.message for notice in notices(root))
    assert secret not in told
    assert str(root) not in told


def edit_while_read(monkeypatch: pytest.MonkeyPatch, path: Path, *, times: int) -> None:
    """Appends to a file while it is read, in so many readings of it."""
    left = iter(range(times))
    chunks = reading._chunks

    def edited(descriptor: int) -> Iterator[bytes]:
        pieces = chunks(descriptor)
        yield next(pieces)
        if Path(f"/proc/self/fd/{descriptor}").resolve() == path and next(left, None) is not None:
            with path.open("ab") as file:
                file.write(b" ")
        yield from pieces

    monkeypatch.setattr(reading, "_chunks", edited)
