"""importAssessments and assessmentCheck: each record as recordAssessment would have it, and why others are not."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from sqlalchemy import select

from interchange.digests import digest_json
from interchange.imports import adopt
from interchange.legacy import read_log
from interchange.records import TreeRecord
from interchange.store.sidecars import check_sidecar
from models import Assessment
from models.base import Role, table
from resolvers.access import Viewer
from tests.databases import created
from tests.interchange.building import SIDECAR, Object, assessment, sha256, sidecar_of, write, write_suite
from tests.rules.house import ASSESSMENT, Answer, House, house
from tests.rules.tree import RESULTS, SLOTS, decision, write_ground

UNKNOWN = sha256(b"unknown")
CHECK = f"""
query Check($assessment: AssessmentInput!) {{
  assessmentCheck(assessment: $assessment) {{ ok code message existing {{ {ASSESSMENT} }} conflict {{ {ASSESSMENT} }} }}
}}
"""
CODES = {
    "error": "EXECUTION_ERROR",
    "rejected": "EVIDENCE_REJECTED",
    "unsound": "EVIDENCE_INVALID",
    "incomplete": "EXECUTION_INCOMPLETE",
    "unreported": "REPORT_MISSING",
    "running": "RESULT_DIGEST_MISMATCH",
    "unprepared": "CASE_DIGEST_MISMATCH",
    "changed": "CASE_ARTIFACT_MISMATCH",
    "missing": "FILE_UNAVAILABLE",
    "outside": "PATH_ESCAPE",
    "large": "FILE_TOO_LARGE",
    "pipe": "NOT_A_REGULAR_FILE",
}


def record(slot: str = "sound", **changes: Any) -> Object:
    bound: Object = {"case_index": SLOTS.index(slot), "judge_detected": False}
    if slot in RESULTS:
        bound["result_sha256"] = digest_json(RESULTS[slot])
    return assessment(**{**bound, **changes})


RECORDS: dict[str, tuple[Object, str]] = {
    **{slot: (record(slot), code) for slot, code in CODES.items()},
    "an index that is true": (record(case_index=True), "INVALID_FIELD"),
    "no index": (record(case_index="1"), "INVALID_FIELD"),
    "a blank agent": (record(agent_id=" "), "INVALID_FIELD"),
    "no Attempt": (record(attempt_id=None), "INVALID_FIELD"),
    "an unknown defect": (record(ground_truth_id="defect-9"), "UNKNOWN_DEFECT"),
    "no digest of the defect": (record(ground_truth_sha256="?"), "INVALID_FIELD"),
    "another revision": (record(ground_truth_sha256=UNKNOWN), "STALE_REVISION"),
    "a decision in words": (record(case_reproduced="true"), "INVALID_FIELD"),
    "a decision left out": ({k: v for k, v in record().items() if k != "judge_detected"}, "INVALID_FIELD"),
    "detected, not reproduced": (record(case_reproduced=False, judge_detected=True), "INVALID_DECISION"),
    "nobody": (record(reviewed_by=""), "INVALID_FIELD"),
    "no offset": (record(reviewed_at="2026-10-04"), "INVALID_FIELD"),
    "no rationale": (record(rationale=None), "INVALID_FIELD"),
    "no digest of the Case": (record(case_sha256="?"), "INVALID_FIELD"),
    "another Case": (record(case_sha256=UNKNOWN), "CASE_DIGEST_MISMATCH"),
    "no such slot": (record(case_index=99), "UNKNOWN_CASE_SLOT"),
    "no such Attempt": (record(attempt_id="try-9"), "UNKNOWN_ATTEMPT"),
    "no digest of the result": (record(result_sha256="?"), "RESULT_DIGEST_MISMATCH"),
    "another result": (record(result_sha256=UNKNOWN), "RESULT_DIGEST_MISMATCH"),
    "another agent": (record(agent_id="beta"), "UNKNOWN_DEFECT"),
}
SUITES: dict[str, tuple[Object, str]] = {
    "a log without a plan": (sidecar_of(record(), suite_id="log"), "NO_PROVENANCE"),
    "a Suite that is gone": (sidecar_of(record(), suite_id="gone"), "UNAVAILABLE_SUITE"),
    "a Suite in two directories": (sidecar_of(record(), suite_id="twice"), "AMBIGUOUS_SUITE"),
    "another source": (sidecar_of(record(), suite_id="older"), "SOURCE_MISMATCH"),
    "a Suite without the agent": (sidecar_of(record(), suite_id="others"), "UNKNOWN_AGENT"),
}
DOCUMENTS: dict[str, tuple[Any, str]] = {
    "no JSON": (b"{", "INVALID_JSON"),
    "another schema": (sidecar_of(schema="abb.ground_truth.assessments.v9"), "UNSUPPORTED_SCHEMA"),
    "no Suite": (sidecar_of(suite_id=None), "INVALID_FIELD"),
    "an unknown Suite": (sidecar_of(suite_id="nowhere"), "UNKNOWN_SUITE"),
    "no list": (sidecar_of(assessments={}), "INVALID_FIELD"),
    "too many": (sidecar_of(*[{}] * 10_001), "INVALID_FIELD"),
    "too large": (sidecar_of(note="x" * (2 << 20)), "FILE_TOO_LARGE"),
}


async def imported(home: House, sidecar: Any) -> Answer:
    body = sidecar if isinstance(sidecar, bytes) else json.dumps(sidecar).encode()
    return await home.act("importAssessments", {"fileSha256": await home.send(body)})


async def checked(home: House, sidecar: Object) -> list[Any]:
    async with home.connection() as connection:
        verdicts = await check_sidecar(connection, json.dumps(sidecar).encode())
        await connection.rollback()
    return [(verdict.index, verdict.created, verdict.code) for verdict in verdicts]


async def standing(home: House) -> list[Any]:
    held = table(Assessment)
    return await home.execute(select(held.c.case_index, held.c.rationale, held.c.status).order_by(held.c.id))


@pytest.fixture
async def ground(home: House, root: Path) -> House:
    write_ground(root)
    await home.take(root)
    return home


@pytest_asyncio.fixture(scope="module")
async def refusing(
    postgres: str, migrated_template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[House]:
    """A house that is never written to: every test with it is refused."""
    root = tmp_path_factory.mktemp("tree")
    write_ground(root)
    for name in ("gone", "twice"):
        write_suite(root, directory=f"results/{name}", suite_id=name)
    start = {"event": "run_started", "suite_id": "log"}
    log = write(root / "log.json", [{**start, "selected_agent_ids": [], "selected_case_counts": {}}])
    async with (
        created(postgres, template=migrated_template) as dsn,
        house(dsn, tmp_path_factory.mktemp("data")) as made,
    ):
        await made.take(root)
        async with made.connection() as connection:
            await adopt(connection, TreeRecord(True, [], [read_log(log)], [], [], []), actor="ann")
        (root / "results/gone/plan.json").write_text("{")
        write_suite(root, directory="results/again", suite_id="twice")
        await made.take(root)
        yield made


async def test_records_are_accepted_and_told_apart(ground: House) -> None:
    sidecar = sidecar_of(record(), record("retried", rationale="The first try."), record("error"))

    first = await imported(ground, sidecar)
    second = await imported(ground, sidecar)

    assert (first["accepted"], first["unchanged"], first["suite"]) == (2, 0, {"suiteId": "first"})
    assert (second["accepted"], second["unchanged"]) == (0, 2)
    [warning] = first["warnings"]
    assert (warning["code"], warning["suiteId"], warning["assessmentIndex"]) == ("EXECUTION_ERROR", "first", 2)
    assert second["warnings"] == first["warnings"]
    assert [status for *_, status in await standing(ground)] == ["ACCEPTED", "ACCEPTED"]
    await ground.assert_sound()


async def test_equal_records_count_once_and_different_ones_not_at_all(ground: House) -> None:
    twin = record("retried", rationale="A different opinion.")
    sidecar = sidecar_of(record(), record(), record("retried"), twin, record("retried"), {})

    check = await checked(ground, sidecar)
    answer = await imported(ground, sidecar)

    assert (answer["accepted"], answer["unchanged"]) == (1, 0)
    told = [(warning["assessmentIndex"], warning["code"]) for warning in answer["warnings"]]
    assert told == [(2, "CONFLICTING_ASSESSMENTS"), (5, "INVALID_FIELD")]
    conflicts = [(index, False, "CONFLICTING_ASSESSMENTS") for index in (2, 3, 4)]
    assert check == [(0, True, None), (1, False, None), *conflicts, (5, False, "INVALID_FIELD")]
    assert len(await standing(ground)) == 1


async def test_what_stands_is_not_replaced(ground: House) -> None:
    await ground.act("recordAssessment", {"assessment": decision(rationale="Mine.")})
    before = await ground.image(besides="files")

    answer = await imported(ground, sidecar_of(record(rationale="Yours.")))

    assert [warning["code"] for warning in answer["warnings"]] == ["CONFLICTING_ASSESSMENTS"]
    assert (await ground.image(besides="files"))["assessments"] == before["assessments"]


async def test_a_record_that_a_tree_keeps_is_unchanged(ground: House, root: Path) -> None:
    write(root / SIDECAR, sidecar_of(record()))
    await ground.take(root)

    answer = await imported(ground, sidecar_of(record()))

    assert (answer["accepted"], answer["unchanged"], answer["warnings"]) == (0, 1, [])


async def test_ten_thousand_records_fit_into_one_import(ground: House) -> None:
    sidecar = sidecar_of(*({"case_index": index, "agent_id": "alpha"} for index in range(10_000)))

    answer = await imported(ground, sidecar)

    assert len(answer["warnings"]) == 10_000


@pytest.mark.parametrize("name", RECORDS)
async def test_a_record_that_does_not_count_is_told_by_its_place(refusing: House, name: str) -> None:
    refused, code = RECORDS[name]
    before = await refusing.image(besides="files")

    check = await checked(refusing, sidecar_of({}, refused))
    answer = await imported(refusing, sidecar_of({}, refused))

    assert check == [(0, False, "INVALID_FIELD"), (1, False, code)]
    assert (answer["accepted"], answer["unchanged"]) == (0, 0)
    told = [(warning["assessmentIndex"], warning["code"]) for warning in answer["warnings"]]
    assert told == [(0, "INVALID_FIELD"), (1, code)]
    after = await refusing.image(besides="files")
    assert {**after, "actions": before["actions"]} == before


@pytest.mark.parametrize("name", SUITES)
async def test_a_suite_that_cannot_carry_a_record_says_so(refusing: House, name: str) -> None:
    sidecar, code = SUITES[name]

    answer = await imported(refusing, sidecar)

    assert [warning["code"] for warning in answer["warnings"]] == [code]


@pytest.mark.parametrize("name", DOCUMENTS)
async def test_a_faulty_sidecar_is_refused_whole(refusing: House, name: str) -> None:
    sidecar, code = DOCUMENTS[name]
    before = await refusing.image(besides="files")

    answer = await imported(refusing, sidecar)

    assert answer["__typename"] == ("InvalidInput" if code == "INVALID_FIELD" else "Refused")
    assert answer.get("fault", answer.get("code")) == code
    assert await refusing.image(besides="files") == before


async def test_a_sidecar_that_was_not_sent_is_refused(refusing: House) -> None:
    answer = await refusing.act("importAssessments", {"fileSha256": UNKNOWN})

    assert (answer["__typename"], answer["code"]) == ("Refused", "FILE_UNAVAILABLE")


async def test_a_reviewer_is_needed(refusing: House) -> None:
    answer = await refusing.act("importAssessments", {"fileSha256": UNKNOWN}, Viewer("vera", Role.VIEWER))

    assert (answer["__typename"], answer["required"]) == ("Forbidden", "REVIEWER")


async def test_a_check_says_what_recording_would_answer_and_writes_nothing(ground: House) -> None:
    async def check(given: Object) -> Answer:
        answer: Answer = (await ground.ask(CHECK, assessment=given))["assessmentCheck"]
        return answer

    before = await ground.image()
    free = await check(decision())
    assert await ground.image() == before
    await ground.act("recordAssessment", {"assessment": decision()})
    same, other = await check(decision()), await check(decision(rationale="Otherwise."))
    refused, unfit = await check(decision("error")), await check(decision(rationale=" "))

    assert (free["ok"], free["code"], free["existing"]) == (True, None, None)
    assert same["ok"]
    assert same["existing"]["rationale"] == decision()["rationale"]
    assert not other["ok"]
    assert other["conflict"]["id"] == same["existing"]["id"]
    assert (refused["ok"], refused["code"]) == (False, "EXECUTION_ERROR")
    assert (unfit["ok"], unfit["code"]) == (False, "INVALID_FIELD")
    assert refused["message"]
