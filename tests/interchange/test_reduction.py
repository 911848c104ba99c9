"""Events reduced to slots and attempts, rule by rule."""

from typing import Any

import pytest

from interchange.records import AttemptRecord, SlotRecord
from interchange.reduction import Reduction
from models.base import SuiteState
from tests.interchange.building import ATTEMPT, CASE, Object, prepared, result

SECOND = {**ATTEMPT, "attempt_id": "try-2", "attempt_number": 2}
SLOT = {"agent_id": "alpha", "case_index": 0}


def reduced(*events: Object, cases: int = 2) -> Reduction:
    reduction = Reduction({"alpha": cases})
    for event in events:
        reduction.take(event)
    return reduction


def slot_after(*events: Object) -> SlotRecord:
    return next(reduced(*events).slots())


def attempt_after(*events: Object) -> AttemptRecord:
    (attempt,) = slot_after(*events).attempts
    return attempt


def at(kind: str, where: Object = ATTEMPT, **fields: Any) -> Object:
    return {"event": kind, **where, **fields}


def completed(saved: Any = None, where: Object = ATTEMPT, **fields: Any) -> Object:
    return at("case_completed", where, case_result=result() if saved is None else saved, **fields)


def test_every_planned_slot_is_there_from_the_start() -> None:
    slots = list(reduced(cases=3).slots())

    assert [(slot.case_index, slot.execution_status) for slot in slots] == [
        (index, "pending_generation") for index in range(3)
    ]


@pytest.mark.parametrize(
    ("kinds", "state"),
    [
        ([], SuiteState.PLANNED),
        (["run_started"], SuiteState.RUNNING),
        (["suite_started"], SuiteState.RUNNING),
        (["suite_completed"], SuiteState.COMPLETE),
        (["suite_failed"], SuiteState.INTERRUPTED),
        (["suite_interrupted"], SuiteState.INTERRUPTED),
        (["suite_interrupted", "suite_resumed"], SuiteState.RUNNING),
        (["suite_failed", "suite_resume_started"], SuiteState.RUNNING),
        (["suite_completed", "judge_queued"], SuiteState.COMPLETE),
        (["suite_completed", "case_completed"], SuiteState.COMPLETE),
        *(
            (["suite_completed", kind], SuiteState.RUNNING)
            for kind in (
                *("attempt_dispatched", "case_started", "case_attempt_started"),
                *("retry_scheduled", "case_retry_scheduled", "case_reconciling", "case_recovery_started"),
            )
        ),
    ],
)
def test_the_state_follows_the_last_event_that_decides_it(kinds: list[str], state: SuiteState) -> None:
    assert reduced(*(at(kind) for kind in kinds)).state is state


def test_an_attempt_of_an_unknown_slot_reopens_nothing() -> None:
    assert reduced({"event": "suite_completed"}, at("case_started", case_index=2)).state is SuiteState.COMPLETE


def test_a_prepared_case_has_its_artifact_and_is_ready() -> None:
    slot = slot_after(prepared())

    assert (slot.case_id, slot.artifact_path, slot.artifact_sha256) == ("case-0", "cases/0/case.json", CASE)
    assert slot.execution_status == "ready"


def test_a_case_prepared_again_under_an_attempt_changes_the_artifact_alone() -> None:
    slot = slot_after(at("case_started"), prepared(body=b"other"))

    assert slot.execution_status == "running"
    assert slot.artifact_sha256 != CASE


@pytest.mark.parametrize("kind", ["case_generation_failed", "case_preparation_failed"])
def test_a_case_that_was_not_made_needs_attention(kind: str) -> None:
    slot = slot_after(at(kind, SLOT))

    assert (slot.execution_status, slot.attempts) == ("needs_attention", [])


def test_a_cancelled_retry_cancels_the_slot_and_leaves_its_attempt() -> None:
    slot = slot_after(at("case_started"), completed(), at("case_retry_cancelled", SLOT))

    assert slot.execution_status == "cancelled"
    assert slot.attempts[0].execution_status == "completed"


def test_a_reused_case_notes_where_it_comes_from() -> None:
    origin = {"suite_id": "older", "agent_id": "alpha", "case_index": 4, "note": "left out"}

    assert slot_after(at("case_reused", SLOT, origin=origin)).origin == (
        '{"agent_id":"alpha","case_index":4,"suite_id":"older"}'
    )


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("attempt_dispatched", "dispatched"),
        ("case_started", "running"),
        ("case_attempt_started", "running"),
        ("judge_queued", "waiting_judge"),
        ("retry_scheduled", "retry_wait"),
        ("case_retry_scheduled", "retry_wait"),
        ("case_reconciling", "reconciling"),
        ("case_recovery_started", "reconciling"),
    ],
)
def test_an_event_moves_the_attempt_and_its_slot(kind: str, status: str) -> None:
    slot = slot_after(at("case_started"), at(kind))

    assert (slot.execution_status, slot.attempts[0].execution_status) == (status, status)


def test_from_the_second_attempt_on_a_start_is_a_retry() -> None:
    slot = slot_after(at("case_started"), at("case_started", SECOND))

    assert [attempt.execution_status for attempt in slot.attempts] == ["running", "retrying"]


def test_a_running_retry_takes_completion_back() -> None:
    assert slot_after(at("case_started"), completed()).execution_status == "completed"
    assert slot_after(at("case_started"), completed(), at("case_started", SECOND)).execution_status == "retrying"


def test_a_late_event_of_an_older_attempt_changes_that_attempt_alone() -> None:
    slot = slot_after(at("case_started"), at("case_started", SECOND), completed())

    assert slot.execution_status == "retrying"
    assert [attempt.execution_status for attempt in slot.attempts] == ["completed", "retrying"]


def test_attempts_are_ordered_by_number_whenever_they_come() -> None:
    slot = slot_after(at("case_started", SECOND), at("case_started"))

    assert [attempt.attempt_id for attempt in slot.attempts] == ["try-1", "try-2"]
    assert slot.execution_status == "retrying"


@pytest.mark.parametrize("number", [None, 2**31, "3", True, 0, -1, 1.0])
def test_a_number_that_is_none_is_the_next(number: Any) -> None:
    slot = slot_after(
        at("case_started", attempt_number=5), at("case_started", attempt_id="other", attempt_number=number)
    )

    assert [(attempt.attempt_id, attempt.attempt_number) for attempt in slot.attempts] == [("try-1", 5), ("other", 6)]


def test_the_greatest_number_is_followed_by_itself() -> None:
    slot = slot_after(at("case_started", attempt_number=2**31 - 1), at("case_started", SLOT, attempt_id="other"))

    assert [attempt.attempt_number for attempt in slot.attempts] == [2**31 - 1, 2**31 - 1]
    assert slot.attempts[-1].attempt_id == "other"


def test_an_attempt_without_an_id_goes_by_its_job() -> None:
    assert attempt_after(at("case_started", SLOT, job_id="job-1")).attempt_id == "job-1"


def test_an_event_that_names_no_attempt_means_the_active_one() -> None:
    slot = slot_after(at("case_started"), at("case_started", SECOND), completed(where=SLOT))

    assert [attempt.execution_status for attempt in slot.attempts] == ["running", "completed"]


def test_without_any_name_there_is_no_attempt_but_a_status() -> None:
    started = slot_after(at("case_started", SLOT))
    ended = slot_after(at("case_started", SLOT), completed(where=SLOT))

    assert (started.execution_status, started.attempts) == ("running", [])
    assert (ended.execution_status, ended.attempts) == ("completed", [])


def test_completion_opens_an_attempt_that_nobody_started() -> None:
    attempt = attempt_after(completed(timestamp="2026-10-03T08:00:01+00:00"))

    assert attempt.execution_status == "completed"
    assert attempt.started_at is None
    assert attempt.finished_at is not None


def test_a_failed_attempt_opens_one_too() -> None:
    failed = {"status": "failed", "error": {"type": "TimeoutError"}}

    attempt = attempt_after(at("case_attempt_failed", case_result=failed))

    assert attempt.execution_status == "needs_attention"
    assert attempt.error == '{"type":"TimeoutError"}'


@pytest.mark.parametrize(
    "saved",
    [
        {"status": "skipped"},
        {"status": "failed", "phase": "generate"},
        {"status": "failed", "artifacts": {"phase": "case_generation"}},
        {"status": "failed", "artifacts": {"phase": "case_reuse"}},
    ],
)
def test_a_result_without_an_execution_opens_no_attempt(saved: Object) -> None:
    slot = slot_after(completed(saved))

    assert slot.attempts == []
    assert slot.execution_status == ("skipped" if saved["status"] == "skipped" else "needs_attention")


def test_such_a_result_still_belongs_to_an_attempt_that_is_there() -> None:
    assert attempt_after(at("case_started"), completed({"status": "skipped"})).execution_status == "skipped"


def test_the_sum_of_an_agent_fills_only_gaps() -> None:
    results = [
        {"case_index": 0, "status": "failed", "attempt_id": "late"},
        {"case_index": 1, "status": "succeeded", "attempt_id": "only"},
        {"case_index": 9, "status": "succeeded"},
        "no result",
    ]
    summed = {"event": "agent_completed", "agent_id": "alpha", "item": {"case_results": results}}

    first, second = reduced(completed(), summed).slots()

    assert [attempt.attempt_id for attempt in first.attempts] == ["try-1"]
    assert first.execution_status == "completed"
    assert [(attempt.attempt_id, attempt.execution_status) for attempt in second.attempts] == [("only", "completed")]


def test_a_slot_with_a_result_but_no_attempt_is_no_gap() -> None:
    summed = {"event": "agent_completed", "agent_id": "alpha", "item": {"case_results": [{**SLOT, "status": "failed"}]}}

    assert slot_after(completed({"status": "skipped"}, SLOT), summed).execution_status == "skipped"


@pytest.mark.parametrize(
    "event",
    [
        completed(where={**ATTEMPT, "agent_id": "nobody"}),
        completed(where={**ATTEMPT, "agent_id": ["alpha"]}),
        *(completed(where={**ATTEMPT, "case_index": index}) for index in (-1, 2, True, "0", None, 0.0)),
        {"event": ["case_completed"], **ATTEMPT},
        {"event": "unheard_of", **ATTEMPT},
        {},
    ],
)
def test_what_concerns_no_planned_slot_is_ignored(event: Object) -> None:
    assert list(reduced(event).slots()) == list(reduced().slots())


@pytest.mark.parametrize("value", ["a\0", "\ud800", "", 7, ["x"]])
def test_text_that_cannot_be_kept_is_as_if_it_were_absent(value: Any) -> None:
    unnamed = at("case_started", attempt_id=value, job_id="job-1")
    artifact = {"artifact_path": value, "artifact_sha256": value, "case_id": value}

    slot = slot_after({"event": "case_prepared", **SLOT, "prepared_case": artifact}, unnamed)

    assert [attempt.attempt_id for attempt in slot.attempts] == ["job-1"]
    assert (slot.artifact_path, slot.artifact_sha256, slot.case_id) == (None, None, None)
