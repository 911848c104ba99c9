"""One decision stands for each pair: what repeats it, what differs, and what takes its place."""

from pathlib import Path

import pytest

from engine.encode import write_global_id
from tests.interchange.building import SIDECAR, assessment, sha256, sidecar_of, write
from tests.rules.house import BEN, Answer, House
from tests.rules.tree import decision, edit_defect, without, write_ground

HISTORY = """
query History($id: ID!) {
  node(id: $id) {
    ... on Assessment {
      version status rationale recordedBy
      history { version caseReproduced judgeDetected rationale changedBy withdrawn }
    }
  }
}
"""


@pytest.fixture
async def ground(home: House, root: Path) -> House:
    write_ground(root)
    await home.take(root)
    return home


async def recorded(house: House, slot: str = "sound", **changes: object) -> Answer:
    answer = await house.act("recordAssessment", {"assessment": decision(slot, **changes)})
    assert answer["created"], answer
    assessment: Answer = answer["assessment"]
    return assessment


def revision(id_: str, version: int, **changes: object) -> Answer:
    said = without(decision(), *(name for name in decision() if name not in REVISED))
    return {"id": id_, "expectedVersion": version, **said, "rationale": "Looked again.", **changes}


REVISED = ("caseReproduced", "judgeDetected", "reviewedBy", "reviewedAt")


def withdrawal(id_: str, version: int, rationale: str = "It was another Case.") -> Answer:
    return {"id": id_, "expectedVersion": version, "rationale": rationale}


async def test_a_decision_is_recorded_in_the_name_of_its_caller(ground: House) -> None:
    answer = await ground.act("recordAssessment", {"assessment": decision()}, BEN)

    assert (answer["created"], answer["assessment"]["status"], answer["assessment"]["version"]) == (True, "ACCEPTED", 1)
    history = (await ground.ask(HISTORY, id=answer["assessment"]["id"]))["node"]
    assert history["recordedBy"] == "ben"
    assert [change["changedBy"] for change in history["history"]] == ["ben"]
    await ground.assert_sound()


async def test_who_did_what_is_kept(ground: House) -> None:
    first = (await ground.act("recordAssessment", {"assessment": decision()}, BEN))["assessment"]
    await ground.act("withdrawAssessment", withdrawal(first["id"], 1))

    kept = await ground.execute("SELECT actor, mutation, subject FROM actions ORDER BY id")

    [(key,)] = await ground.execute("SELECT id FROM assessments")
    subject = f"Assessment:{key}"
    assert kept == [("ben", "record_assessment", subject), ("ann", "withdraw_assessment", subject)]


async def test_the_same_decision_again_answers_the_first(ground: House) -> None:
    first = await recorded(ground)
    before = await ground.image(besides="actions")

    # The same instant, told from elsewhere.
    again = await ground.act(
        "recordAssessment", {"assessment": decision(reviewedAt="2026-10-04T11:30:00.123456+02:00")}, BEN
    )

    assert (again["created"], again["assessment"]) == (False, first)
    assert await ground.image(besides="actions") == before


@pytest.mark.parametrize(
    "changes",
    [
        {"judgeDetected": True},
        {"judgeDetected": None},
        {"rationale": "Another opinion."},
        {"reviewedBy": "reviewer-3"},
        {"reviewedAt": "2026-10-04T09:30:00.123457Z"},
        {"caseSha256": sha256(b"other")},
    ],
)
async def test_a_different_decision_conflicts_with_the_one_that_stands(ground: House, changes: Answer) -> None:
    first = await recorded(ground)
    before = await ground.image()

    answer = await ground.act("recordAssessment", {"assessment": decision(**changes)}, BEN)

    assert (answer["__typename"], answer["currentVersion"]) == ("Conflict", 1)
    assert answer["existing"] == {"__typename": "Assessment", **first}
    assert await ground.image() == before


async def test_a_bulk_is_judged_as_if_each_record_had_been_written_before_the_next(ground: House) -> None:
    sound, other = decision(), decision(rationale="Another opinion.")
    retried = decision("retried")

    answer = await ground.act(
        "recordAssessments", {"assessments": [sound, retried, sound, other, decision(defectId="no"), retried]}
    )

    first, second = (answer["outcomes"][place]["assessment"] for place in (0, 1))
    told = [(outcome["created"], outcome["code"], outcome["assessment"]) for outcome in answer["outcomes"]]
    assert told == [
        (True, None, first),
        (True, None, second),
        (False, None, first),
        (False, None, None),
        (False, "UNKNOWN_DEFECT", None),
        (False, None, second),
    ]
    assert answer["outcomes"][3]["conflict"] == first
    assert (answer["created"], answer["unchanged"], answer["refused"]) == (2, 2, 2)
    await ground.assert_sound()


async def test_revising_makes_a_version_and_keeps_the_last_one(ground: House) -> None:
    first = await recorded(ground)

    answer = await ground.act("reviseAssessment", revision(first["id"], 1, judgeDetected=True), BEN)

    assert answer["assessment"]["version"] == 2
    assert answer["assessment"]["judgeDetected"]
    found = (await ground.ask(HISTORY, id=first["id"]))["node"]
    assert [(change["version"], change["judgeDetected"], change["changedBy"]) for change in found["history"]] == [
        (1, False, "ann"),
        (2, True, "ben"),
    ]
    await ground.assert_sound()


async def test_what_was_withdrawn_makes_room_for_another_decision(ground: House) -> None:
    first = await recorded(ground)

    gone = await ground.act("withdrawAssessment", withdrawal(first["id"], 1), BEN)
    nothing = await ground.ask("{ benchmarkOverview { groundTruth { assessmentCount } } }")
    other = await ground.act("recordAssessment", {"assessment": decision(judgeDetected=True)})

    assert gone["assessment"]["status"] == "WITHDRAWN"
    assert nothing["benchmarkOverview"]["groundTruth"]["assessmentCount"] == 0
    assert (other["created"], other["assessment"]["id"], other["assessment"]["version"]) == (True, first["id"], 3)
    found = (await ground.ask(HISTORY, id=first["id"]))["node"]
    assert [(change["version"], change["withdrawn"]) for change in found["history"]] == [
        (1, False),
        (2, True),
        (3, False),
    ]
    await ground.assert_sound()


async def test_what_was_refused_since_makes_room_for_another_decision(ground: House, root: Path) -> None:
    first = await recorded(ground)
    current = edit_defect(root, title="Repeats a payment")
    await ground.take(root)

    answer = await ground.act("recordAssessment", {"assessment": decision(groundTruthSha256=current)})

    assert (answer["created"], answer["assessment"]["id"]) == (True, first["id"])
    assert answer["assessment"]["version"] == 2
    await ground.assert_sound()


@pytest.mark.parametrize("mutation", ["reviseAssessment", "withdrawAssessment"])
async def test_an_older_version_conflicts_with_the_present_one(ground: House, mutation: str) -> None:
    first = await recorded(ground)
    await ground.act("reviseAssessment", revision(first["id"], 1))
    before = await ground.image()

    given = revision(first["id"], 1, judgeDetected=True)
    answer = await ground.act(mutation, given if mutation.startswith("rev") else withdrawal(first["id"], 1))

    assert (answer["__typename"], answer["currentVersion"]) == ("Conflict", 2)
    assert answer["existing"]["rationale"] == "Looked again."
    assert await ground.image() == before


@pytest.mark.parametrize("mutation", ["reviseAssessment", "withdrawAssessment"])
async def test_what_was_withdrawn_cannot_be_changed(ground: House, mutation: str) -> None:
    first = await recorded(ground)
    await ground.act("withdrawAssessment", withdrawal(first["id"], 1))
    before = await ground.image()

    given = revision(first["id"], 2) if mutation.startswith("rev") else withdrawal(first["id"], 2)
    answer = await ground.act(mutation, given)

    assert (answer["__typename"], answer["code"]) == ("Refused", "INVALID_DECISION")
    assert answer["subject"]["id"] == first["id"]
    assert await ground.image() == before


@pytest.mark.parametrize(
    ("changes", "code", "path"),
    [
        ({"judgeDetected": True, "caseReproduced": False}, "INVALID_DECISION", ["judgeDetected"]),
        ({"rationale": " "}, "INVALID_FIELD", ["rationale"]),
        ({"reviewedBy": ""}, "INVALID_FIELD", ["reviewedBy"]),
    ],
)
async def test_a_revision_without_form_is_invalid(ground: House, changes: Answer, code: str, path: list[str]) -> None:
    first = await recorded(ground)
    before = await ground.image()

    answer = await ground.act("reviseAssessment", revision(first["id"], 1, **changes))

    assert (answer["__typename"], answer["fault"], answer["path"]) == ("InvalidInput", code, path)
    assert await ground.image() == before


@pytest.mark.parametrize("name", ["caseReproduced", "judgeDetected"])
async def test_a_revision_must_say_both_decisions(ground: House, name: str) -> None:
    first = await recorded(ground)
    before = await ground.image()

    answer = await ground.act("reviseAssessment", without(revision(first["id"], 1), name))

    assert (answer["__typename"], answer["fault"], answer["path"]) == ("InvalidInput", "INVALID_FIELD", [name])
    assert await ground.image() == before


async def test_a_withdrawal_needs_a_rationale(ground: House) -> None:
    first = await recorded(ground)
    before = await ground.image()

    answer = await ground.act("withdrawAssessment", withdrawal(first["id"], 1, "\n"))

    assert (answer["fault"], answer["path"]) == ("INVALID_FIELD", ["rationale"])
    assert await ground.image() == before


async def test_a_revision_that_its_ground_refuses_changes_nothing(ground: House, root: Path) -> None:
    first = await recorded(ground)
    undecided = await recorded(ground, "unreported", caseReproduced=True, judgeDetected=None)
    before = await ground.image()

    unreported = await ground.act("reviseAssessment", revision(undecided["id"], 1, judgeDetected=True))
    unchanged = await ground.image()
    edit_defect(root, title="Repeats a payment")
    await ground.take(root)
    moved = await ground.image()
    stale = await ground.act("reviseAssessment", revision(first["id"], 1))

    assert (unreported["code"], unreported["subject"]["id"]) == ("REPORT_MISSING", undecided["id"])
    assert unchanged == before
    assert (stale["code"], stale["subject"]["id"]) == ("STALE_REVISION", first["id"])
    assert await ground.image() == moved


@pytest.mark.parametrize("mutation", ["reviseAssessment", "withdrawAssessment"])
@pytest.mark.parametrize("id_", [write_global_id("Assessment", 999), write_global_id("Assessment", 10**19)])
async def test_an_assessment_that_is_not_there_is_not_found(ground: House, mutation: str, id_: str) -> None:
    answer = await ground.act(mutation, revision(id_, 1) if mutation.startswith("rev") else withdrawal(id_, 1))

    assert (answer["__typename"], answer["path"]) == ("NotFound", ["id"])


@pytest.mark.parametrize("mutation", ["reviseAssessment", "withdrawAssessment"])
async def test_the_id_of_another_type_is_not_found(ground: House, mutation: str) -> None:
    id_ = write_global_id("Defect", 1)

    answer = await ground.act(mutation, revision(id_, 1) if mutation.startswith("rev") else withdrawal(id_, 1))

    assert (answer["__typename"], answer["path"]) == ("NotFound", ["id"])


async def test_what_a_tree_keeps_the_tree_alone_changes(ground: House, root: Path) -> None:
    write(root / SIDECAR, sidecar_of(assessment()))
    await ground.take(root)
    [(key,)] = await ground.execute("SELECT id FROM assessments")
    id_ = write_global_id("Assessment", key)
    before = await ground.image()

    revised = await ground.act("reviseAssessment", revision(id_, 1))
    withdrawn = await ground.act("withdrawAssessment", withdrawal(id_, 1))
    differing = await ground.act("recordAssessment", {"assessment": decision()})
    unchanged = await ground.image()
    same = await ground.act(
        "recordAssessment", {"assessment": decision(judgeDetected=True, reviewedAt="2026-10-04T09:30:00Z")}
    )

    assert (revised["code"], withdrawn["code"]) == ("TREE_OWNED", "TREE_OWNED")
    assert "results/first/ground_truth/assessments.json" in revised["message"]
    assert (differing["__typename"], differing["existing"]["id"]) == ("Conflict", id_)
    assert unchanged == before
    assert (same["created"], same["assessment"]["id"]) == (False, id_)


async def test_the_standing_record_of_the_api_stays_when_a_tree_says_otherwise(ground: House, root: Path) -> None:
    first = await recorded(ground)
    write(root / SIDECAR, sidecar_of(assessment()))
    await ground.take(root)

    records = await ground.execute("SELECT keeper, status, reason FROM assessments ORDER BY id")
    await ground.act("withdrawAssessment", withdrawal(first["id"], 1))
    later = await ground.execute("SELECT keeper, status, reason FROM assessments ORDER BY id")

    assert records == [("API", "ACCEPTED", None), ("TREE", "REFUSED", "CONFLICTING_ASSESSMENTS")]
    assert later == [("API", "WITHDRAWN", None), ("TREE", "ACCEPTED", None)]
    await ground.assert_sound()
