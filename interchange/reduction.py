"""The events of a Suite, in order, reduced to its slots and their attempts."""

from bisect import insort
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from interchange.documents import Object, canonical, storable
from interchange.records import AttemptRecord, SlotRecord
from interchange.results import NEEDS_ATTENTION, Result, overlaid
from models.base import SuiteState
from resolvers.forms import GREATEST_INTEGER, identity, instant, integer, mapping, sha256, text

_STATES = {
    **dict.fromkeys(("run_started", "suite_started", "suite_resumed", "suite_resume_started"), SuiteState.RUNNING),
    "suite_completed": SuiteState.COMPLETE,
    **dict.fromkeys(("suite_failed", "suite_interrupted"), SuiteState.INTERRUPTED),
}
_ORIGIN = ("suite_id", "agent_id", "case_index")


@dataclass(slots=True)
class _Attempt:
    attempt_id: str
    number: int
    status: str
    started_at: datetime | None = None
    finished_at: datetime | None = None
    provider_mode: Any = None
    # Fields of the record that its result decides; None while there is no result.
    ending: dict[str, Any] | None = None

    def record(self) -> AttemptRecord:
        return AttemptRecord(
            self.attempt_id,
            self.number,
            self.status,
            started_at=self.started_at,
            finished_at=self.finished_at,
            **(self.ending or {}),
        )


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

    def find(self, data: Object) -> _Attempt | None:
        name = _name(data)
        if name is None:
            return self.attempts[-1] if self.attempts else None
        return self._by_id.get(name)

    def open(self, data: Object) -> _Attempt | None:
        """The attempt that is named, new or not; None where none is named and none is active."""
        if (found := self.find(data)) or (name := _name(data)) is None:
            return found
        following = self.attempts[-1].number + 1 if self.attempts else 1
        number = integer(data.get("attempt_number"), least=1) or min(following, GREATEST_INTEGER)
        opened = self._by_id[name] = _Attempt(name, number, self.status)
        insort(self.attempts, opened, key=lambda attempt: attempt.number)
        return opened

    def turn(self, attempt: _Attempt | None, status: str) -> None:
        """A late event of an older attempt changes that attempt alone."""
        if attempt:
            attempt.status = status
        if attempt is None or attempt is self.attempts[-1]:
            self.status = status

    def result_modes(self) -> list[Any]:
        modes = [attempt.provider_mode for attempt in self.attempts if attempt.ending and attempt.ending["result"]]
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
            attempts=[attempt.record() for attempt in self.attempts],
        )


# Takes an event and the same under what its result says better.
_Handler = Callable[[_Slot, Object, Object], None]


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
        elif handle := _HANDLERS.get(kind):
            data = overlaid(event)
            if slot := self._slot(data):
                handle(slot, event, data)
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

    def _slot(self, data: Object) -> _Slot | None:
        agent_id = data.get("agent_id")
        if not isinstance(agent_id, str) or agent_id not in self._counts:
            return None
        index = integer(data.get("case_index"), most=self._counts[agent_id] - 1)
        if index is None:
            return None
        key = agent_id, index
        return self._slots.get(key) or self._slots.setdefault(key, _Slot())

    def _agent_completed(self, event: Object) -> None:
        """The sum at the end fills gaps only: a Case's own events know better."""
        results = mapping(event.get("item")).get("case_results")
        for result in results if isinstance(results, list) else []:
            completed = {**event, "case_result": result}
            data = overlaid(completed)
            if (slot := self._slot(data)) and not slot.has_result and not slot.attempts:
                _completed(slot, completed, data)


def _name(data: Object) -> str | None:
    return identity(data.get("attempt_id")) or identity(data.get("job_id"))


def _prepared(slot: _Slot, event: Object, _: Object) -> None:
    prepared = mapping(event.get("prepared_case"))
    slot.artifact_path = text(prepared.get("artifact_path"))
    slot.artifact_sha256 = sha256(prepared.get("artifact_sha256"))
    slot.case_id = text(prepared.get("case_id")) or text(event.get("case_id"))
    if not slot.attempts:
        slot.status, slot.has_result = "ready", False


def _reused(slot: _Slot, event: Object, _: Object) -> None:
    origin = mapping(event.get("origin"))
    if noted := {key: origin[key] for key in _ORIGIN if key in origin}:
        slot.origin = storable(canonical(noted))


def _dispatched(slot: _Slot, event: Object, data: Object) -> None:
    slot.turn(_begun(slot, event, data), "dispatched")


def _started(slot: _Slot, event: Object, data: Object) -> None:
    attempt = _begun(slot, event, data)
    slot.turn(attempt, "retrying" if attempt and attempt.number > 1 else "running")


def _begun(slot: _Slot, event: Object, data: Object) -> _Attempt | None:
    attempt = slot.open(data)
    if attempt and attempt.started_at is None:
        attempt.started_at = instant(event.get("timestamp"))
    return attempt


def _completed(slot: _Slot, event: Object, data: Object) -> None:
    result = Result(event, data)
    _finish(slot, slot.find(data) if result.stems_from_elsewhere() else slot.open(data), event, result)


def _attempt_failed(slot: _Slot, event: Object, data: Object) -> None:
    _finish(slot, slot.open(data), event, Result(event, data))


def _finish(slot: _Slot, attempt: _Attempt | None, event: Object, result: Result) -> None:
    slot.turn(attempt, result.execution_status())
    if attempt is None:
        slot.has_result, slot.result_mode = True, result.provider_mode
        return
    attempt.finished_at = instant(event.get("timestamp"))
    attempt.provider_mode = result.provider_mode
    attempt.ending = result.fields()


def _turning(status: str) -> _Handler:
    return lambda slot, _, data: slot.turn(slot.find(data), status)


def _of_slot(status: str) -> _Handler:
    """For what befalls the Case itself: its attempts stay as they ended."""
    return lambda slot, *_: slot.turn(None, status)


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
