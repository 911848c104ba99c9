"""The events of a Suite, in order, reduced to its slots and their attempts."""

from bisect import insort
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from interchange.documents import Object, canonical, storable
from interchange.forms import GREATEST_INTEGER, instant, integer, mapping, sha256, text
from interchange.records import AttemptRecord, SlotRecord
from interchange.results import (
    NEEDS_ATTENTION,
    ended,
    execution_status,
    overlaid,
    provider_mode,
    stems_from_elsewhere,
)
from models.base import SuiteState

_STATES = {
    **dict.fromkeys(("run_started", "suite_started", "suite_resumed", "suite_resume_started"), SuiteState.RUNNING),
    "suite_completed": SuiteState.COMPLETE,
    **dict.fromkeys(("suite_failed", "suite_interrupted"), SuiteState.INTERRUPTED),
}
_ORIGIN = ("suite_id", "agent_id", "case_index")


@dataclass(slots=True)
class _Attempt:
    record: AttemptRecord
    provider_mode: Any = None


@dataclass(slots=True)
class _Slot:
    status: str = "pending_generation"
    case_id: str | None = None
    artifact_path: str | None = None
    artifact_sha256: str | None = None
    origin: str | None = None
    # The result of a Case without an attempt: skipped, reused, or not generated.
    has_result: bool = False
    result_mode: Any = None
    attempts: list[_Attempt] = field(default_factory=list)
    _by_id: dict[str, _Attempt] = field(default_factory=dict)

    def find(self, event: Object) -> _Attempt | None:
        name = _name(event)
        if name is None:
            return self.attempts[-1] if self.attempts else None
        return self._by_id.get(name)

    def open(self, event: Object) -> _Attempt | None:
        """The attempt that the event names, new or not; None where none is named and none is active."""
        if (found := self.find(event)) or (name := _name(event)) is None:
            return found
        following = self.attempts[-1].record.attempt_number + 1 if self.attempts else 1
        given = integer(overlaid(event, "attempt_number"), least=1)
        number = given or min(following, GREATEST_INTEGER)
        opened = self._by_id[name] = _Attempt(AttemptRecord(name, number, self.status))
        insort(self.attempts, opened, key=lambda attempt: attempt.record.attempt_number)
        return opened

    def turn(self, attempt: _Attempt | None, status: str) -> None:
        """A late event of an older attempt changes that attempt alone."""
        if attempt:
            attempt.record = replace(attempt.record, execution_status=status)
        if attempt is None or attempt is self.attempts[-1]:
            self.status = status

    def fill(self, event: Object) -> None:
        result = mapping(event.get("case_result"))
        self.status = execution_status(result, overlaid(event, "status"), overlaid(event, "error"))
        self.has_result, self.result_mode = True, provider_mode(result)

    def result_modes(self) -> list[Any]:
        modes = [attempt.provider_mode for attempt in self.attempts if attempt.record.result]
        return [*modes, self.result_mode] if self.has_result else modes

    def record(self, agent_id: str, case_index: int) -> SlotRecord:
        return SlotRecord(
            agent_id,
            case_index,
            self.status,
            case_id=self.case_id,
            artifact_path=self.artifact_path,
            artifact_sha256=self.artifact_sha256,
            origin=self.origin,
            attempts=[attempt.record for attempt in self.attempts],
        )


_Handler = Callable[[_Slot, Object], None]


class Reduction:
    def __init__(self, case_counts: Mapping[str, int]) -> None:
        self.state = SuiteState.PLANNED
        self._counts = case_counts
        self._slots: dict[tuple[str, int], _Slot] = {}

    def take(self, event: Object) -> None:
        kind = event.get("event")
        if not isinstance(kind, str):
            return
        self.state = _STATES.get(kind, self.state)
        if kind == "agent_completed":
            self._agent_completed(event)
        elif (handle := _HANDLERS.get(kind)) and (slot := self._slot(event)):
            handle(slot, event)
            if kind in _REOPENING:
                self.state = SuiteState.RUNNING

    def slots(self) -> Iterator[SlotRecord]:
        return (slot.record(agent_id, index) for agent_id, index, slot in self._all())

    def result_modes(self) -> Iterator[list[Any]]:
        """Slot by slot, what each saved result names as its provider mode."""
        return (slot.result_modes() for _, _, slot in self._all())

    def _all(self) -> Iterator[tuple[str, int, _Slot]]:
        untouched = _Slot()
        for agent_id, count in self._counts.items():
            for index in range(count):
                yield agent_id, index, self._slots.get((agent_id, index), untouched)

    def _slot(self, event: Object) -> _Slot | None:
        agent_id = event.get("agent_id")
        if not isinstance(agent_id, str) or agent_id not in self._counts:
            return None
        index = integer(overlaid(event, "case_index"), most=self._counts[agent_id] - 1)
        return None if index is None else self._slots.setdefault((agent_id, index), _Slot())

    def _agent_completed(self, event: Object) -> None:
        """The sum at the end fills gaps only: a Case's own events know better."""
        results = mapping(event.get("item")).get("case_results")
        for result in results if isinstance(results, list) else []:
            completed = {**event, "case_result": result}
            if (slot := self._slot(completed)) and not slot.has_result and not slot.attempts:
                _completed(slot, completed)


def _name(event: Object) -> str | None:
    return text(overlaid(event, "attempt_id")) or text(overlaid(event, "job_id"))


def _prepared(slot: _Slot, event: Object) -> None:
    prepared = mapping(event.get("prepared_case"))
    slot.artifact_path = text(prepared.get("artifact_path"))
    slot.artifact_sha256 = sha256(prepared.get("artifact_sha256"))
    slot.case_id = text(prepared.get("case_id")) or text(event.get("case_id"))
    if not slot.attempts:
        slot.status, slot.has_result = "ready", False


def _reused(slot: _Slot, event: Object) -> None:
    origin = mapping(event.get("origin"))
    if noted := {key: origin[key] for key in _ORIGIN if key in origin}:
        slot.origin = storable(canonical(noted))


def _dispatched(slot: _Slot, event: Object) -> None:
    slot.turn(_begun(slot, event), "dispatched")


def _started(slot: _Slot, event: Object) -> None:
    attempt = _begun(slot, event)
    slot.turn(attempt, "retrying" if attempt and attempt.record.attempt_number > 1 else "running")


def _begun(slot: _Slot, event: Object) -> _Attempt | None:
    attempt = slot.open(event)
    if attempt and attempt.record.started_at is None:
        attempt.record = replace(attempt.record, started_at=instant(event.get("timestamp")))
    return attempt


def _completed(slot: _Slot, event: Object) -> None:
    _finish(slot, slot.find(event) if stems_from_elsewhere(event) else slot.open(event), event)


def _attempt_failed(slot: _Slot, event: Object) -> None:
    _finish(slot, slot.open(event), event)


def _finish(slot: _Slot, attempt: _Attempt | None, event: Object) -> None:
    if attempt is None:
        return slot.fill(event)
    attempt.record = ended(attempt.record, event)
    attempt.provider_mode = provider_mode(mapping(event.get("case_result")))
    return slot.turn(attempt, attempt.record.execution_status)


def _turning(status: str) -> _Handler:
    return lambda slot, event: slot.turn(slot.find(event), status)


def _of_slot(status: str) -> _Handler:
    """For what befalls the Case itself: its attempts stay as they ended."""
    return lambda slot, _: slot.turn(None, status)


_HANDLERS: dict[str, _Handler] = {
    "case_prepared": _prepared,
    **dict.fromkeys(("case_generation_failed", "case_preparation_failed"), _of_slot(NEEDS_ATTENTION)),
    "case_retry_cancelled": _of_slot("cancelled"),
    "case_reused": _reused,
    "attempt_dispatched": _dispatched,
    **dict.fromkeys(("case_started", "case_attempt_started"), _started),
    "case_attempt_failed": _attempt_failed,
    "case_completed": _completed,
    "judge_queued": _turning("waiting_judge"),
    **dict.fromkeys(("retry_scheduled", "case_retry_scheduled"), _turning("retry_wait")),
    **dict.fromkeys(("case_reconciling", "case_recovery_started"), _turning("reconciling")),
}
_REOPENING = {
    *("attempt_dispatched", "case_started", "case_attempt_started"),
    *("retry_scheduled", "case_retry_scheduled", "case_reconciling", "case_recovery_started"),
}
