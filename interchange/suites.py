"""One saved Suite: its plan, its events reduced, its artifacts as they lie there now, and its sidecar."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from interchange.digests import digest_json
from interchange.discovery import EVENTS, PLAN
from interchange.documents import Object, Undecodable, iterate_list
from interchange.evaluation import evaluation_source
from interchange.files import TreeFiles
from interchange.plans import Plan, parse_plan
from interchange.reading import EVENTS_LIMIT, Fault, Place
from interchange.records import (
    EvaluationSourceRecord,
    KeptFile,
    Notice,
    SlotRecord,
    SuiteAgentRecord,
    SuiteRecord,
)
from interchange.reduction import Reduction
from interchange.results import COMPLETED
from interchange.sidecars import Sidecar, read_sidecar
from models.base import Provenance, ReasonCode, SuiteState

EVENT_SCHEMA = "abb.suite.event.v1"
# Part of every content digest: raised when the same files reduce to something else than before.
REDUCTION_VERSION = 1


@dataclass(frozen=True, slots=True)
class SuiteReading:
    record: SuiteRecord
    notices: list[Notice] = field(default_factory=list)
    files: list[KeptFile] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class History:
    """What plan and events alone tell."""

    plan: Plan
    state: SuiteState
    source: EvaluationSourceRecord
    slots: list[SlotRecord]
    files: list[KeptFile]

    def agents(self) -> list[SuiteAgentRecord]:
        completed = Counter(slot.agent_id for slot in self.slots if slot.execution_status == COMPLETED)
        return [
            SuiteAgentRecord(a.agent_id, a.source_sha256, a.case_count, completed[a.agent_id]) for a in self.plan.agents
        ]


def read_suite(files: TreeFiles, directory: str) -> SuiteReading | Fault:
    """The Suite, or why it is unavailable; while nothing of it changes, the very same answer."""
    return files.recall(("suite", directory), lambda: _read(files, directory))


def reduce_events(plan: Plan, events: Iterable[Object], files: list[KeptFile]) -> History:
    reduction = Reduction(plan.case_counts())
    for event in events:
        reduction.take(event)
    source = evaluation_source(plan.sdk, reduction.result_modes())
    return History(plan, reduction.state, source, list(reduction.slots()), files)


def assemble(
    history: History, provenance: Provenance, directory: str | None, slots: list[SlotRecord], sidecar: Sidecar
) -> SuiteRecord:
    plan = history.plan
    found = [[slot.agent_id, slot.case_index, slot.artifact_fault] for slot in slots if slot.artifact_fault]
    ground = digest_json([REDUCTION_VERSION, [file.sha256 for file in history.files], found])
    return SuiteRecord(
        suite_id=plan.suite_id,
        directory=directory,
        state=history.state,
        provenance=provenance,
        provenance_sha256=plan.provenance_sha256,
        origin_suite_id=plan.origin_suite_id,
        created_at=plan.created_at,
        source=history.source,
        agents=history.agents(),
        slots=slots,
        sidecar=sidecar.records,
        ground_sha256=ground,
        content_sha256=digest_json([ground, sidecar.mark]),
        documents=[*history.files, *([sidecar.file] if sidecar.file else [])],
    )


def _read(files: TreeFiles, directory: str) -> SuiteReading | Fault:
    history = files.recall(("history", directory), lambda: _history(files, directory))
    if isinstance(history, Fault):
        return history
    slots = [_with_artifact(files, directory, slot) for slot in history.slots]
    sidecar = read_sidecar(files, directory, history.plan.suite_id)
    record = assemble(history, Provenance.CANONICAL, directory, slots, sidecar)
    return SuiteReading(record, sidecar.notices, record.documents)


def _history(files: TreeFiles, directory: str) -> History | Fault:
    place = Place(directory, PLAN)
    try:
        data, plan_file = files.document(place)
        plan = parse_plan(place, data)
        place = Place(directory, EVENTS)
        data, events_file = files.document(place, EVENTS_LIMIT)
        elements = iterate_list(data)
        # The text is read on from here, and a second copy of a long one would not be small.
        del data
        return reduce_events(plan, _checked(place, plan, elements), [plan_file, events_file])
    except Fault as fault:
        return Fault(ReasonCode.UNAVAILABLE_SUITE, fault.message)
    except Undecodable as error:
        return place.fault(ReasonCode.UNAVAILABLE_SUITE, str(error))


def _checked(place: Place, plan: Plan, elements: Iterable[object]) -> Iterable[Object]:
    for number, event in enumerate(elements, 1):
        if not isinstance(event, dict):
            raise place.fault(ReasonCode.UNAVAILABLE_SUITE, f"event {number} must be an object")
        if event.get("schema") != EVENT_SCHEMA:
            raise place.fault(ReasonCode.UNAVAILABLE_SUITE, f"event {number}: schema must be {EVENT_SCHEMA}")
        if type(event.get("sequence")) is not int or event["sequence"] != number:
            raise place.fault(ReasonCode.UNAVAILABLE_SUITE, f"event {number}: sequence must be {number}")
        if event.get("suite_id") != plan.suite_id:
            raise place.fault(ReasonCode.UNAVAILABLE_SUITE, f"event {number}: suite_id must be the plan's")
        yield event


def _with_artifact(files: TreeFiles, directory: str, slot: SlotRecord) -> SlotRecord:
    if slot.artifact_path is None:
        fault = None if slot.artifact_sha256 is None else ReasonCode.FILE_UNAVAILABLE
        return replace(slot, artifact_fault=fault) if fault else slot
    try:
        artifact = files.content(Place(directory, slot.artifact_path))
    except Fault as fault:
        return replace(slot, artifact_fault=fault.code)
    if artifact.sha256 != slot.artifact_sha256:
        return replace(slot, artifact_fault=ReasonCode.CASE_ARTIFACT_MISMATCH)
    return replace(slot, artifact=artifact)
