import os
from pathlib import Path
from typing import Any

import pytest

from interchange.legacy import read_log
from interchange.reading import Fault
from models.base import EvaluationSourceStatus, Provenance, ReasonCode, SuiteState
from tests.interchange.building import prepared, result, write

START: dict[str, Any] = {
    "event": "run_started",
    "suite_id": "older",
    "selected_agent_ids": ["alpha", "beta"],
    "selected_case_counts": {"alpha": 2, "beta": 1},
}


def refusal(path: Path) -> Fault:
    with pytest.raises(Fault) as caught:
        read_log(path)
    assert str(path.parent) not in caught.value.message
    return caught.value


def test_a_log_keeps_its_counts_by_the_same_reduction(tmp_path: Path) -> None:
    summed = [{"case_index": 0, **result()}, {"case_index": 1, "status": "failed", "error": {"type": "TimeoutError"}}]
    log = [START, prepared(), {"event": "agent_completed", "agent_id": "alpha", "item": {"case_results": summed}}]

    suite = read_log(write(tmp_path / "log.json", log))

    assert (suite.suite_id, suite.provenance, suite.state) == ("older", Provenance.LEGACY, SuiteState.RUNNING)
    assert (suite.directory, suite.provenance_sha256, suite.sidecar) == (None, None, [])
    assert suite.source.status is EvaluationSourceStatus.PARTIAL
    assert [(a.agent_id, a.case_count, a.completed_case_count, a.source_sha256) for a in suite.agents] == [
        ("alpha", 2, 1, None),
        ("beta", 1, 0, None),
    ]
    assert suite.slots[0].artifact_fault is ReasonCode.FILE_UNAVAILABLE


def test_what_comes_before_the_start_is_no_part_of_it(tmp_path: Path) -> None:
    early = {"event": "case_generation_failed", "agent_id": "alpha", "case_index": 0}

    suite = read_log(write(tmp_path / "log.json", [early, START]))

    assert {slot.execution_status for slot in suite.slots} == {"pending_generation"}


def test_the_same_log_is_the_same_suite(tmp_path: Path) -> None:
    first = read_log(write(tmp_path / "log.json", [START]))

    assert read_log(write(tmp_path / "copy.json", [START])).content_sha256 == first.content_sha256


@pytest.mark.parametrize(
    ("log", "code"),
    [
        ("{", ReasonCode.INVALID_JSON),
        ("{}", ReasonCode.INVALID_JSON),
        ("[1]", ReasonCode.INVALID_FIELD),
        ([], ReasonCode.INVALID_FIELD),
        ([START, 1], ReasonCode.INVALID_FIELD),
        ([{**START, "suite_id": "a b"}], ReasonCode.INVALID_FIELD),
        ([{**START, "selected_agent_ids": "alpha"}], ReasonCode.INVALID_FIELD),
        ([{**START, "selected_agent_ids": ["alpha", "alpha"]}], ReasonCode.INVALID_FIELD),
        ([{**START, "selected_agent_ids": ["gamma"]}], ReasonCode.INVALID_FIELD),
        ([{**START, "selected_agent_ids": [["alpha"]]}], ReasonCode.INVALID_FIELD),
        ([{**START, "selected_case_counts": {"alpha": True, "beta": 1}}], ReasonCode.INVALID_FIELD),
        ([{**START, "selected_case_counts": None}], ReasonCode.INVALID_FIELD),
    ],
)
def test_a_log_that_names_no_sound_suite_is_refused(log: Any, code: ReasonCode, tmp_path: Path) -> None:
    assert refusal(write(tmp_path / "log.json", log)).code is code


def test_a_missing_log_and_a_pipe_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    assert refusal(tmp_path / "missing.json").code is ReasonCode.FILE_UNAVAILABLE
    assert refusal(tmp_path / "pipe").code is ReasonCode.NOT_A_REGULAR_FILE
