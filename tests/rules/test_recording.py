"""What recordAssessment refuses, by every reason there is, and that nothing is written then."""

from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from interchange.imports import adopt
from interchange.legacy import read_log
from interchange.records import TreeRecord
from tests.interchange.building import numbered, one_attempt, sha256, write, write_suite
from tests.rules.house import House
from tests.rules.tree import decision, without, write_ground

UNKNOWN = sha256(b"unknown")
BLANK = " \t"


@pytest_asyncio.fixture(scope="module")
async def ground(shared: House, shared_root: Path) -> House:
    """A house that holds the tree and is not written to: every test here is refused."""
    write_ground(shared_root)
    write_suite(shared_root, directory="results/gone", suite_id="gone")
    write_suite(shared_root, directory="results/twice", suite_id="twice")
    await shared.take(shared_root)
    for path in ("gone/plan.json", "gone/events.json"):
        (shared_root / "results" / path).unlink()
    write_suite(shared_root, directory="results/again", suite_id="twice")
    await shared.take(shared_root)
    await shared.act("recordAssessment", {"assessment": decision("retried")})
    return shared


FORM: dict[str, tuple[dict[str, Any], str, str]] = {
    "a blank Suite": (decision(suiteId=BLANK), "INVALID_FIELD", "suiteId"),
    "a NUL in the agent": (decision(agentId="al\0pha"), "INVALID_FIELD", "agentId"),
    "no Attempt": (decision(attemptId=""), "INVALID_FIELD", "attemptId"),
    "no defect": (decision(defectId=""), "INVALID_FIELD", "defectId"),
    "an index below 0": (decision(caseIndex=-1), "INVALID_FIELD", "caseIndex"),
    "no decision about the Case": (without(decision(), "caseReproduced"), "INVALID_FIELD", "caseReproduced"),
    "no decision of the Judge": (without(decision(), "judgeDetected"), "INVALID_FIELD", "judgeDetected"),
    "detected, not reproduced": (
        decision(caseReproduced=False, judgeDetected=True),
        "INVALID_DECISION",
        "judgeDetected",
    ),
    "detected, not decided": (decision(caseReproduced=None, judgeDetected=True), "INVALID_DECISION", "judgeDetected"),
    "a blank reviewer": (decision(reviewedBy=BLANK), "INVALID_FIELD", "reviewedBy"),
    "no rationale": (decision(rationale=""), "INVALID_FIELD", "rationale"),
    "NUL in the rationale": (decision(rationale="a\0b"), "INVALID_FIELD", "rationale"),
    "a fault beside a record that stands": (
        without(decision("retried", judgeDetected=None), "judgeDetected"),
        "INVALID_FIELD",
        "judgeDetected",
    ),
}

GROUND: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown Suite": (decision(suiteId="nowhere"), "UNKNOWN_SUITE"),
    "a Suite that is gone": (decision(suiteId="gone", caseIndex=0), "UNAVAILABLE_SUITE"),
    "a Suite in two directories": (decision(suiteId="twice", caseIndex=0), "AMBIGUOUS_SUITE"),
    "an unknown defect": (decision(defectId="defect-9"), "UNKNOWN_DEFECT"),
    "a defect of no registered agent": (decision(agentId="beta"), "UNKNOWN_DEFECT"),
    "another revision": (decision(groundTruthSha256=UNKNOWN), "STALE_REVISION"),
    "a Suite without the agent": (decision(suiteId="others"), "UNKNOWN_AGENT"),
    "another source": (decision(suiteId="older"), "SOURCE_MISMATCH"),
    "no such slot": (decision(caseIndex=99), "UNKNOWN_CASE_SLOT"),
    "another Case": (decision(caseSha256=UNKNOWN), "CASE_DIGEST_MISMATCH"),
    "no Case was prepared": (decision("unprepared"), "CASE_DIGEST_MISMATCH"),
    "an artifact outside": (decision("outside"), "PATH_ESCAPE"),
    "an artifact that is gone": (decision("missing"), "FILE_UNAVAILABLE"),
    "an artifact beyond the limit": (decision("large"), "FILE_TOO_LARGE"),
    "an artifact that is a pipe": (decision("pipe"), "NOT_A_REGULAR_FILE"),
    "an artifact that was changed": (decision("changed"), "CASE_ARTIFACT_MISMATCH"),
    "an unknown Attempt": (decision(attemptId="try-9"), "UNKNOWN_ATTEMPT"),
    "another result": (decision(resultSha256=UNKNOWN), "RESULT_DIGEST_MISMATCH"),
    "no result": (decision("running"), "RESULT_DIGEST_MISMATCH"),
    "an error": (decision("error"), "EXECUTION_ERROR"),
    "rejected evidence": (decision("rejected"), "EVIDENCE_REJECTED"),
    "unsound evidence": (decision("unsound"), "EVIDENCE_INVALID"),
    "an execution that did not complete": (decision("incomplete"), "EXECUTION_INCOMPLETE"),
    "no report": (decision("unreported"), "REPORT_MISSING"),
}

# The second fault would have a code of its own; the first in the order of checks is told.
BEFORE: dict[str, tuple[dict[str, Any], str]] = {
    "the defect before the revision": (decision(defectId="defect-9", groundTruthSha256=UNKNOWN), "UNKNOWN_DEFECT"),
    "the revision before the decisions": (
        without(decision(groundTruthSha256=UNKNOWN), "judgeDetected"),
        "STALE_REVISION",
    ),
    "the source before the slot": (decision(suiteId="older", caseIndex=99), "SOURCE_MISMATCH"),
    "the Case before the Attempt": (decision(caseSha256=UNKNOWN, attemptId="try-9"), "CASE_DIGEST_MISMATCH"),
    "the Attempt before the result": (decision(attemptId="try-9", resultSha256=UNKNOWN), "UNKNOWN_ATTEMPT"),
    "the result before the error": (decision("error", resultSha256=UNKNOWN), "RESULT_DIGEST_MISMATCH"),
}


@pytest.mark.parametrize("name", FORM)
async def test_a_decision_without_form_is_invalid_and_changes_nothing(ground: House, name: str) -> None:
    given, code, field = FORM[name]
    before = await ground.image()

    answer = await ground.act("recordAssessment", {"assessment": given})

    assert answer["__typename"] == "InvalidInput"
    assert (answer["fault"], answer["path"]) == (code, ["assessment", field])
    assert await ground.image() == before


@pytest.mark.parametrize("name", [*GROUND, *BEFORE])
async def test_a_decision_without_ground_is_refused_and_changes_nothing(ground: House, name: str) -> None:
    given, code = (GROUND | BEFORE)[name]
    before = await ground.image()

    answer = await ground.act("recordAssessment", {"assessment": given})

    assert (answer["__typename"], answer["code"]) == ("Refused", code)
    assert await ground.image() == before


async def test_a_bulk_tells_each_record_its_own_reason_and_changes_nothing(ground: House) -> None:
    cases = [(case[0], case[1]) for case in (FORM | GROUND | BEFORE).values()]
    # That somebody tried is kept.
    before = await ground.image(besides="actions")

    answer = await ground.act("recordAssessments", {"assessments": [given for given, _ in cases]})

    assert [outcome["code"] for outcome in answer["outcomes"]] == [code for _, code in cases]
    assert (answer["created"], answer["unchanged"], answer["refused"]) == (0, 0, len(cases))
    assert await ground.image(besides="actions") == before


async def test_more_than_a_thousand_records_are_refused_at_once(ground: House) -> None:
    before = await ground.image()

    answer = await ground.act("recordAssessments", {"assessments": [decision()] * 1_001})

    assert (answer["__typename"], answer["path"]) == ("InvalidInput", ["assessments"])
    assert await ground.image() == before


async def test_a_legacy_log_can_carry_no_decision(home: House, root: Path) -> None:
    write_ground(root)
    await home.take(root)
    start = {"event": "run_started", "selected_agent_ids": ["alpha"], "selected_case_counts": {"alpha": 1}}
    log = write(root / "log.json", numbered([start, *one_attempt()[1:]], "legacy"))
    async with home.connection() as connection:
        await adopt(connection, TreeRecord(True, [], [read_log(log)], [], [], []), actor="ann")
    before = await home.image()

    answer = await home.act("recordAssessment", {"assessment": decision(suiteId="legacy")})

    assert (answer["__typename"], answer["code"]) == ("Refused", "NO_PROVENANCE")
    assert await home.image() == before
