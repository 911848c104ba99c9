"""importManifest: what it confirms, revises and retires, and every reason to refuse a manifest whole."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import obstore
import pytest
import pytest_asyncio
from sqlalchemy import delete, insert, select

from interchange.digests import digest_json
from models import Defect, File
from models.base import Role, table
from resolvers.access import Viewer
from resolvers.agents import manifest_document
from server.files import key_of
from tests.databases import created
from tests.interchange.building import (
    MANIFEST,
    SOURCE,
    UNIT,
    Object,
    defect,
    manifest_of,
    observation,
    sha256,
    write,
    write_unit,
)
from tests.rules.house import Answer, House, house
from tests.rules.tree import described

UNKNOWN = sha256(b"never sent")
OTHER = sha256(b"another case")
RUNS = (b"run 0", b"run 1")


async def imported(home: House, manifest: Any, **changes: Any) -> Answer:
    body = manifest if isinstance(manifest, bytes) else json.dumps(manifest, ensure_ascii=False).encode()
    given = {"agentId": "alpha", "fileSha256": await home.send(body), **changes}
    return await home.act("importManifest", given)


async def document(home: House) -> Any:
    [(text,)] = await home.execute(manifest_document("alpha"))
    return json.loads(text)


@pytest.fixture
async def desk(home: House) -> House:
    """An agent of the API, and the evidence of two runs."""
    await home.act("registerAgent", {"agentId": "alpha"})
    for body in RUNS:
        await home.send(body)
    return home


def counts(answer: Answer) -> tuple[int, ...]:
    assert answer["__typename"] == "ImportManifestPayload", answer
    return tuple(answer[name] for name in ("created", "revised", "unchanged", "retired"))


async def test_a_manifest_becomes_the_agents_own(desk: House) -> None:
    manifest = manifest_of(defect(severity=1e5, cost=1.0), defect(id="defect-1"), owner={"team": "a"})

    answer = await imported(desk, manifest)

    assert counts(answer) == (2, 0, 0, 0)
    assert answer["agent"]["groundTruth"] == {"status": "NOT_ASSESSED", "defectCount": 2}
    assert await document(desk) == manifest
    rows = await desk.execute(select(table(Defect).c.keeper, table(Defect).c.ground_truth_sha256).order_by("id"))
    assert rows == [("API", digest_json(record)) for record in manifest["defects"]]
    await desk.assert_sound()


async def test_the_same_manifest_again_writes_nothing(desk: House) -> None:
    await imported(desk, manifest_of(defect()))
    before = await desk.image(besides="actions")

    answer = await imported(desk, manifest_of(defect()))

    assert counts(answer) == (0, 0, 1, 0)
    assert await desk.image(besides="actions") == before


async def test_an_empty_manifest_configures_an_agent(desk: House) -> None:
    answer = await imported(desk, manifest_of())

    assert counts(answer) == (0, 0, 0, 0)
    assert answer["agent"]["groundTruth"]["status"] == "EMPTY"


async def test_an_edited_record_is_a_new_revision(desk: House) -> None:
    await imported(desk, manifest_of(defect(), defect(id="defect-1")))

    answer = await imported(desk, manifest_of(defect(id="defect-1"), defect(title="Refunds twice")))

    assert counts(answer) == (0, 1, 1, 0)
    assert [record["id"] for record in (await document(desk))["defects"]] == ["defect-1", "defect-0"]
    await desk.assert_sound()


async def test_what_a_manifest_does_not_name_stays_unless_it_is_to_replace(desk: House) -> None:
    await imported(desk, manifest_of(defect(), defect(id="defect-1")))

    kept = await imported(desk, manifest_of(defect(id="defect-2")))
    replaced = await imported(desk, manifest_of(defect(id="defect-2")), replace=True)

    assert (counts(kept), counts(replaced)) == ((1, 0, 0, 0), (0, 0, 1, 2))
    assert [record["id"] for record in (await document(desk))["defects"]] == ["defect-2"]


async def test_a_retired_defect_comes_back_as_a_new_revision(desk: House) -> None:
    await imported(desk, manifest_of(defect()))
    await imported(desk, manifest_of(), replace=True)

    answer = await imported(desk, manifest_of(defect()))

    assert counts(answer) == (1, 0, 0, 0)
    assert await desk.execute(select(table(Defect).c.revision, table(Defect).c.retired_at)) == [(2, None)]


@pytest_asyncio.fixture(scope="module")
async def refusing(
    postgres: str, migrated_template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[House]:
    """A house that is never written to: every test with it is refused."""
    async with (
        created(postgres, template=migrated_template) as dsn,
        house(dsn, tmp_path_factory.mktemp("data")) as made,
    ):
        await made.act("registerAgent", {"agentId": "alpha"})
        for body in RUNS:
            await made.send(body)
        await imported(made, manifest_of(defect(id="held")))
        yield made


def observed(*observations: Object, **changes: Any) -> Object:
    return manifest_of(defect(observations=list(observations), **changes))


def text_of(manifest: Object) -> str:
    return json.dumps(manifest)


REFUSED: dict[str, tuple[Any, str]] = {
    "no JSON": (b'{"schema": ', "INVALID_JSON"),
    "no object": (b"[]", "INVALID_JSON"),
    "a key twice": (text_of(manifest_of()).replace("{", '{"defects": [], ', 1).encode(), "INVALID_JSON"),
    "NaN": (text_of(manifest_of(defect(cost=None))).replace("null", "NaN").encode(), "INVALID_JSON"),
    "no UTF-8": (b'{"schema": "\xff"}', "INVALID_JSON"),
    "another schema": (manifest_of(schema="abb.agent.ground_truth.v2"), "UNSUPPORTED_SCHEMA"),
    "another agent": (manifest_of(agent_id="beta"), "AGENT_IDENTITY_MISMATCH"),
    "no list of defects": (manifest_of(defects={}), "INVALID_FIELD"),
    "a defect that is no object": (manifest_of("defect"), "INVALID_FIELD"),
    "a blank id": (manifest_of(defect(id=" ")), "INVALID_FIELD"),
    "one id twice": (manifest_of(defect(), defect()), "DUPLICATE_DEFECT"),
    "a blank title": (manifest_of(defect(title="\t")), "INVALID_FIELD"),
    "no expectation": (manifest_of(defect(expected_behavior=None)), "INVALID_FIELD"),
    "no observation": (manifest_of(defect(observed_behavior=7)), "INVALID_FIELD"),
    "nobody": (manifest_of(defect(confirmed_by="")), "INVALID_FIELD"),
    "no offset": (manifest_of(defect(confirmed_at="2026-10-02T14:00:00")), "INVALID_FIELD"),
    "an upper-case digest": (manifest_of(defect(source_sha256=SOURCE.upper())), "INVALID_FIELD"),
    "no Case": (manifest_of(defect(case_sha256="")), "INVALID_FIELD"),
    "a lone surrogate": (text_of(manifest_of(defect(note="\ud800"))).encode(), "INVALID_FIELD"),
    "no list of observations": (manifest_of(defect(observations=None)), "INVALID_FIELD"),
    "an observation without an id": (observed(observation(0, id=None)), "INVALID_FIELD"),
    "one observation twice": (observed(observation(0), observation(1, id="run-0")), "DUPLICATE_OBSERVATION"),
    "another Case": (observed(observation(0), observation(1, case_sha256=OTHER)), "OBSERVATION_CASE_MISMATCH"),
    "a path out": (observed(observation(0, evidence_path="../run-0.zip")), "PATH_ESCAPE"),
    "an absolute path": (observed(observation(0, evidence_path="/run-0.zip")), "PATH_ESCAPE"),
    "evidence twice": (
        observed(observation(0), observation(1, evidence_path="./observations/run-0.zip")),
        "DUPLICATE_EVIDENCE",
    ),
    "a digest that is none": (observed(observation(0, evidence_sha256="?")), "EVIDENCE_DIGEST_MISMATCH"),
    "evidence that was not sent": (observed(observation(0, evidence_sha256=UNKNOWN)), "FILE_UNAVAILABLE"),
    "two digests of one path": (
        manifest_of(
            defect(),
            defect(id="defect-1", observations=[observation(0, evidence_sha256=sha256(RUNS[1])), observation(1)]),
        ),
        "EVIDENCE_DIGEST_MISMATCH",
    ),
    "other evidence at a path of another defect": (
        observed(observation(0, evidence_sha256=sha256(RUNS[1])), observation(1)),
        "EVIDENCE_DIGEST_MISMATCH",
    ),
    "one observation": (observed(observation(0)), "TOO_FEW_OBSERVATIONS"),
    "too large": (manifest_of(note="x" * (2 << 20)), "FILE_TOO_LARGE"),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_a_faulty_manifest_is_refused_whole(refusing: House, name: str) -> None:
    manifest, code = REFUSED[name]
    before = await refusing.image(besides="files")

    answer = await imported(refusing, manifest)

    if code == "INVALID_FIELD":
        assert (answer["__typename"], answer["fault"], answer["path"]) == ("InvalidInput", code, ["fileSha256"])
    else:
        assert (answer["__typename"], answer["code"]) == ("Refused", code)
    assert await refusing.image(besides="files") == before


async def test_a_manifest_that_was_not_sent_is_refused(refusing: House) -> None:
    before = await refusing.image()

    answer = await refusing.act("importManifest", {"agentId": "alpha", "fileSha256": UNKNOWN})

    assert (answer["__typename"], answer["code"]) == ("Refused", "FILE_UNAVAILABLE")
    assert await refusing.image() == before


async def test_a_file_that_the_store_lost_is_refused(refusing: House) -> None:
    await refusing.execute(insert(table(File)).values(sha256=UNKNOWN, size=4))

    answer = await refusing.act("importManifest", {"agentId": "alpha", "fileSha256": UNKNOWN})

    await refusing.execute(delete(table(File)).where(table(File).c.sha256 == UNKNOWN))

    assert (answer["__typename"], answer["code"]) == ("Refused", "FILE_UNAVAILABLE")


@pytest.mark.parametrize("left", [b"", b"{", b"other bytes"])
async def test_a_file_that_is_no_longer_whole_is_refused(refusing: House, left: bytes) -> None:
    digest = await refusing.send(b'{"schema": "some"}')
    obstore.put(refusing.files._store, key_of(digest), left)

    answer = await refusing.act("importManifest", {"agentId": "alpha", "fileSha256": digest})

    assert (answer["__typename"], answer["code"]) == ("Refused", "FILE_UNAVAILABLE")


async def test_an_agent_must_be_registered(refusing: House) -> None:
    answer = await imported(refusing, manifest_of(), agentId="beta")

    assert answer["__typename"] == "NotFound"


async def test_an_operator_is_needed(refusing: House) -> None:
    given = {"agentId": "alpha", "fileSha256": UNKNOWN}

    answer = await refusing.act("importManifest", given, Viewer("rita", Role.REVIEWER))

    assert (answer["__typename"], answer["required"]) == ("Forbidden", "OPERATOR")


async def test_a_tree_alone_changes_its_defects_and_the_api_may_add_others(home: House, root: Path) -> None:
    write_unit(root)
    await home.take(root)
    before = await home.image(besides="files")

    owned = await imported(home, manifest_of(defect(title="Another"), defect(id="further")))
    unwritten = await home.image(besides="files")
    added = await imported(home, manifest_of(defect(), defect(id="further")), replace=True)

    assert (owned["__typename"], owned["code"]) == ("Refused", "TREE_OWNED")
    assert f"{UNIT}/ground_truth/manifest.json" in owned["message"]
    assert unwritten == before
    assert counts(added) == (1, 0, 1, 0)
    keepers = await home.execute(select(table(Defect).c.defect_id, table(Defect).c.keeper).order_by("id"))
    assert keepers == [("defect-0", "TREE"), ("further", "API")]
    # The tree's manifest is not the API's to describe.
    assert not (await home.take(root)).changed
    await home.assert_sound()


async def test_replacing_leaves_what_a_tree_keeps(home: House, root: Path) -> None:
    write_unit(root)
    await home.take(root)
    runs = [await home.send(body) for body in RUNS]
    await home.act("confirmDefect", {"agentId": "alpha", "defectId": "own", "defect": described(runs)})

    answer = await imported(home, manifest_of(), replace=True)

    assert counts(answer) == (0, 0, 0, 1)
    current = table(Defect).c.retired_at.is_(None)
    assert await home.execute(select(table(Defect).c.defect_id).where(current)) == [("defect-0",)]


async def test_an_invalid_manifest_of_a_tree_must_be_mended_first(home: House, root: Path) -> None:
    write_unit(root)
    write(root / MANIFEST, "{")
    await home.take(root)

    answer = await imported(home, manifest_of())

    assert (answer["__typename"], answer["code"]) == ("Refused", "INVALID_JSON")


async def test_a_broken_registry_must_be_mended_first(home: House, root: Path) -> None:
    write_unit(root)
    await home.take(root)
    write(root / "resources/registry.toml", "[[agents")
    await home.take(root)

    answer = await imported(home, manifest_of())

    assert (answer["__typename"], answer["code"]) == ("Refused", "REGISTRY_INVALID")
