"""Decisions follow their ground: they cease to count when it changes, and count again when it is as it was."""

from pathlib import Path

import pytest

from tests.interchange.building import (
    MANIFEST,
    SUITE,
    assessment,
    manifest_of,
    one_attempt,
    result,
    sidecar_of,
    write,
    write_suite,
    write_unit,
)
from tests.rules.house import Answer, House
from tests.rules.tree import decision, described, edit_defect

READ = """
{
  assessments { nodes { status reason } }
  suite(suiteId: "first") { assessments { nodes { status reason } } }
  agent(agentId: "alpha") {
    groundTruth { status assessmentCount discoveryRate }
    defects { nodes { status assessmentCount caseReproduced } }
  }
  benchmarkOverview { groundTruth { status assessmentCount discoveredDefectCount discoveryRate } }
}
"""


@pytest.fixture
async def ground(home: House, root: Path) -> House:
    """One decision of the API about the tree's defect."""
    write_unit(root)
    write_suite(root)
    await home.take(root)
    answer = await home.act("recordAssessment", {"assessment": decision(judgeDetected=True)})
    assert answer["created"]
    return home


async def said(house: House, reason: str | None) -> None:
    """Every way of reading says that the decision counts, or that it does not for this reason."""
    await house.assert_sound()
    counts = reason is None
    answer = await house.ask(READ)
    shown = [{"status": "ACCEPTED" if counts else "REFUSED", "reason": reason}]
    assert answer["assessments"]["nodes"] == answer["suite"]["assessments"]["nodes"] == shown
    overview: Answer = answer["benchmarkOverview"]["groundTruth"]
    agent: Answer = answer["agent"]["groundTruth"]
    assert overview["assessmentCount"] == agent["assessmentCount"] == int(counts)
    assert overview["discoveredDefectCount"] == int(counts)
    assert overview["discoveryRate"] == agent["discoveryRate"] == (1.0 if counts else None)
    for found in answer["agent"]["defects"]["nodes"]:
        assert (found["assessmentCount"], found["caseReproduced"]) == ((1, True) if counts else (0, None))


async def test_another_revision_unbinds_its_decisions_and_the_same_text_binds_them_again(
    ground: House, root: Path
) -> None:
    await said(ground, None)

    edit_defect(root, title="Repeats a payment")
    await ground.take(root)
    await said(ground, "STALE_REVISION")
    edit_defect(root)
    await ground.take(root)

    await said(ground, None)


async def test_a_reimported_attempt_with_another_result_unbinds_its_decisions(ground: House, root: Path) -> None:
    write_suite(root, one_attempt(result(note="ran again")))
    await ground.take(root)
    await said(ground, "RESULT_DIGEST_MISMATCH")

    write_suite(root)
    await ground.take(root)

    await said(ground, None)


async def test_a_changed_artifact_unbinds_its_decisions(ground: House, root: Path) -> None:
    write(root / SUITE / "cases/0/case.json", b"edited")
    await ground.take(root)
    await said(ground, "CASE_ARTIFACT_MISMATCH")

    write(root / SUITE / "cases/0/case.json", b"case")
    await ground.take(root)

    await said(ground, None)


async def test_an_invalid_manifest_hides_its_defects(ground: House, root: Path) -> None:
    write(root / MANIFEST, manifest_of(schema="abb.agent.ground_truth.v9"))
    await ground.take(root)

    [(status, reason)] = await ground.execute("SELECT status, reason FROM assessments")
    edit_defect(root)
    await ground.take(root)

    assert (status, reason) == ("REFUSED", "UNKNOWN_DEFECT")
    await said(ground, None)


async def test_revising_and_reverting_a_defect_of_the_api_does_the_same_in_its_own_transaction(ground: House) -> None:
    runs = await ground.keep(b"first", b"second")
    given = {"agentId": "alpha", "defectId": "currency"}
    first = await ground.act("confirmDefect", {**given, "defect": described(runs)})
    bound = decision(defectId="currency", groundTruthSha256=first["defect"]["groundTruthSha256"])
    await ground.act("recordAssessment", {"assessment": bound})

    edited = await ground.act("reviseDefect", revising(given, first, described(runs, title="Forgets the currency.")))
    unbound = await ground.execute("SELECT reason FROM assessments WHERE defect_id = 'currency'")
    reverted = await ground.act("reviseDefect", revising(given, edited, described(runs)))
    bound_again = await ground.execute("SELECT reason FROM assessments WHERE defect_id = 'currency'")

    assert (edited["unboundAssessments"], unbound) == (1, [("STALE_REVISION",)])
    assert (reverted["unboundAssessments"], bound_again) == (0, [(None,)])
    assert reverted["defect"]["groundTruthSha256"] == first["defect"]["groundTruthSha256"]
    assert reverted["defect"]["revision"] == 3
    await ground.assert_sound()


async def test_retiring_a_defect_unbinds_its_decisions_until_it_is_confirmed_again(ground: House) -> None:
    runs = await ground.keep(b"first", b"second")
    given = {"agentId": "alpha", "defectId": "currency"}
    first = await ground.act("confirmDefect", {**given, "defect": described(runs)})
    bound = decision(defectId="currency", groundTruthSha256=first["defect"]["groundTruthSha256"])
    await ground.act("recordAssessment", {"assessment": bound})

    await ground.act("retireDefect", {**given, "expectedGroundTruthSha256": first["defect"]["groundTruthSha256"]})
    unbound = await ground.execute("SELECT reason FROM assessments WHERE defect_id = 'currency'")
    again = await ground.act("confirmDefect", {**given, "defect": described(runs)})

    assert unbound == [("UNKNOWN_DEFECT",)]
    assert (again["created"], again["defect"]["revision"], again["defect"]["retiredAt"]) == (True, 2, None)
    assert await ground.execute("SELECT reason FROM assessments WHERE defect_id = 'currency'") == [(None,)]
    await ground.assert_sound()


async def test_a_record_of_the_tree_is_judged_anew_when_the_api_changes_its_ground(ground: House, root: Path) -> None:
    runs = await ground.keep(b"first", b"second")
    given = {"agentId": "alpha", "defectId": "currency"}
    first = await ground.act("confirmDefect", {**given, "defect": described(runs)})
    digest = first["defect"]["groundTruthSha256"]
    record = assessment(ground_truth_id="currency", ground_truth_sha256=digest)
    write(root / SUITE / "ground_truth/assessments.json", sidecar_of(record))
    await ground.take(root)

    await ground.act("reviseDefect", revising(given, first, described(runs, title="Forgets the currency.")))

    of_tree = "SELECT status, reason FROM assessments WHERE keeper = 'TREE'"
    assert await ground.execute(of_tree) == [("REFUSED", "STALE_REVISION")]
    await ground.assert_sound()


def revising(given: Answer, last: Answer, defect: Answer) -> Answer:
    return {**given, "expectedGroundTruthSha256": last["defect"]["groundTruthSha256"], "defect": defect}
