"""Registering agents; confirming, revising and retiring their defects; and every refusal, which changes nothing."""

from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from interchange.digests import digest_json
from tests.interchange.building import CASE, MANIFEST, REGISTRY, SOURCE, defect, manifest_of, sha256, write, write_unit
from tests.rules.house import BEN, Answer, House
from tests.rules.tree import described, observed, without

LONG = "é" * 251
CURRENCY = {"agentId": "refunds", "defectId": "currency"}


@pytest.fixture
async def runs(home: House) -> list[str]:
    """An agent of the API, and evidence of it."""
    await home.act("registerAgent", {"agentId": "refunds"})
    return await home.keep(b"first run", b"second run")


async def confirmed(house: House, runs: list[str], **changes: object) -> str:
    answer = await house.act("confirmDefect", {**CURRENCY, "defect": described(runs, **changes)})
    assert answer["created"], answer
    digest: str = answer["defect"]["groundTruthSha256"]
    return digest


async def test_an_agent_of_the_api_has_no_ground_truth_until_its_first_defect(home: House) -> None:
    answer = await home.act("registerAgent", {"agentId": "refunds", "name": "Refunds", "framework": "plain"})

    agent = without(answer["agent"], "id")
    assert agent == {
        "agentId": "refunds",
        "name": "Refunds",
        "framework": "plain",
        "keeper": "API",
        "retiredAt": None,
        "groundTruth": {"status": "NOT_CONFIGURED"},
    }


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"agentId": ""}, ["agentId"]),
        ({"agentId": "a\0b"}, ["agentId"]),
        ({"agentId": LONG}, ["agentId"]),
        ({"agentId": "a", "name": "a\0b"}, ["name"]),
        ({"agentId": "a", "framework": "\0"}, ["framework"]),
    ],
)
async def test_an_agent_without_form_is_invalid(shared: House, given: Answer, path: list[str]) -> None:
    before = await shared.image()

    answer = await shared.act("registerAgent", given)

    assert (answer["__typename"], answer["fault"], answer["path"]) == ("InvalidInput", "INVALID_FIELD", path)
    assert await shared.image() == before


async def test_an_agent_is_registered_once(home: House, root: Path) -> None:
    write_unit(root)
    await home.take(root)
    before = await home.image()

    answer = await home.act("registerAgent", {"agentId": "alpha"})

    assert (answer["__typename"], answer["existing"]["__typename"]) == ("Duplicate", "Agent")
    assert await home.image() == before


async def test_a_retired_agent_comes_back_as_the_apis_with_what_the_api_confirmed(home: House, root: Path) -> None:
    write_unit(root)
    await home.take(root)
    runs = await home.keep(b"first run", b"second run")
    await home.act("confirmDefect", {"agentId": "alpha", "defectId": "new", "defect": described(runs)})
    (root / REGISTRY).unlink()
    await home.take(root)

    answer = await home.act("registerAgent", {"agentId": "alpha", "name": "Alpha again"})

    assert without(answer["agent"], "id") == {
        "agentId": "alpha",
        "name": "Alpha again",
        "framework": None,
        "keeper": "API",
        "retiredAt": None,
        "groundTruth": {"status": "NOT_ASSESSED"},
    }
    left = await home.ask('{ agent(agentId: "alpha") { sourceSha256 defects { nodes { defectId } } } }')
    assert left["agent"] == {"sourceSha256": None, "defects": {"nodes": [{"defectId": "new"}]}}
    await home.assert_sound()


async def test_a_defect_has_the_record_that_a_manifest_would_have(home: House, runs: list[str]) -> None:
    digest = await confirmed(home, runs, extra={"severity": "high"})

    record = {
        "severity": "high",
        "id": "currency",
        "title": "Forgets the currency",
        "expected_behavior": "Asks for it",
        "observed_behavior": "Assumes dollars",
        "confirmed_by": "reviewer-1",
        "confirmed_at": "2026-10-05T08:00:00Z",
        "source_sha256": SOURCE,
        "case_sha256": CASE,
        "observations": [
            {
                "id": f"run-{number}",
                "case_sha256": CASE,
                "evidence_path": f"observations/currency/run-{number}.json",
                "evidence_sha256": run,
            }
            for number, run in enumerate(runs)
        ],
    }
    assert digest == digest_json(record)
    await home.assert_sound()


async def test_the_identical_defect_again_is_no_news(home: House, runs: list[str]) -> None:
    digest = await confirmed(home, runs)
    before = await home.image(besides="actions")

    # The same instant, told from elsewhere.
    again = described(runs, confirmedAt="2026-10-05T08:00:00Z")
    answer = await home.act("confirmDefect", {**CURRENCY, "defect": again}, BEN)

    assert (answer["created"], answer["defect"]["groundTruthSha256"]) == (False, digest)
    assert await home.image(besides="actions") == before


def second(**changes: object) -> Answer:
    """The changes to a description that give its second observation other values."""
    return {"observations": lambda runs: [observed(0, runs[0]), observed(1, runs[1], **changes)]}


FORM: dict[str, tuple[Answer, list[str]]] = {
    "a blank title": ({"title": " "}, ["title"]),
    "a NUL": ({"observedBehavior": "a\0b"}, ["observedBehavior"]),
    "nobody": ({"confirmedBy": ""}, ["confirmedBy"]),
    "an extra that is no object": ({"extra": []}, ["extra"]),
    "an extra that repeats a name": ({"extra": {"title": "other"}}, ["extra"]),
    "an observation without a name": (second(observationId=""), ["observations", "1", "observationId"]),
    "an observation without a place": (second(evidencePath=" "), ["observations", "1", "evidencePath"]),
}
REFUSED: dict[str, tuple[Answer, str]] = {
    "no observation": ({"observations": []}, "TOO_FEW_OBSERVATIONS"),
    "one observation": ({"observations": lambda runs: [observed(0, runs[0])]}, "TOO_FEW_OBSERVATIONS"),
    "one observation twice": (second(observationId="run-0"), "DUPLICATE_OBSERVATION"),
    "one twice before another Case": (second(observationId="run-0", caseSha256=SOURCE), "DUPLICATE_OBSERVATION"),
    "an observation of another Case": (second(caseSha256=SOURCE), "OBSERVATION_CASE_MISMATCH"),
    "a place above": (second(evidencePath="observations/../run-1.json"), "PATH_ESCAPE"),
    "an absolute place": (second(evidencePath="/observations/run-1.json"), "PATH_ESCAPE"),
    "a place elsewhere": (second(evidencePath="manifest.json"), "PATH_ESCAPE"),
    "one place twice": (second(evidencePath="observations/currency/run-0.json"), "DUPLICATE_EVIDENCE"),
    "a file that nobody sent": (second(evidenceSha256=sha256(b"nowhere")), "FILE_UNAVAILABLE"),
}


def changed(changes: Answer, runs: list[str]) -> Answer:
    return described(runs, **{name: value(runs) if callable(value) else value for name, value in changes.items()})


@dataclass
class Standing:
    """A defect that stays as it is, whatever is tried."""

    house: House
    runs: list[str]
    digest: str

    async def tried(self, changes: Answer) -> list[Answer]:
        """Answers to confirming and to revising with these changes."""
        before, given = await self.house.image(), changed(changes, self.runs)
        new = await self.house.act("confirmDefect", {**CURRENCY, "defectId": "other", "defect": given})
        old = {**CURRENCY, "expectedGroundTruthSha256": self.digest}
        revised = await self.house.act("reviseDefect", {**old, "defect": given})
        assert await self.house.image() == before
        return [new, revised]


@pytest_asyncio.fixture(scope="module")
async def standing(shared: House) -> Standing:
    await shared.act("registerAgent", {"agentId": "refunds"})
    runs = await shared.keep(b"first run", b"second run")
    return Standing(shared, runs, await confirmed(shared, runs))


@pytest.mark.parametrize("name", FORM)
async def test_a_defect_without_form_is_invalid(standing: Standing, name: str) -> None:
    changes, path = FORM[name]

    answers = await standing.tried(changes)

    for answer in answers:
        assert (answer["__typename"], answer["fault"]) == ("InvalidInput", "INVALID_FIELD")
        assert answer["path"] == ["defect", *path]


@pytest.mark.parametrize("name", REFUSED)
async def test_an_unsound_defect_is_refused(standing: Standing, name: str) -> None:
    changes, code = REFUSED[name]

    answers = await standing.tried(changes)

    assert [(answer["__typename"], answer["code"]) for answer in answers] == [("Refused", code)] * 2


async def test_one_place_holds_one_file_for_all_defects_of_an_agent(home: House, runs: list[str]) -> None:
    await confirmed(home, runs)
    [other] = await home.keep(b"third run")
    before = await home.image()

    given = described([runs[0], other], title="Another")
    answer = await home.act("confirmDefect", {**CURRENCY, "defectId": "other", "defect": given})

    assert (answer["__typename"], answer["code"]) == ("Refused", "EVIDENCE_DIGEST_MISMATCH")
    assert await home.image() == before


async def test_another_record_under_one_identity_is_a_duplicate(home: House, runs: list[str]) -> None:
    await confirmed(home, runs)
    before = await home.image()

    answer = await home.act("confirmDefect", {**CURRENCY, "defect": described(runs, title="Another")})

    assert (answer["__typename"], answer["existing"]["__typename"]) == ("Duplicate", "Defect")
    assert await home.image() == before


@pytest.mark.parametrize("defect_id", ["", "a\0b", LONG])
async def test_a_defect_needs_an_identity(home: House, runs: list[str], defect_id: str) -> None:
    before = await home.image()

    answer = await home.act("confirmDefect", {**CURRENCY, "defectId": defect_id, "defect": described(runs)})

    assert (answer["fault"], answer["path"]) == ("INVALID_FIELD", ["defectId"])
    assert await home.image() == before


async def test_what_is_not_there_is_not_found(home: House, runs: list[str]) -> None:
    digest = await confirmed(home, runs)
    await home.act("retireDefect", {**CURRENCY, "expectedGroundTruthSha256": digest})
    before = await home.image()

    no_agent = await home.act("confirmDefect", {"agentId": "no", "defectId": "a", "defect": described(runs)})
    gone = {**CURRENCY, "expectedGroundTruthSha256": digest}
    revised = await home.act("reviseDefect", {**gone, "defect": described(runs)})
    retired = await home.act("retireDefect", gone)

    assert (no_agent["__typename"], no_agent["path"]) == ("NotFound", ["agentId"])
    assert [(each["__typename"], each["path"]) for each in (revised, retired)] == [("NotFound", ["defectId"])] * 2
    assert await home.image() == before


async def test_a_change_of_an_older_revision_conflicts(home: House, runs: list[str]) -> None:
    digest = await confirmed(home, runs)
    old = {**CURRENCY, "expectedGroundTruthSha256": digest}
    await home.act("reviseDefect", {**old, "defect": described(runs, title="Another")})
    before = await home.image()

    revised = await home.act("reviseDefect", {**old, "defect": described(runs, title="A third")})
    retired = await home.act("retireDefect", old)

    for answer in (revised, retired):
        assert (answer["__typename"], answer["currentVersion"]) == ("Conflict", 2)
        assert answer["existing"]["__typename"] == "Defect"
    assert await home.image() == before


async def test_what_a_tree_keeps_the_tree_alone_changes(home: House, root: Path) -> None:
    write_unit(root)
    await home.take(root)
    runs = await home.keep(b"first run", b"second run")
    given = {"agentId": "alpha", "defectId": "defect-0", "expectedGroundTruthSha256": digest_json(defect())}
    before = await home.image()

    revised = await home.act("reviseDefect", {**given, "defect": described(runs)})
    retired = await home.act("retireDefect", given)
    unchanged = await home.image()
    further = await home.act("confirmDefect", {"agentId": "alpha", "defectId": "new", "defect": described(runs)})

    assert [answer["code"] for answer in (revised, retired)] == ["TREE_OWNED", "TREE_OWNED"]
    assert MANIFEST in revised["message"]
    assert unchanged == before
    assert (further["created"], further["defect"]["keeper"]) == (True, "API")


async def test_nothing_is_confirmed_behind_what_cannot_be_read(home: House, root: Path) -> None:
    write_unit(root, manifest=manifest_of(schema="abb.agent.ground_truth.v9"))
    await home.take(root)
    runs = await home.keep(b"first run", b"second run")
    given = {"agentId": "alpha", "defectId": "new", "defect": described(runs)}
    hidden = await home.act("confirmDefect", given)
    write(root / REGISTRY, "[[agents]\n")
    await home.take(root)
    before = await home.image()

    unlisted = await home.act("confirmDefect", given)

    assert (hidden["__typename"], hidden["code"]) == ("Refused", "UNSUPPORTED_SCHEMA")
    assert (unlisted["__typename"], unlisted["code"]) == ("Refused", "REGISTRY_INVALID")
    assert await home.image() == before


async def test_an_agent_whose_defects_are_all_retired_is_empty(home: House, runs: list[str]) -> None:
    digest = await confirmed(home, runs)

    await home.act("retireDefect", {**CURRENCY, "expectedGroundTruthSha256": digest})

    answer = await home.ask('{ agent(agentId: "refunds") { groundTruth { status } defects { totalCount } } }')
    assert answer["agent"] == {"groundTruth": {"status": "EMPTY"}, "defects": {"totalCount": 0}}
