"""What a saved Case result says about its execution, its report and its evidence."""

from typing import Any

from interchange.digests import digest_text
from interchange.documents import Object, canonical, storable
from interchange.forms import instant, mapping, text
from interchange.records import AttemptRecord
from models.base import ReasonCode

UNKNOWN = "unknown"
COMPLETED = "completed"
NEEDS_ATTENTION = "needs_attention"
_STATUSES = {"succeeded": COMPLETED, "failed": NEEDS_ATTENTION, "cancelled": "cancelled", "skipped": "skipped"}
_FAULTY_EVIDENCE = {"missing", "failed", "invalid"}
_FAULTY_TRACE = {"failed", "invalid"}


def overlaid(event: Object, key: str) -> Any:
    """A field of the event, or of its result where that has one."""
    value = mapping(event.get("case_result")).get(key)
    return event.get(key) if value is None else value


def stems_from_elsewhere(event: Object) -> bool:
    """The result is no execution's: it was skipped, or comes from generating or reusing the Case."""
    result = mapping(event.get("case_result"))
    artifacts_phase = mapping(result.get("artifacts")).get("phase")
    return (
        "skipped" in (overlaid(event, "status"), result.get("execution_status"))
        or overlaid(event, "phase") == "generate"
        or artifacts_phase in ("case_generation", "case_reuse")
    )


def provider_mode(result: Object) -> Any:
    return mapping(result.get("benchmark")).get("provider_mode")


def execution_status(result: Object, status: Any, error: Any) -> str:
    if stated := text(result.get("execution_status")):
        return stated
    if mapping(result.get("benchmark")).get("report") is not None and not error:
        return COMPLETED
    # Neither a report nor a known status: that it completed would be a guess.
    return _STATUSES.get(status, NEEDS_ATTENTION) if isinstance(status, str) else NEEDS_ATTENTION


def ended(attempt: AttemptRecord, event: Object) -> AttemptRecord:
    """The attempt with everything that the event which ends it says."""
    result = mapping(event.get("case_result"))
    error = overlaid(event, "error")
    report = mapping(result.get("benchmark")).get("report")
    saved, digest = _saved(result) if isinstance(event.get("case_result"), dict) else (None, None)
    return AttemptRecord(
        attempt.attempt_id,
        attempt.attempt_number,
        execution_status(result, overlaid(event, "status"), error),
        judge_status=_judge_status(result),
        report=None if report is None else storable(canonical(report)),
        has_report=bool(_report(result)),
        result=saved,
        result_sha256=digest,
        host_acceptance=_host_acceptance(result),
        evidence_status=_first_text(result, "evidence_status") or UNKNOWN,
        host_trace_validation=_first_text(result, "host_trace_validation") or UNKNOWN,
        error=None if error is None else storable(canonical(error)),
        refusal=_refusal(result, error),
        started_at=attempt.started_at,
        finished_at=instant(event.get("timestamp")),
    )


def _saved(result: Object) -> tuple[str, str | None]:
    """The canonical text and its digest, which a lone surrogate takes from it."""
    saved = canonical(result)
    try:
        return saved, digest_text(saved)
    except UnicodeEncodeError:
        return storable(saved), None


def _layers(result: Object) -> tuple[Object, Object, Object]:
    return result, mapping(result.get("benchmark")), mapping(result.get("artifacts"))


def _report(result: Object) -> Object:
    return mapping(mapping(result.get("benchmark")).get("report"))


def _received(result: Object) -> Object:
    return mapping(mapping(result.get("artifacts")).get("received_report"))


def _first_text(result: Object, key: str) -> str | None:
    return next((value for layer in _layers(result) if (value := text(layer.get(key)))), None)


def _judge_status(result: Object) -> str | None:
    return (
        text(result.get("judge_status")) or text(_report(result).get("status")) or text(_received(result).get("status"))
    )


def _host_acceptance(result: Object) -> str:
    accepted = _received(result).get("host_accepted")
    received = {True: "accepted", False: "rejected"}[accepted] if isinstance(accepted, bool) else UNKNOWN
    return _first_text(result, "host_acceptance") or received


def _refusal(result: Object, error: Any) -> ReasonCode | None:
    """Judged over every layer: one that is sound does not excuse another."""
    layers = _layers(result)
    if error or any(layer.get("error") for layer in layers):
        return ReasonCode.EXECUTION_ERROR
    if _received(result).get("host_accepted") is False or _has(layers, "host_acceptance", {"rejected"}):
        return ReasonCode.EVIDENCE_REJECTED
    if _has(layers, "evidence_status", _FAULTY_EVIDENCE) or _has(layers, "host_trace_validation", _FAULTY_TRACE):
        return ReasonCode.EVIDENCE_INVALID
    # What is not even an object could hide any of these.
    shapeless = any(result.get(key) and not isinstance(result[key], dict) for key in ("benchmark", "artifacts"))
    return ReasonCode.EVIDENCE_INVALID if shapeless else None


def _has(layers: tuple[Object, ...], key: str, faulty: set[str]) -> bool:
    return any(isinstance(value := layer.get(key), str) and value in faulty for layer in layers)
