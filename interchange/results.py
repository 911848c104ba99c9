"""What a saved Case result says about its execution, its report and its evidence."""

from typing import Any

from interchange.digests import digest_text
from interchange.documents import Object, canonical_decoded, storable
from models.base import ReasonCode
from resolvers.forms import mapping, text

UNKNOWN = "unknown"
COMPLETED = "completed"
NEEDS_ATTENTION = "needs_attention"
_STATUSES = {"succeeded": COMPLETED, "failed": NEEDS_ATTENTION, "cancelled": "cancelled", "skipped": "skipped"}
_FAULTY_EVIDENCE = ("missing", "failed", "invalid")
_FAULTY_TRACE = ("failed", "invalid")


def overlaid(event: Object) -> Object:
    """The event under what its result says better."""
    result = event.get("case_result")
    if not isinstance(result, dict):
        return event
    return {**event, **{key: value for key, value in result.items() if value is not None}}


class Result:
    """One saved result, or none, within the event that brought it."""

    def __init__(self, event: Object, data: Object) -> None:
        """`data` is the event overlaid by its result."""
        saved = event.get("case_result")
        self._is_saved = isinstance(saved, dict)
        self._raw = mapping(saved)
        self._benchmark = mapping(self._raw.get("benchmark"))
        self._artifacts = mapping(self._raw.get("artifacts"))
        self._received = mapping(self._artifacts.get("received_report"))
        self._data = data

    @property
    def provider_mode(self) -> Any:
        return self._benchmark.get("provider_mode")

    def stems_from_elsewhere(self) -> bool:
        """It is no execution's: it was skipped, or comes from generating or reusing the Case."""
        return (
            "skipped" in (self._data.get("status"), self._raw.get("execution_status"))
            or self._data.get("phase") == "generate"
            or self._artifacts.get("phase") in ("case_generation", "case_reuse")
        )

    def execution_status(self) -> str:
        if stated := text(self._raw.get("execution_status")):
            return stated
        if self._benchmark.get("report") is not None and not self._data.get("error"):
            return COMPLETED
        # Neither a report nor a known status: that it completed would be a guess.
        status = self._data.get("status")
        return _STATUSES.get(status, NEEDS_ATTENTION) if isinstance(status, str) else NEEDS_ATTENTION

    def fields(self) -> dict[str, Any]:
        """Those of an AttemptRecord that its end decides."""
        report, error = self._benchmark.get("report"), self._data.get("error")
        saved, digest = self._spelled()
        return {
            "judge_status": self._judge_status(),
            "report": None if report is None else storable(canonical_decoded(report)),
            "has_report": bool(mapping(report)),
            "result": saved,
            "result_sha256": digest,
            "host_acceptance": self._first_text("host_acceptance") or self._received_acceptance(),
            "evidence_status": self._first_text("evidence_status") or UNKNOWN,
            "host_trace_validation": self._first_text("host_trace_validation") or UNKNOWN,
            "error": None if error is None else storable(canonical_decoded(error)),
            "refusal": self._refusal(),
        }

    def _spelled(self) -> tuple[str | None, str | None]:
        """The canonical text and its digest, which a lone surrogate takes from it."""
        if not self._is_saved:
            return None, None
        spelled = canonical_decoded(self._raw)
        try:
            return spelled, digest_text(spelled)
        except UnicodeEncodeError:
            return storable(spelled), None

    def _judge_status(self) -> str | None:
        report = mapping(self._benchmark.get("report"))
        stated = text(self._raw.get("judge_status")) or text(report.get("status"))
        return stated or text(self._received.get("status"))

    def _received_acceptance(self) -> str:
        accepted = self._received.get("host_accepted")
        if isinstance(accepted, bool):
            return "accepted" if accepted else "rejected"
        return UNKNOWN

    def _first_text(self, key: str) -> str | None:
        return text(self._raw.get(key)) or text(self._benchmark.get(key)) or text(self._artifacts.get(key))

    def _all(self, key: str) -> tuple[Any, Any, Any]:
        return self._raw.get(key), self._benchmark.get(key), self._artifacts.get(key)

    def _refusal(self) -> ReasonCode | None:
        """Judged over every layer: one that is sound does not excuse another."""
        if self._data.get("error") or any(self._all("error")):
            return ReasonCode.EXECUTION_ERROR
        if self._received.get("host_accepted") is False or "rejected" in self._all("host_acceptance"):
            return ReasonCode.EVIDENCE_REJECTED
        if self._has("evidence_status", _FAULTY_EVIDENCE) or self._has("host_trace_validation", _FAULTY_TRACE):
            return ReasonCode.EVIDENCE_INVALID
        # What is not even an object could hide any of these.
        parts = self._raw.get("benchmark"), self._raw.get("artifacts")
        is_shapeless = any(part and not isinstance(part, dict) for part in parts)
        return ReasonCode.EVIDENCE_INVALID if is_shapeless else None

    def _has(self, key: str, faulty: tuple[str, ...]) -> bool:
        return any(value in faulty for value in self._all(key))
