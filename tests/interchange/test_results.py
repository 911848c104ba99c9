"""What a saved result says, and what it bars."""

import json
from typing import Any

import pytest

from interchange.digests import digest_json
from interchange.documents import load_json
from interchange.records import AttemptRecord
from interchange.reduction import Reduction
from models.base import ReasonCode
from tests.interchange.building import ATTEMPT, Object, result


def attempt_after(*events: Object) -> AttemptRecord:
    reduction = Reduction({"alpha": 1})
    for event in events:
        reduction.take(event)
    ((attempt,),) = (slot.attempts for slot in reduction.slots())
    return attempt


def completed(saved: Any) -> Object:
    return {"event": "case_completed", **ATTEMPT, "case_result": saved}


@pytest.mark.parametrize(
    ("saved", "status"),
    [
        ({"execution_status": "blocked", "status": "succeeded"}, "blocked"),
        ({"status": "failed", "benchmark": {"report": {"status": "issue"}}}, "completed"),
        ({"status": "failed", "benchmark": {"report": {}}}, "completed"),
        ({"status": "failed", "benchmark": {"report": {"status": "issue"}}, "error": "late"}, "needs_attention"),
        ({"status": "succeeded"}, "completed"),
        ({"status": "failed"}, "needs_attention"),
        ({"status": "cancelled"}, "cancelled"),
        ({"status": "unheard of"}, "needs_attention"),
        ({}, "needs_attention"),
    ],
)
def test_the_execution_status_comes_from_the_first_that_says_it(saved: Object, status: str) -> None:
    assert attempt_after({"event": "case_started", **ATTEMPT}, completed(saved)).execution_status == status


def test_what_a_result_says_goes_before_the_event_and_its_nulls_do_not() -> None:
    event = {"event": "case_completed", **ATTEMPT, "attempt_id": "event's", "status": "succeeded", "error": "event's"}
    saved = {"attempt_id": "result's", "status": "failed", "error": None}

    attempt = attempt_after({**event, "case_result": saved})

    assert (attempt.attempt_id, attempt.execution_status, attempt.error) == (
        "result's",
        "needs_attention",
        '"event\'s"',
    )


@pytest.mark.parametrize(
    ("saved", "status"),
    [
        ({"judge_status": "pass", "benchmark": {"report": {"status": "issue"}}}, "pass"),
        ({"benchmark": {"report": {"status": "issue"}}, "artifacts": {"received_report": {"status": "pass"}}}, "issue"),
        ({"artifacts": {"received_report": {"status": "pass"}}}, "pass"),
        ({}, None),
    ],
)
def test_the_judge_status_comes_from_the_first_that_says_it(saved: Object, status: str | None) -> None:
    assert attempt_after(completed(saved)).judge_status == status


@pytest.mark.parametrize("key", ["host_acceptance", "evidence_status", "host_trace_validation"])
@pytest.mark.parametrize(
    ("layers", "found"),
    [
        (("own", "benchmark", "artifacts"), "own"),
        (("benchmark", "artifacts"), "benchmark"),
        (("artifacts",), "artifacts"),
    ],
)
def test_evidence_is_described_by_the_first_layer_that_does(key: str, layers: tuple[str, ...], found: str) -> None:
    saved = {layer: {key: layer} for layer in layers if layer != "own"} | ({key: "own"} if "own" in layers else {})

    assert getattr(attempt_after(completed(saved)), key) == found


@pytest.mark.parametrize(
    ("accepted", "found"), [(True, "accepted"), (False, "rejected"), (None, "unknown"), (1, "unknown")]
)
def test_a_received_report_is_the_last_to_tell_of_acceptance(accepted: Any, found: str) -> None:
    attempt = attempt_after(completed({"artifacts": {"received_report": {"host_accepted": accepted}}}))

    assert attempt.host_acceptance == found
    assert (attempt.evidence_status, attempt.host_trace_validation) == ("unknown", "unknown")


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({}, None),
        ({"error": {"type": "E"}, "host_acceptance": "rejected"}, ReasonCode.EXECUTION_ERROR),
        ({"benchmark": {"error": "E"}}, ReasonCode.EXECUTION_ERROR),
        ({"artifacts": {"error": "E"}}, ReasonCode.EXECUTION_ERROR),
        ({"error": "", "benchmark": {"error": {}}}, None),
        ({"host_acceptance": "rejected", "evidence_status": "missing"}, ReasonCode.EVIDENCE_REJECTED),
        (
            {"host_acceptance": "accepted", "artifacts": {"host_acceptance": "rejected"}},
            ReasonCode.EVIDENCE_REJECTED,
        ),
        ({"artifacts": {"received_report": {"host_accepted": False}}}, ReasonCode.EVIDENCE_REJECTED),
        *(({"evidence_status": status}, ReasonCode.EVIDENCE_INVALID) for status in ("missing", "failed", "invalid")),
        *(({"host_trace_validation": s}, ReasonCode.EVIDENCE_INVALID) for s in ("failed", "invalid")),
        ({"host_trace_validation": "missing"}, None),
        ({"artifacts": {"evidence_status": "invalid"}}, ReasonCode.EVIDENCE_INVALID),
        ({"artifacts": ["evidence_status"]}, ReasonCode.EVIDENCE_INVALID),
    ],
)
def test_the_first_thing_that_bars_decisions_is_told(changes: Object, refusal: ReasonCode | None) -> None:
    assert attempt_after(completed(result(**changes))).refusal == refusal


@pytest.mark.parametrize(
    ("report", "has_report"), [({"status": "issue"}, True), ({}, False), (None, False), ("text", False), ([1], False)]
)
def test_only_a_nonempty_object_is_a_saved_report(report: Any, has_report: bool) -> None:
    attempt = attempt_after(completed({"benchmark": {"report": report}}))

    assert attempt.has_report is has_report
    assert json.loads(attempt.report or "null") == report


def test_a_result_is_kept_whole_with_its_digest() -> None:
    saved = load_json(b'{"n": 1.10, "big": 12345678901234567890123, "small": 1e-7, "text": "a\\u0000\xc3\xa9"}')

    attempt = attempt_after(completed(saved))

    assert attempt.result == '{"big":12345678901234567890123,"n":1.1,"small":1e-07,"text":"a\\u0000é"}'
    assert attempt.result_sha256 == digest_json(saved)


def test_a_result_with_a_lone_surrogate_has_no_digest() -> None:
    attempt = attempt_after(completed({"text": "\ud800"}))

    assert attempt.result == r'{"text":"\ud800"}'
    assert attempt.result_sha256 is None


@pytest.mark.parametrize("saved", [None, [], "text", 7])
def test_what_is_no_object_is_no_result(saved: Any) -> None:
    attempt = attempt_after({**completed(saved), "status": "succeeded"})

    assert (attempt.result, attempt.result_sha256, attempt.execution_status) == (None, None, "completed")
