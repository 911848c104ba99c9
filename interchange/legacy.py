"""A result log from before Suites had plans: counts by the same reduction, but no provenance."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path

from interchange.documents import Object, Undecodable, iterate_list
from interchange.files import TreeFiles
from interchange.plans import Plan, PlannedAgent, case_count, suite_identity, within_limits
from interchange.reading import EVENTS_LIMIT, Place
from interchange.records import FileSink, SlotRecord, SuiteRecord
from interchange.sidecars import Sidecar
from interchange.suites import assemble, reduce_events
from models.base import Provenance, ReasonCode
from resolvers.forms import identity, instant, mapping


def read_log(path: Path, keep: FileSink | None = None) -> SuiteRecord:
    """Raises a Fault that says why the log cannot be read."""
    path = path.resolve()
    place = Place("", path.name)
    data, kept = TreeFiles(path.parent, keep=keep).document(place, EVENTS_LIMIT)
    elements = iterate_list(data)
    del data
    try:
        events = _checked(place, elements)
        start = next((event for event in events if event.get("event") == "run_started"), None)
        if start is None:
            raise place.fault(ReasonCode.INVALID_FIELD, "must hold a run_started event")
        history = reduce_events(_plan(place, start), chain([start], events), [kept])
    except Undecodable as error:
        raise place.fault(ReasonCode.INVALID_JSON, str(error)) from error
    slots = [_without_artifact(slot) for slot in history.slots]
    return assemble(history, Provenance.LEGACY, None, slots, Sidecar())


def _plan(place: Place, start: Object) -> Plan:
    suite_id = suite_identity(start.get("suite_id"))
    if suite_id is None:
        raise place.fault(ReasonCode.INVALID_FIELD, "suite_id must be letters, digits, _ and -")
    counts = mapping(start.get("selected_case_counts"))
    selected = start.get("selected_agent_ids")
    agents = [
        PlannedAgent(agent_id, count, None)
        for agent_id in (selected if isinstance(selected, list) else [])
        if identity(agent_id) is not None and (count := case_count(counts.get(agent_id))) is not None
    ]
    is_whole = isinstance(selected, list) and len(agents) == len(selected) == len({a.agent_id for a in agents})
    if not is_whole or not within_limits(agents):
        message = "selected_agent_ids must be distinct, each with its number in selected_case_counts, within the limits"
        raise place.fault(ReasonCode.INVALID_FIELD, message)
    return Plan(suite_id, agents, None, None, instant(start.get("timestamp")), None)


def _checked(place: Place, elements: Iterable[object]) -> Iterator[Object]:
    for number, event in enumerate(elements, 1):
        if not isinstance(event, dict):
            raise place.fault(ReasonCode.INVALID_FIELD, f"event {number} must be an object")
        yield event


def _without_artifact(slot: SlotRecord) -> SlotRecord:
    """A log has no directory that artifacts could lie in."""
    is_prepared = slot.artifact_path is not None or slot.artifact_sha256 is not None
    return replace(slot, artifact_fault=ReasonCode.FILE_UNAVAILABLE) if is_prepared else slot
