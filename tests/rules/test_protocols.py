"""Freezing a protocol and adding the Suites of its trials: every refusal, and what a frozen revision is good for."""

from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from interchange.digests import digest_json
from interchange.imports import adopt
from interchange.legacy import read_log
from interchange.records import TreeRecord
from models.base import Role
from resolvers.access import Viewer
from tests.interchange.building import (
    SOURCE,
    Object,
    defect,
    numbered,
    one_attempt,
    result,
    sha256,
    write,
    write_suite,
    write_unit,
)
from tests.rules.house import BEN, Answer, House
from tests.rules.tree import benchmark, decision, edit_defect

LATER, EARLIER = "2999-01-01T00:00:00Z", "2001-01-01T00:00:00Z"
OPERATOR = Viewer("olga", Role.OPERATOR)
MIXED = result(benchmark=benchmark(provider_mode="official-container"))

SUITES: dict[str, Object] = {
    "sound": {"created_at": LATER},
    "second": {"created_at": LATER},
    "used": {"created_at": LATER},
    "early": {"created_at": EARLIER},
    "undated": {},
    "unrecorded": {"created_at": LATER, "configuration": {}, "saved": result(benchmark=benchmark(provider_mode="x"))},
    "mixed": {"created_at": LATER, "configuration": {"sdk": "local"}, "saved": MIXED},
    "others": {"created_at": LATER, "agents": [{"agent_id": "beta", "case_count": 1, "source_sha256": SOURCE}]},
    "older": {"created_at": LATER, "agents": [{"agent_id": "alpha", "case_count": 1, "source_sha256": sha256(b"old")}]},
    "gone": {"created_at": LATER},
}


def cohort(**changes: Any) -> Answer:
    return {"agentId": "alpha", "sourceSha256": SOURCE, "defectIds": ["defect-0"], **changes}


def protocol(*members: Answer, **changes: Any) -> Answer:
    return {"name": "first", "budgetCases": 2, "trials": 2, "cohort": list(members or (cohort(),)), **changes}


def trial(suite_id: str, number: int = 1, **changes: Any) -> Answer:
    return {"protocol": "first", "trial": number, "suiteId": suite_id, **changes}


def write_trials(root: Path) -> None:
    write_unit(root)
    for name, plan in SUITES.items():
        chosen = {"configuration": {"sdk": "local"}, **plan}
        saved = chosen.pop("saved", result())
        write_suite(root, one_attempt(saved), directory=f"results/{name}", suite_id=name, **chosen)


async def prepare(house: House, root: Path) -> House:
    """A frozen protocol whose second trial was used, and every kind of Suite."""
    write_trials(root)
    await house.take(root)
    (root / "results/gone/plan.json").unlink()
    (root / "results/gone/events.json").unlink()
    await house.take(root)
    start = {"event": "run_started", "selected_agent_ids": ["alpha"], "selected_case_counts": {"alpha": 1}}
    log = write(root / "log.json", numbered([{**start, "timestamp": LATER}, *one_attempt()[1:]], "legacy"))
    with house.files.batch() as keep:
        record = TreeRecord(True, [], [read_log(log, keep)], [], [], [])
    async with house.connection() as connection:
        await adopt(connection, record, actor="ann")
    assert (await house.act("freezeDiscoveryProtocol", protocol()))["protocol"]
    assert (await house.act("addTrialSuite", trial("used", 2)))["protocol"]
    return house


@pytest_asyncio.fixture(scope="module")
async def frozen(shared: House, shared_root: Path) -> House:
    return await prepare(shared, shared_root)


@pytest.fixture
async def own(home: House, root: Path) -> House:
    return await prepare(home, root)


@pytest.mark.parametrize(
    ("given", "path"),
    [
        (protocol(name=" "), ["name"]),
        (protocol(name="é" * 251), ["name"]),
        (protocol(name="other", budgetCases=0), ["budgetCases"]),
        (protocol(name="other", trials=0), ["trials"]),
        (protocol(name="other", trials=1_001), ["trials"]),
        ({**protocol(name="other"), "cohort": []}, ["cohort"]),
        (protocol(cohort(), cohort(), name="other"), ["cohort", "1", "agentId"]),
        (protocol(cohort(agentId=""), name="other"), ["cohort", "0", "agentId"]),
        (protocol(cohort(defectIds=[]), name="other"), ["cohort", "0", "defectIds"]),
        (protocol(cohort(defectIds=["defect-0"] * 2), name="other"), ["cohort", "0", "defectIds"]),
    ],
)
async def test_a_protocol_without_form_is_invalid(frozen: House, given: Answer, path: list[str]) -> None:
    before = await frozen.image()

    answer = await frozen.act("freezeDiscoveryProtocol", given)

    assert (answer["__typename"], answer["fault"], answer["path"]) == ("InvalidInput", "INVALID_FIELD", path)
    assert await frozen.image() == before


async def test_a_protocol_of_what_is_not_there_is_refused(frozen: House) -> None:
    before = await frozen.image()

    missing = await frozen.act("freezeDiscoveryProtocol", protocol(cohort(defectIds=["defect-9"]), name="other"))
    source = await frozen.act("freezeDiscoveryProtocol", protocol(cohort(sourceSha256=sha256(b"old")), name="other"))
    taken = await frozen.act("freezeDiscoveryProtocol", protocol())
    forbidden = await frozen.act("freezeDiscoveryProtocol", protocol(name="other"), OPERATOR)

    assert (missing["__typename"], missing["path"]) == ("NotFound", ["cohort", "0", "defectIds"])
    assert (source["__typename"], source["code"]) == ("Refused", "SOURCE_MISMATCH")
    assert (taken["__typename"], taken["existing"]["__typename"]) == ("Duplicate", "DiscoveryProtocol")
    assert (forbidden["__typename"], forbidden["required"]) == ("Forbidden", "ADMIN")
    assert await frozen.image() == before


@pytest.mark.parametrize(
    ("suite_id", "code"),
    [
        ("early", "SUITE_BEFORE_FREEZE"),
        ("undated", "SUITE_BEFORE_FREEZE"),
        ("legacy", "NO_PROVENANCE"),
        ("unrecorded", "EVALUATOR_UNSUITABLE"),
        ("mixed", "EVALUATOR_UNSUITABLE"),
        ("others", "UNKNOWN_AGENT"),
        ("older", "SOURCE_MISMATCH"),
        ("used", "SUITE_USED"),
        ("gone", "UNAVAILABLE_SUITE"),
    ],
)
async def test_a_suite_that_does_not_fit_is_no_trial(frozen: House, suite_id: str, code: str) -> None:
    before = await frozen.image()

    answer = await frozen.act("addTrialSuite", trial(suite_id))

    assert (answer["__typename"], answer["code"]) == ("Refused", code)
    assert answer["subject"]["__typename"] == "Suite"
    assert await frozen.image() == before


async def test_a_trial_of_what_is_not_there_is_refused(frozen: House) -> None:
    before = await frozen.image()

    nowhere = await frozen.act("addTrialSuite", trial("nowhere"))
    unknown = await frozen.act("addTrialSuite", trial("sound", protocol="unknown"))
    beyond = await frozen.act("addTrialSuite", trial("sound", 3))
    occupied = await frozen.act("addTrialSuite", trial("sound", 2))
    forbidden = await frozen.act("addTrialSuite", trial("sound"), BEN)

    assert (nowhere["__typename"], nowhere["path"]) == ("NotFound", ["suiteId"])
    assert (unknown["__typename"], unknown["path"]) == ("NotFound", ["protocol"])
    assert (beyond["__typename"], beyond["path"]) == ("InvalidInput", ["trial"])
    assert (occupied["__typename"], occupied["existing"]["__typename"]) == ("Conflict", "Suite")
    assert (forbidden["__typename"], forbidden["required"]) == ("Forbidden", "OPERATOR")
    assert await frozen.image() == before


async def test_a_trial_is_added_once(own: House) -> None:
    first = await own.act("addTrialSuite", trial("sound"), OPERATOR)
    before = await own.image(besides="actions")

    again = await own.act("addTrialSuite", trial("sound"), OPERATOR)

    assert again == first
    assert {"trial": 1, "evaluator": "local", "suite": {"suiteId": "sound"}} in first["protocol"]["trialSuites"]
    assert await own.image(besides="actions") == before


async def test_what_is_bound_to_a_frozen_revision_is_stored_beside_the_current_record(own: House, root: Path) -> None:
    await own.act("addTrialSuite", trial("sound"))
    current = edit_defect(root, title="Repeats a payment")
    await own.take(root)
    now = decision(suiteId="sound", caseIndex=0, groundTruthSha256=current)
    then = decision(suiteId="sound", caseIndex=0, judgeDetected=True)

    stale = await own.act("recordAssessment", {"assessment": decision(suiteId="second", caseIndex=0)})
    standing = await own.act("recordAssessment", {"assessment": now})
    kept = await own.act("recordAssessment", {"assessment": then})
    again = await own.act("recordAssessment", {"assessment": then})
    other = await own.act("recordAssessment", {"assessment": {**then, "judgeDetected": False}})
    unfit = await own.act("recordAssessment", {"assessment": {**then, "caseSha256": sha256(b"other")}})

    assert stale["code"] == "STALE_REVISION"
    assert (standing["created"], standing["assessment"]["status"]) == (True, "ACCEPTED")
    assert (kept["created"], kept["assessment"]["reason"]) == (True, "STALE_REVISION")
    assert (again["created"], again["assessment"]) == (False, kept["assessment"])
    assert (other["__typename"], other["existing"]["id"]) == ("Conflict", kept["assessment"]["id"])
    assert unfit["__typename"] == "Conflict"
    found = await own.execute("SELECT status, trial FROM assessments ORDER BY id")
    assert found == [("ACCEPTED", False), ("REFUSED", True)]
    await own.assert_sound()


async def test_a_record_about_a_frozen_revision_is_revised_and_withdrawn_like_others(own: House, root: Path) -> None:
    await own.act("addTrialSuite", trial("sound"))
    edit_defect(root, title="Repeats a payment")
    await own.take(root)
    then = decision(suiteId="sound", caseIndex=0, judgeDetected=None)
    kept = (await own.act("recordAssessment", {"assessment": then}))["assessment"]

    said = {
        "caseReproduced": True,
        "judgeDetected": True,
        "reviewedBy": "ann",
        "reviewedAt": LATER,
        "rationale": "Yes.",
    }
    revised = await own.act("reviseAssessment", {"id": kept["id"], "expectedVersion": 1, **said})
    gone = {"id": kept["id"], "expectedVersion": 2, "rationale": "No."}
    withdrawn = await own.act("withdrawAssessment", gone)
    again = await own.act("recordAssessment", {"assessment": then})

    assert (revised["assessment"]["version"], revised["assessment"]["reason"]) == (2, "STALE_REVISION")
    assert withdrawn["assessment"]["status"] == "WITHDRAWN"
    assert (again["created"], again["assessment"]["id"], again["assessment"]["version"]) == (True, kept["id"], 4)
    await own.assert_sound()


async def test_a_frozen_revision_that_is_current_again_binds_its_records_again(own: House, root: Path) -> None:
    await own.act("addTrialSuite", trial("sound"))
    edit_defect(root, title="Repeats a payment")
    await own.take(root)
    then = decision(suiteId="sound", caseIndex=0)
    kept = (await own.act("recordAssessment", {"assessment": then}))["assessment"]

    assert edit_defect(root) == digest_json(defect())
    await own.take(root)
    again = await own.act("recordAssessment", {"assessment": then})

    assert (again["created"], again["assessment"]["id"]) == (False, kept["id"])
    assert again["assessment"]["status"] == "ACCEPTED"
    await own.assert_sound()


async def test_a_frozen_and_a_current_decision_in_one_call_do_not_take_one_row(own: House, root: Path) -> None:
    await own.act("addTrialSuite", trial("sound"))
    then = decision(suiteId="sound", caseIndex=0)
    first = (await own.act("recordAssessment", {"assessment": then}))["assessment"]
    await own.act("withdrawAssessment", {"id": first["id"], "expectedVersion": 1, "rationale": "No."})
    now = {**then, "groundTruthSha256": edit_defect(root, title="Repeats a payment")}
    await own.take(root)

    answer = await own.act("recordAssessments", {"assessments": [then, now]})

    kept = [outcome["assessment"] for outcome in answer["outcomes"]]
    assert [(each["version"], each["reason"]) for each in kept] == [(3, "STALE_REVISION"), (1, None)]
    assert kept[0]["id"] == first["id"] != kept[1]["id"]
    await own.assert_sound()
