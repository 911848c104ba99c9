"""The review queue: what is in it, who holds what, and when a claim ends."""

import asyncio
import runpy
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from random import Random
from typing import Any

import pytest

from engine.encode import write_global_id
from models.base import Role
from resolvers import recording
from resolvers.access import Viewer
from resolvers.decisions import Decision
from resolvers.errors import Conflict
from resolvers.forms import instant
from tests.interchange.building import SIDECAR, assessment, sidecar_of, write
from tests.rules.crowd import write_pairs
from tests.rules.house import BEN, Answer, House
from tests.rules.tree import SLOTS, decision, write_ground

Tree = runpy.run_path(str(Path(__file__).parents[1] / "cases/ground_truth/trees.py"))["Tree"]

# Trees with many defects and Attempts.
SEEDS = (0, 23, 29)

QUEUE = """
query Queue($unclaimed: Boolean) {
  reviewQueue(unclaimed: $unclaimed, first: 500) {
    totalCount
    nodes { claimedBy defect { id } attempt { id attemptId case { caseIndex } } assessment { id } }
  }
}
"""
# Every Attempt beside every defect that was ever confirmed for its agent.
PAIRS = """
SELECT defects.id, attempts.id, suite_id, cases.agent_id, case_index, attempt_id, defect_id, ground_truth_sha256,
    artifact_sha256, result_sha256, has_report
FROM attempts JOIN cases ON cases.id = case_pk JOIN suites ON suites.id = suite_pk
JOIN agents ON agents.agent_id = cases.agent_id JOIN defects ON agent_pk = agents.id
ORDER BY attempts.id, defects.id
"""
STANDING = """
SELECT defect_pk, attempt_pk, keeper, case_reproduced, judge_detected FROM assessments WHERE status = 'ACCEPTED'
"""


def reviewer(number: int) -> Viewer:
    return Viewer(f"reviewer-{number}", Role.REVIEWER)


@pytest.fixture
async def ground(home: House, root: Path) -> House:
    write_ground(root)
    await home.take(root)
    return home


async def queued(house: House, *, unclaimed: bool = True) -> list[Answer]:
    found: list[Answer] = (await house.ask(QUEUE, unclaimed=unclaimed))["reviewQueue"]["nodes"]
    return found


def slots_of(items: Iterable[Answer]) -> list[tuple[str, str]]:
    return [(SLOTS[item["attempt"]["case"]["caseIndex"]], item["attempt"]["attemptId"]) for item in items]


def pair_of(item: Answer) -> Answer:
    return {"defectId": item["defect"]["id"], "attemptId": item["attempt"]["id"]}


async def test_the_queue_holds_what_can_be_decided_and_is_not(ground: House) -> None:
    everything = await queued(ground)
    await ground.act("recordAssessment", {"assessment": decision("retried", attemptId="try-2")})
    await ground.act("recordAssessment", {"assessment": decision("unreported", judgeDetected=None)})
    partial = await ground.act("recordAssessment", {"assessment": decision("retried", judgeDetected=None)})

    left = await queued(ground)

    assert slots_of(everything) == [
        ("sound", "try-1"),
        ("unreported", "try-1"),
        ("retried", "try-1"),
        ("retried", "try-2"),
    ]
    assert slots_of(left) == [("sound", "try-1"), ("retried", "try-1")]
    assert [item["assessment"] for item in left] == [None, {"id": partial["assessment"]["id"]}]


async def test_a_partial_record_that_a_tree_keeps_leaves_nothing_to_do(ground: House, root: Path) -> None:
    write(root / SIDECAR, sidecar_of(assessment(judge_detected=None)))
    await ground.take(root)

    assert ("sound", "try-1") not in slots_of(await queued(ground))


async def test_reviewers_who_claim_at_once_never_hold_the_same_pair(home: House, root: Path) -> None:
    pairs = write_pairs(root)
    await home.take(root)

    async def claim_all(viewer: Viewer) -> list[Answer]:
        held = []
        while (answer := await home.act("claimReview", {}, viewer))["item"]:
            assert answer["item"]["claimedBy"] == viewer.name
            held.append(pair_of(answer["item"]))
        return held

    held = await asyncio.gather(*(claim_all(reviewer(number)) for number in range(6)))

    claimed = [(pair["defectId"], pair["attemptId"]) for each in held for pair in each]
    assert len(claimed) == len(set(claimed)) == len(pairs)
    assert await queued(home) == []


async def test_a_claim_is_its_holders_until_it_is_released(ground: House) -> None:
    first = (await ground.act("claimReview", {"minutes": 5}))["item"]
    before = await ground.image()

    other = await ground.act("claimReview", pair_of(first), BEN)
    release = await ground.act("releaseReview", pair_of(first), BEN)
    unchanged = await ground.image()
    longer = await ground.act("claimReview", {**pair_of(first), "minutes": 240})
    released = await ground.act("releaseReview", pair_of(first))
    taken = await ground.act("claimReview", pair_of(first), BEN)

    assert [(each["__typename"], each["code"]) for each in (other, release)] == [("Refused", "REVIEW_CLAIMED")] * 2
    assert unchanged == before
    assert longer["item"]["claimedUntil"] > first["claimedUntil"]
    assert (released["item"]["claimedBy"], taken["item"]["claimedBy"]) == (None, "ben")


async def test_a_claim_that_ran_out_is_free_again(ground: House) -> None:
    first = (await ground.act("claimReview", {}))["item"]
    await ground.execute("UPDATE review_claims SET claimed_until = now() - interval '1 second'")

    waiting = await queued(ground)
    release = await ground.act("releaseReview", pair_of(first))
    taken = await ground.act("claimReview", {}, BEN)

    assert (pair_of(waiting[0]), waiting[0]["claimedBy"]) == (pair_of(first), None)
    assert (release["__typename"], release["path"]) == ("NotFound", ["defectId"])
    assert (pair_of(taken["item"]), taken["item"]["claimedBy"]) == (pair_of(first), "ben")


async def test_a_decision_by_anybody_ends_the_claim_and_a_partial_one_does_not(ground: House) -> None:
    first = (await ground.act("claimReview", {}))["item"]

    partial = await ground.act("recordAssessment", {"assessment": decision(judgeDetected=None)}, BEN)
    [held] = [item for item in await queued(ground, unclaimed=False) if item["claimedBy"]]
    whole = {"id": partial["assessment"]["id"], "expectedVersion": 1, "caseReproduced": True, "judgeDetected": False}
    whole |= {"reviewedBy": "ben", "reviewedAt": "2026-10-05T10:00:00Z", "rationale": "Looked at the report."}
    await ground.act("reviseAssessment", whole, BEN)
    gone = {"id": partial["assessment"]["id"], "expectedVersion": 2, "rationale": "No."}
    await ground.act("withdrawAssessment", gone, BEN)
    back = (await queued(ground))[0]

    assert (pair_of(held), held["claimedBy"]) == (pair_of(first), "ann")
    assert (pair_of(back), back["claimedBy"]) == (pair_of(first), None)


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"minutes": 0}, ["minutes"]),
        ({"minutes": 241}, ["minutes"]),
        ({"defectId": write_global_id("Defect", 1)}, ["attemptId"]),
        ({"attemptId": write_global_id("Attempt", 1)}, ["defectId"]),
        ({"agentId": "a\0b"}, ["agentId"]),
    ],
)
async def test_a_claim_without_form_is_invalid(ground: House, given: Answer, path: list[str]) -> None:
    before = await ground.image()

    answer = await ground.act("claimReview", given)

    assert (answer["__typename"], answer["path"]) == ("InvalidInput", path)
    assert await ground.image() == before


async def test_a_pair_that_cannot_be_decided_is_not_found(ground: House) -> None:
    [pair] = [ids_of(pair) for pair in await ground.execute(PAIRS) if pair[4] == SLOTS.index("error")]
    before = await ground.image()

    answers = [await ground.act(mutation, pair) for mutation in ("claimReview", "releaseReview")]

    assert [(answer["__typename"], answer["path"]) for answer in answers] == [("NotFound", ["defectId"])] * 2
    assert await ground.image() == before


async def test_nothing_is_claimed_where_nothing_is_free(ground: House) -> None:
    assert await ground.act("claimReview", {"agentId": "nobody"}) == {"__typename": "ClaimReviewPayload", "item": None}


async def decide_some(house: House) -> None:
    """Of what could be decided, some wholly, some in part."""
    random = Random(5)  # noqa: S311 -- the same each time
    for pair in await house.execute(PAIRS):
        if random.random() < 0.3:
            await house.act("recordAssessment", {"assessment": given_of(pair, random.choice((True, None)))})


def given_of(pair: tuple[Any, ...], reproduced: bool | None) -> Answer:
    _, _, suite, agent, index, attempt, defect, ground_truth, case, saved, has_report = pair
    return decision(
        suiteId=suite,
        agentId=agent,
        caseIndex=index,
        attemptId=attempt,
        defectId=defect,
        groundTruthSha256=ground_truth,
        caseSha256=case or "0" * 64,
        resultSha256=saved or "0" * 64,
        caseReproduced=reproduced,
        judgeDetected=False if has_report and reproduced else None,
    )


def ids_of(pair: tuple[Any, ...]) -> Answer:
    return {"defectId": write_global_id("Defect", pair[0]), "attemptId": write_global_id("Attempt", pair[1])}


def decision_of(pair: tuple[Any, ...]) -> Decision:
    names = [field.name for field in fields(Decision)]
    said = (True, False if pair[-1] else None, "ann", instant("2026-10-05T10:00:00Z"), "Looked.")
    return Decision(**dict(zip(names, (*pair[2:10], *said), strict=False)))


@pytest.mark.parametrize("seed", SEEDS)
async def test_the_queue_is_what_could_be_recorded_and_was_not(shared: House, seed: int, tmp_path: Path) -> None:
    Tree(seed, tmp_path).build()
    await shared.clear()
    await shared.take(tmp_path)
    await decide_some(shared)
    pairs = await shared.execute(PAIRS)
    standing = {(row[0], row[1]): row[2:] for row in await shared.execute(STANDING)}
    async with shared.connection() as connection:
        outcomes = await recording.check(connection, [decision_of(pair) for pair in pairs])

    expected = []
    for pair, outcome in zip(pairs, outcomes, strict=True):
        defect, attempt, *_, has_report = pair
        keeper, reproduced, detected = standing.get((defect, attempt), ("API", None, None))
        decided = reproduced is not None and (detected is not None or not has_report)
        if keeper == "API" and not decided and (outcome.created or isinstance(outcome.error, Conflict)):
            expected.append(ids_of(pair))

    shown = [pair_of(item) for item in await queued(shared, unclaimed=False)]
    assert sorted(map(str, shown)) == sorted(map(str, expected))
    assert expected
    assert len(expected) < len(pairs) - len(standing)
