"""The overview of a tree by plain loops over its records: slow, obvious, and independent of the database."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from interchange.records import (
    AgentRecord,
    AttemptRecord,
    DefectRecord,
    EvaluationSourceRecord,
    Notice,
    SidecarRecord,
    SlotRecord,
    SuiteRecord,
    TreeRecord,
)
from models.base import ManifestState, ReasonCode

Item = TypeVar("Item")
Document = dict[str, Any]
Defects = dict[tuple[str, str], DefectRecord]
# A place in the order of checks, and the reason that is told there.
Refusal = tuple[int, ReasonCode]


def overview(tree: TreeRecord) -> Document:
    """The `abb.benchmark.overview.v1` document without messages and urls; warnings as a set would have them."""
    defects = {
        (agent.agent_id, defect.defect_id): defect
        for agent in tree.agents
        if agent.manifest_state is ManifestState.VALID
        for defect in agent.defects
    }
    accepted: dict[tuple[str, str], list[SidecarRecord]] = defaultdict(list)
    refused: list[Notice] = []
    for suite in tree.suites:
        for record, code in judged(suite, defects):
            if code:
                refused.append(Notice(code, "", suite_id=suite.suite_id, assessment_index=record.index))
            else:
                accepted[record.agent_id, record.defect_id].append(record)
    agents = _agents(tree, accepted)
    notices = [*tree.notices, *refused]
    return {
        "schema": "abb.benchmark.overview.v1",
        "totals": {
            "suite_count": len(tree.suites),
            "agent_count": len(agents),
            "case_count": sum(agent["case_count"] for agent in agents),
            "completed_case_count": sum(agent["completed_case_count"] for agent in agents),
        },
        "agents": agents,
        "warnings": [_warning(notice) for notice in notices if _is_of_catalogue(notice)],
        "ground_truth": {
            **_total(agents),
            "warnings": [_warning(notice) for notice in notices if not _is_of_catalogue(notice)],
        },
    }


def judged(suite: SuiteRecord, defects: Defects) -> Iterator[tuple[SidecarRecord, ReasonCode | None]]:
    """Each record with the reason why it does not count; a conflict is told once, at its first record."""
    by_identity: dict[tuple[str, int, str, str], list[SidecarRecord]] = defaultdict(list)
    for record in suite.sidecar:
        by_identity[record.agent_id, record.case_index, record.attempt_id, record.defect_id].append(record)
    for first, *others in by_identity.values():
        yield first, ReasonCode.CONFLICTING_ASSESSMENTS if others else _first_failure(first, suite, defects)


def _first_failure(record: SidecarRecord, suite: SuiteRecord, defects: Defects) -> ReasonCode | None:
    refusals = list(_refusals(record, suite, defects))
    if record.fault_step is not None and record.fault_code is not None:
        refusals.append((record.fault_step, record.fault_code))
    return min(refusals)[1] if refusals else None


def _refusals(record: SidecarRecord, suite: SuiteRecord, defects: Defects) -> Iterator[Refusal]:
    """Every ground that speaks against a record; what it lacks the form for is left to `fault_step`."""
    defect = defects.get((record.agent_id, record.defect_id))
    if defect is None:
        yield 3, ReasonCode.UNKNOWN_DEFECT
    elif record.ground_truth_sha256 != defect.ground_truth_sha256:
        yield 5, ReasonCode.STALE_REVISION
    agent = next((agent for agent in suite.agents if agent.agent_id == record.agent_id), None)
    if agent is None:
        yield 9, ReasonCode.UNKNOWN_AGENT
    elif defect and agent.source_sha256 != defect.source_sha256:
        yield 9, ReasonCode.SOURCE_MISMATCH
    slot = _find(suite.slots, lambda slot: (slot.agent_id, slot.case_index) == (record.agent_id, record.case_index))
    if slot is None:
        yield 10, ReasonCode.UNKNOWN_CASE_SLOT
        return
    if slot.artifact_sha256 is None or slot.artifact_sha256 != record.case_sha256:
        yield 12, ReasonCode.CASE_DIGEST_MISMATCH
    elif slot.artifact_fault:
        yield 13, slot.artifact_fault
    attempt = _find(slot.attempts, lambda attempt: attempt.attempt_id == record.attempt_id)
    if attempt is None:
        yield 14, ReasonCode.UNKNOWN_ATTEMPT
    else:
        yield from _refusals_of(record, attempt)


def _refusals_of(record: SidecarRecord, attempt: AttemptRecord) -> Iterator[Refusal]:
    if attempt.result_sha256 is None or attempt.result_sha256 != record.result_sha256:
        yield 15, ReasonCode.RESULT_DIGEST_MISMATCH
    if attempt.refusal:
        yield 16, attempt.refusal
    is_decided = record.case_reproduced is not None or record.judge_detected is not None
    if is_decided and attempt.execution_status != "completed":
        yield 17, ReasonCode.EXECUTION_INCOMPLETE
    elif record.judge_detected is not None and not attempt.has_report:
        yield 17, ReasonCode.REPORT_MISSING


def _find(items: Iterable[Item], fits: Callable[[Item], bool]) -> Item | None:
    return next((item for item in items if fits(item)), None)


def _agents(tree: TreeRecord, accepted: dict[tuple[str, str], list[SidecarRecord]]) -> list[Document]:
    registered = {agent.agent_id: agent for agent in tree.agents}
    in_suites = {agent.agent_id for suite in tree.suites for agent in suite.agents}
    configured = {a.agent_id for a in tree.agents if a.manifest_state is not ManifestState.MISSING}
    shown = [_agent(tree, name, registered.get(name), accepted) for name in in_suites | configured]
    return sorted(shown, key=lambda agent: (-agent["case_count"], agent["agent_id"]))


def _agent(
    tree: TreeRecord, name: str, record: AgentRecord | None, accepted: dict[tuple[str, str], list[SidecarRecord]]
) -> Document:
    suites = [_suite(suite, name) for suite in sorted(tree.suites, key=lambda suite: suite.suite_id)]
    taking_part = [suite for suite in suites if suite]
    defects = [_defect(defect, accepted[name, defect.defect_id]) for defect in record.defects] if record else []
    return {
        "agent_id": name,
        "suite_count": len(taking_part),
        "case_count": sum(suite["case_count"] for suite in taking_part),
        "completed_case_count": sum(suite["completed_case_count"] for suite in taking_part),
        "suites": taking_part,
        "ground_truth": {**_summary(defects, _state(tree, record)), "defects": defects},
    }


def _state(tree: TreeRecord, record: AgentRecord | None) -> str | None:
    if not tree.registry_valid or (record and record.manifest_state is ManifestState.INVALID):
        return "invalid"
    return "not_configured" if record is None or record.manifest_state is ManifestState.MISSING else None


def _suite(suite: SuiteRecord, name: str) -> Document | None:
    slots = [slot for slot in suite.slots if slot.agent_id == name]
    if name not in {agent.agent_id for agent in suite.agents}:
        return None
    return {
        "suite_id": suite.suite_id,
        "state": suite.state.lower(),
        "origin_suite_id": suite.origin_suite_id,
        "evaluation_source": _source(suite.source),
        "case_count": len(slots),
        "completed_case_count": _completed(slots),
    }


def _completed(slots: list[SlotRecord]) -> int:
    return sum(slot.execution_status == "completed" for slot in slots)


def _source(source: EvaluationSourceRecord) -> Document:
    return {
        "schema": "abb.evaluation.source.v1",
        "status": source.status.lower(),
        "sdk": source.sdk,
        "sdks": source.sdks,
        "configured_sdk": source.configured_sdk,
        "provider_modes": source.provider_modes,
        "evidence": source.evidence.lower(),
    }


def _defect(defect: DefectRecord, records: list[SidecarRecord]) -> Document:
    case_reproduced = _decision(record.case_reproduced for record in records)
    judge_detected = _decision(record.judge_detected for record in records)
    assessed = sum(r.case_reproduced is not None and r.judge_detected is not None for r in records)
    is_touched = case_reproduced is not None or judge_detected is not None
    status = "discovered" if judge_detected else "not_discovered" if assessed else None
    return {
        "id": defect.defect_id,
        "title": defect.title,
        "ground_truth_sha256": defect.ground_truth_sha256,
        "status": status or ("partially_assessed" if is_touched else "not_assessed"),
        "case_reproduced": case_reproduced,
        "judge_detected": judge_detected,
        "assessment_count": len(records),
        "assessed_attempt_count": assessed,
    }


def _decision(values: Iterable[bool | None]) -> bool | None:
    made = [value for value in values if value is not None]
    return any(made) if made else None


def _summary(defects: list[Document], state: str | None) -> Document:
    assessed = sum(defect["assessed_attempt_count"] > 0 for defect in defects)
    found = sum(defect["judge_detected"] is True for defect in defects)
    return {
        "status": state or _progress(defects, assessed),
        "defect_count": len(defects),
        "assessed_defect_count": assessed,
        "case_reproduced_count": sum(defect["case_reproduced"] is True for defect in defects),
        "discovered_defect_count": found,
        "assessment_count": sum(defect["assessment_count"] for defect in defects),
        "discovery_rate": found / len(defects) if assessed else None,
    }


def _progress(defects: list[Document], assessed: int) -> str:
    if not defects:
        return "empty"
    if assessed == len(defects):
        return "assessed"
    return "not_assessed" if all(defect["status"] == "not_assessed" for defect in defects) else "partially_assessed"


def _total(agents: list[Document]) -> Document:
    states = [agent["ground_truth"]["status"] for agent in agents]
    defects = [defect for agent in agents for defect in agent["ground_truth"]["defects"]]
    unconfigured, invalid = states.count("not_configured"), states.count("invalid")
    configured = len(states) - unconfigured - invalid
    without = "invalid" if invalid else "empty" if configured else "not_configured"
    return {
        **_summary(defects, None if defects else without),
        "configured_agent_count": configured,
        "unconfigured_agent_count": unconfigured,
        "invalid_agent_count": invalid,
    }


def _is_of_catalogue(notice: Notice) -> bool:
    return notice.code in (ReasonCode.UNAVAILABLE_SUITE, ReasonCode.AMBIGUOUS_SUITE)


def _warning(notice: Notice) -> Document:
    fields = {
        "code": notice.code.value,
        "agent_id": notice.agent_id,
        "suite_id": notice.suite_id,
        "assessment_index": notice.assessment_index,
    }
    return {key: value for key, value in fields.items() if value is not None}
