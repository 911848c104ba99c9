import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from interchange.digests import digest_json
from interchange.reader import read_tree
from interchange.reading import MIB
from interchange.records import SidecarRecord
from interchange.sidecars import claim_of, form_fault
from models.base import ReasonCode
from tests.interchange.building import (
    CASE,
    SIDECAR,
    assessment,
    notices,
    only_suite,
    sidecar_of,
    write,
    write_suite,
)


def read(root: Path, sidecar: Any) -> list[SidecarRecord]:
    write_suite(root)
    write(root / SIDECAR, sidecar)
    return only_suite(root).sidecar


def told(root: Path) -> list[tuple[ReasonCode, str | None, int | None]]:
    return [(notice.code, notice.suite_id, notice.assessment_index) for notice in notices(root)]


def test_a_suite_without_a_sidecar_has_no_records_and_no_warning(tmp_path: Path) -> None:
    write_suite(tmp_path)

    assert (only_suite(tmp_path).sidecar, told(tmp_path)) == ([], [])


def test_a_sound_record_is_kept_with_its_digest(tmp_path: Path) -> None:
    record = assessment(weight=1.0)

    (claim,) = read(tmp_path, sidecar_of(record))

    assert (claim.agent_id, claim.case_index, claim.attempt_id, claim.defect_id) == ("alpha", 0, "try-1", "defect-0")
    assert (claim.case_reproduced, claim.judge_detected) == (True, True)
    assert claim.digest == digest_json(record)
    assert json.loads(claim.record) == record
    assert (claim.fault_step, claim.fault_code) == (None, None)


@pytest.mark.parametrize(
    ("sidecar", "code"),
    [
        ("{", ReasonCode.INVALID_JSON),
        ("[]", ReasonCode.INVALID_JSON),
        ('{"schema": 1, "schema": 2}', ReasonCode.INVALID_JSON),
        (sidecar_of(schema="abb.ground_truth.assessments.v9", suite_id="other"), ReasonCode.UNSUPPORTED_SCHEMA),
        (sidecar_of("no object", suite_id="other"), ReasonCode.SUITE_IDENTITY_MISMATCH),
        (sidecar_of("no object"), ReasonCode.INVALID_FIELD),
        (sidecar_of(assessments=None), ReasonCode.INVALID_FIELD),
        (sidecar_of(*[{}] * 10_001), ReasonCode.INVALID_FIELD),
        (" " * (3 * MIB), ReasonCode.FILE_TOO_LARGE),
    ],
)
def test_an_unsound_sidecar_is_left_out_and_its_suite_stays(sidecar: Any, code: ReasonCode, tmp_path: Path) -> None:
    assert read(tmp_path, sidecar) == []
    assert told(tmp_path) == [(code, "first", None)]


def test_a_sidecar_that_is_a_pipe_blocks_nobody(tmp_path: Path) -> None:
    write_suite(tmp_path)
    (tmp_path / SIDECAR).parent.mkdir()
    os.mkfifo(tmp_path / SIDECAR)

    assert told(tmp_path) == [(ReasonCode.NOT_A_REGULAR_FILE, "first", None)]


@pytest.mark.parametrize("linked", ["ground_truth", "ground_truth/assessments.json"])
def test_a_sidecar_outside_the_suite_is_not_read(linked: str, tmp_path: Path) -> None:
    directory = write_suite(tmp_path)
    outside = tmp_path / "outside"
    write(outside / "assessments.json", sidecar_of(assessment()))
    (directory / linked).parent.mkdir(exist_ok=True)
    (directory / linked).symlink_to(outside if linked == "ground_truth" else outside / "assessments.json")

    assert only_suite(tmp_path).sidecar == []
    assert told(tmp_path) == [(ReasonCode.PATH_ESCAPE, "first", None)]


@pytest.mark.parametrize(
    "changes",
    [
        *({"case_index": index} for index in (True, -1, 2**31, 0.0, "0", None)),
        *({key: value} for key in ("agent_id", "attempt_id") for value in ("", " ", None, 1, "a\0", "i" * 501)),
        *({"ground_truth_id": value} for value in ("", None, "\ud800")),
        {"unknown": "\ud800"},
    ],
    ids=repr,
)
def test_a_record_without_a_sound_identity_is_a_warning_alone(changes: Any, tmp_path: Path) -> None:
    sidecar = json.dumps(sidecar_of(assessment(attempt_id="other"), assessment(**changes)))

    assert [claim.attempt_id for claim in read(tmp_path, sidecar)] == ["other"]
    assert told(tmp_path) == [(ReasonCode.INVALID_FIELD, "first", 1)]


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in assessment().items() if name != key}


UNFIT: dict[str, Sequence[Any]] = {
    "ground_truth_sha256": (None, CASE.upper(), "a"),
    "case_reproduced": ("true", 1, 0, []),
    "reviewed_by": ("", None, "a\0"),
    "reviewed_at": ("2026-10-04", "2026-10-04T09:30:00", 7),
    "rationale": ("  ", None, 7),
    "case_sha256": (None, CASE.upper()),
    "result_sha256": (None, CASE.upper()),
}
STEPS = {"ground_truth_sha256": 4, "case_reproduced": 6, "case_sha256": 11, "result_sha256": 15}


@pytest.mark.parametrize(("key", "value"), [(key, value) for key in UNFIT for value in UNFIT[key]])
def test_a_fault_of_form_is_told_with_its_place(key: str, value: Any) -> None:
    code = ReasonCode.RESULT_DIGEST_MISMATCH if key == "result_sha256" else ReasonCode.INVALID_FIELD

    assert form_fault(assessment(**{key: value})) == (STEPS.get(key, 8), code)


@pytest.mark.parametrize(
    ("record", "step", "code"),
    [
        (without("case_reproduced"), 6, ReasonCode.INVALID_FIELD),
        (without("judge_detected"), 6, ReasonCode.INVALID_FIELD),
        (assessment(case_reproduced=False), 7, ReasonCode.INVALID_DECISION),
        (assessment(case_reproduced=None), 7, ReasonCode.INVALID_DECISION),
        (assessment(rationale="", case_sha256="", result_sha256=""), 8, ReasonCode.INVALID_FIELD),
        (assessment(case_reproduced=None, judge_detected=None), None, None),
        (assessment(judge_detected=False, case_reproduced=False), None, None),
    ],
)
def test_the_first_fault_of_form_is_told_with_its_place(
    record: dict[str, Any], step: int | None, code: ReasonCode | None
) -> None:
    assert form_fault(record) == (None if step is None else (step, code))


def test_a_faulty_record_keeps_the_fields_that_have_their_form() -> None:
    claim = claim_of(3, assessment(rationale="", case_sha256=CASE.upper(), judge_detected="yes"))

    assert (claim.index, claim.fault_step) == (3, 6)
    assert (claim.rationale, claim.case_sha256, claim.judge_detected) == (None, None, None)
    assert (claim.reviewed_by, claim.case_reproduced) == ("reviewer-2", True)


def test_equal_records_count_once_and_different_ones_all_stay(tmp_path: Path) -> None:
    other = assessment(rationale="A different opinion.")

    claims = read(tmp_path, sidecar_of(assessment(), assessment(), other, assessment(case_index=1)))

    assert [claim.index for claim in claims] == [0, 2, 3]
    assert told(tmp_path) == []


def test_numbers_spelled_differently_are_different_records(tmp_path: Path) -> None:
    claims = read(tmp_path, sidecar_of(assessment(weight=1), assessment(weight=1.0)))

    assert len(claims) == 2


def test_a_sidecar_changes_without_a_new_event(tmp_path: Path) -> None:
    read(tmp_path, sidecar_of())
    before = read_tree(tmp_path).suites[0].content_sha256

    assert len(read(tmp_path, sidecar_of(assessment()))) == 1
    assert read_tree(tmp_path).suites[0].content_sha256 != before
