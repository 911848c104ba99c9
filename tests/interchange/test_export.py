"""What an export writes, what it leaves alone, and what it refuses by name before it writes anything."""

import json
import os
from pathlib import Path
from typing import Any

import obstore
import pytest
from sqlalchemy import select

from interchange.digests import digest_json
from interchange.export import Barred
from interchange.imports import adopt
from interchange.legacy import read_log
from interchange.reading import DOCUMENT_LIMIT, Signature, signature_of
from interchange.records import TreeRecord
from interchange.store.archives import take_suite
from models import Defect
from models.base import ReasonCode, table
from resolvers import revising
from resolvers.confirming import confirm, register, retire, revise
from server.files import key_of
from tests.interchange.building import (
    MANIFEST,
    REGISTRY,
    SIDECAR,
    SOURCE,
    SUITE,
    UNIT,
    assessment,
    defect,
    manifest_of,
    sha256,
    sidecar_of,
    write,
    write_suite,
    write_unit,
)
from tests.interchange.holding import Holding, assessments, bytes_of
from tests.interchange.packing import files_of, zipped


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A tree with an agent, a defect, a Suite and a decision, written in styles of their own."""
    root = tmp_path / "tree"
    write_unit(root)
    document = manifest_of(defect(cost=1e5, big=12345678901234567890123), owner={"b": 1, "a": 2})
    write(root / MANIFEST, json.dumps(document, indent=7))
    write_suite(root)
    write(root / SIDECAR, json.dumps(sidecar_of(record(), note="kept"), indent=1))
    return root


def record(**changes: Any) -> Any:
    bound = digest_json(defect(cost=1e5, big=12345678901234567890123))
    return assessment(**{"ground_truth_sha256": bound, "colour": "blue", **changes})


async def refused(holding: Holding, root: Path) -> list[tuple[ReasonCode, str]]:
    """By what and where, with whatever lies there unchanged."""
    before = bytes_of(root)
    with pytest.raises(Barred) as caught:
        await holding.write(root)
    assert bytes_of(root) == before
    return [(fault.code, fault.message) for fault in caught.value.faults]


async def decide(holding: Holding, defect_id: str = "defect-0") -> None:
    [decision] = [each for each in await holding.waiting() if each.defect_id == defect_id]
    [outcome] = await holding.decide(decision)
    assert outcome.error is None


async def confirmed(holding: Holding, defect_id: str = "new", agent_id: str = "alpha", **changes: Any) -> None:
    finding = await holding.finding(defect_id, **changes)
    async with holding.acting() as acting:
        await confirm(acting, agent_id, defect_id, finding)


async def registered(holding: Holding, agent_id: str, name: str | None = None, framework: str | None = None) -> None:
    async with holding.acting() as acting:
        await register(acting, agent_id, name, framework)


def statuses(root: Path) -> dict[Path, Signature]:
    return {path: signature_of(path.stat()) for path in root.rglob("*")}


def plan_agent(agent_id: str) -> Any:
    return {"agent_id": agent_id, "case_count": 1, "source_sha256": SOURCE}


def read(path: Path) -> Any:
    return json.loads(path.read_bytes())


async def test_a_tree_is_written_byte_for_byte_as_it_was_read(holding: Holding, root: Path, tmp_path: Path) -> None:
    await holding.take(root)

    done = await holding.write(tmp_path / "copy")

    source = {path: data for path, data in bytes_of(root).items() if not path.endswith("main.py")}
    assert bytes_of(tmp_path / "copy") == source
    assert set(done.written) == source.keys()


async def test_over_the_tree_itself_nothing_is_written(holding: Holding, root: Path) -> None:
    await holding.take(root)
    before = statuses(root)

    done = await holding.write(root)

    assert (done.written, done.unchanged) == ([], 9)
    assert statuses(root) == before


async def test_an_edit_of_the_api_is_added_and_all_else_stays(holding: Holding, root: Path) -> None:
    await holding.take(root)
    await confirmed(holding)
    before = bytes_of(root)

    done = await holding.write(root)

    evidence = [f"{UNIT}/ground_truth/observations/new/run-{number}.zip" for number in range(2)]
    assert sorted(done.written) == sorted([*evidence, MANIFEST])
    manifest = read(root / MANIFEST)
    assert manifest["owner"] == {"b": 1, "a": 2}
    assert [digest_json(each) for each in manifest["defects"]] == [
        digest for (digest,) in await holding.rows(select(table(Defect).c.ground_truth_sha256).order_by("id"))
    ]
    assert {path: data for path, data in bytes_of(root).items() if path not in done.written} == {
        path: data for path, data in before.items() if path != MANIFEST
    }


async def test_unknown_keys_of_a_sidecar_stay_where_a_record_is_added(holding: Holding, root: Path) -> None:
    await holding.take(root)
    await confirmed(holding)
    await decide(holding, defect_id="new")

    await holding.write(root)

    sidecar = read(root / SIDECAR)
    assert sidecar["note"] == "kept"
    assert sidecar["assessments"][0] == record()
    assert [each["ground_truth_id"] for each in sidecar["assessments"]] == ["defect-0", "new"]
    assert sidecar["assessments"][1]["reviewed_at"] == "2026-11-01T09:30:00.123456Z"


async def test_the_api_s_record_stands_in_place_of_those_that_it_refuses(holding: Holding, root: Path) -> None:
    twins = [record(), record(rationale="A different opinion."), record(attempt_id="try-9")]
    write(root / SIDECAR, sidecar_of(*twins))
    await holding.take(root)
    await decide(holding)
    accepted = await holding.accepted()

    await holding.write(root)

    sidecar = read(root / SIDECAR)["assessments"]
    assert [(each["attempt_id"], each["rationale"]) for each in sidecar] == [
        ("try-1", "Ran it again: é."),
        ("try-9", twins[2]["rationale"]),
    ]
    await holding.clear()
    await holding.take(root)
    assert await holding.accepted() == accepted


async def test_a_record_that_both_hold_is_written_once(holding: Holding, root: Path, tmp_path: Path) -> None:
    write(root / SIDECAR, sidecar_of())
    await holding.take(root)
    await decide(holding)
    await holding.write(tmp_path / "copy")
    write(root / SIDECAR, (tmp_path / "copy" / SIDECAR).read_bytes())
    await holding.take(root)

    done = await holding.write(root)

    assert done.written == []


async def test_what_was_withdrawn_or_no_longer_counts_is_not_written(holding: Holding, root: Path) -> None:
    write(root / SIDECAR, sidecar_of())
    await holding.take(root)
    await decide(holding)
    [(key, version)] = await holding.rows(select(assessments.c.id, assessments.c.version))
    async with holding.acting() as acting:
        await revising.withdraw(acting, key, version, "A mistake.")

    done = await holding.write(root)

    assert done.written == []


@pytest.mark.parametrize(
    "faulty",
    [
        sidecar_of(record(), schema="another"),
        sidecar_of(record(), suite_id="another"),
        "[]",
        '{"assessments": [',
        "\ud800",
    ],
)
async def test_a_sidecar_that_nobody_could_read_stays_within_the_new_one(
    holding: Holding, root: Path, faulty: Any
) -> None:
    body = faulty.encode("utf-8", "surrogatepass") if isinstance(faulty, str) else json.dumps(faulty).encode()
    write(root / SIDECAR, body)
    await holding.take(root)
    untouched = await holding.write(root)
    await decide(holding)
    accepted = await holding.accepted()

    await holding.write(root)

    assert untouched.written == []
    replaced = read(root / SIDECAR)["replaced"]
    assert replaced == (faulty if isinstance(faulty, dict) else replaced)
    await holding.clear()
    await holding.take(root)
    assert await holding.accepted() == accepted
    assert (await holding.write(root)).written == []


async def test_an_agent_of_the_api_gets_a_unit_that_imports(holding: Holding, tmp_path: Path) -> None:
    await registered(holding, 'бот "7"', "Bot", "plain \\ framework")
    await confirmed(holding, agent_id='бот "7"')
    await registered(holding, "idle")
    overview = await holding.overview()

    await holding.write(tmp_path)

    unit = tmp_path / 'resources/agents/бот "7"'
    assert (unit / "agent.toml").read_text() == (
        'agent_id = "бот \\"7\\""\nname = "Bot"\nframework = "plain \\\\ framework"\n'
    )
    assert (tmp_path / "resources/agents/idle/agent.toml").read_text() == 'agent_id = "idle"\n'
    await holding.clear()
    imported = await holding.take(tmp_path)
    assert (imported.agents, imported.notices) == (2, [])
    assert await holding.overview() == overview


async def test_a_registry_keeps_its_words_and_gains_an_entry(holding: Holding, root: Path) -> None:
    text = "# Ours\n" + (root / REGISTRY).read_text() + 'colour = "blue"  # kept\n'
    write(root / REGISTRY, text)
    await holding.take(root)
    await registered(holding, "beta")

    done = await holding.write(root)

    assert sorted(done.written) == ["resources/agents/beta/agent.toml", REGISTRY]
    assert (root / REGISTRY).read_text().startswith(text)


async def test_a_tree_that_was_never_imported_gains_what_the_api_holds(
    holding: Holding, root: Path, tmp_path: Path
) -> None:
    before = bytes_of(root)
    await registered(holding, "beta")
    await registered(holding, "alpha")
    await confirmed(holding, "defect-7")

    await holding.write(root)

    manifest = read(root / MANIFEST)
    assert [each["id"] for each in manifest["defects"]] == ["defect-7"]
    assert manifest["owner"] == {"b": 1, "a": 2}
    assert (root / UNIT / "agent.toml").read_bytes() == before[f"{UNIT}/agent.toml"]
    assert bytes_of(root / SUITE) == {
        path.removeprefix(f"{SUITE}/"): data for path, data in before.items() if path.startswith(SUITE)
    }


async def test_an_agent_without_a_manifest_gets_one(holding: Holding, root: Path) -> None:
    (root / MANIFEST).unlink()
    (root / UNIT / "agent.toml").unlink()
    (root / SIDECAR).unlink()
    await holding.take(root)
    await confirmed(holding)
    overview = await holding.overview()

    done = await holding.write(root)

    assert {f"{UNIT}/agent.toml", MANIFEST} <= set(done.written)
    await holding.clear()
    await holding.take(root)
    assert await holding.overview() == overview


async def test_links_of_a_tree_are_followed_and_kept(holding: Holding, root: Path, tmp_path: Path) -> None:
    (root / "resources/agents/link").symlink_to("01-alpha")
    write(root / REGISTRY, (root / REGISTRY).read_text().replace("01-alpha", "link"))
    evidence = root / UNIT / "ground_truth/observations"
    evidence.rename(evidence.with_name("kept"))
    evidence.symlink_to("kept")
    await holding.take(root)
    await confirmed(holding)
    overview = await holding.overview()

    done = await holding.write(root)
    await holding.write(tmp_path / "copy")

    assert MANIFEST in done.written or MANIFEST.replace("01-alpha", "link") in done.written
    assert evidence.is_symlink()
    assert (evidence.with_name("kept") / "new/run-0.zip").is_file()
    for written in (root, tmp_path / "copy"):
        await holding.clear()
        await holding.take(written)
        assert await holding.overview() == overview


async def test_what_was_adopted_is_written_again(holding: Holding, root: Path, tmp_path: Path) -> None:
    write(root / UNIT / "agent.toml", 'colour = "blue"\nagent_id = "alpha"\n')
    adopted = await holding.adopt(root)
    accepted, overview = await holding.accepted(), await holding.overview()

    await holding.write(tmp_path / "copy")

    source = {path: data for path, data in bytes_of(root).items() if not path.endswith("main.py")}
    assert adopted.notices == []
    assert bytes_of(tmp_path / "copy") == source
    await holding.clear()
    await holding.take(tmp_path / "copy")
    assert (await holding.accepted(), await holding.overview()) == (accepted, overview)


async def test_adopted_records_in_conflict_are_told_and_left_out(holding: Holding, root: Path, tmp_path: Path) -> None:
    write(root / SIDECAR, sidecar_of(record(), record(rationale="Another."), record(attempt_id="try-9")))

    adopted = await holding.adopt(root)
    again = await holding.adopt(root)

    codes = [notice.code for notice in adopted.notices]
    assert codes == [ReasonCode.CONFLICTING_ASSESSMENTS, ReasonCode.UNKNOWN_ATTEMPT]
    assert not again.changed
    await holding.write(tmp_path / "copy")
    assert read(tmp_path / "copy" / SIDECAR)["assessments"] == []


async def test_a_suite_from_an_archive_is_written_under_its_id(holding: Holding, root: Path, tmp_path: Path) -> None:
    await holding.take(root)
    other = write_suite(tmp_path / "other", suite_id="sent")
    write(other / "ground_truth/assessments.json", sidecar_of(record(), suite_id="sent", note="kept"))
    digest = await holding.send(zipped(files_of(other)))
    async with holding.acting() as acting:
        done = await take_suite(acting, holding.files, digest)
    accepted, overview = await holding.accepted(), await holding.overview()

    await holding.write(root)

    assert (done.created, done.accepted, done.notices) == (True, 1, [])
    assert bytes_of(root / "results/sent") == files_of(other)
    await holding.clear()
    await holding.take(root)
    assert (await holding.accepted(), await holding.overview()) == (accepted, overview)


async def test_a_legacy_log_is_named_and_left_out(holding: Holding, tmp_path: Path) -> None:
    started = {"event": "run_started", "suite_id": "old"}
    events = [{**started, "selected_agent_ids": ["alpha"], "selected_case_counts": {"alpha": 1}}]
    with holding.files.batch() as keep:
        suite = read_log(write(tmp_path / "log.json", events), keep)
    await adopt(holding.connection, TreeRecord(True, [], [suite], [], [], []), actor="ann")

    done = await holding.write(tmp_path / "copy")

    assert done.written == []
    [note] = done.notes
    assert note.code is ReasonCode.NO_PROVENANCE
    assert "old" in note.message


async def test_of_several_trees_one_must_be_named(holding: Holding, root: Path, tmp_path: Path) -> None:
    await holding.take(root)
    write_suite(tmp_path / "second", suite_id="second")
    await holding.take(tmp_path / "second", "second")

    [(code, message)] = await refused(holding, tmp_path / "copy")
    done = await holding.write(tmp_path / "copy", "second")

    assert code is ReasonCode.INVALID_FIELD
    assert "second, tree" in message
    assert {path.split("/")[1] for path in done.written} == {"first"}
    assert read(tmp_path / "copy/results/first/plan.json")["suite_id"] == "second"


@pytest.mark.parametrize(
    "name", ["../up", "a/b", ".", "..", ".hidden", "tab\tbed", "back\\slash", "c:", "é" * 200, " x"]
)
async def test_an_unsafe_name_is_refused(holding: Holding, root: Path, name: str) -> None:
    await holding.take(root)
    await registered(holding, name)

    [(code, message)] = await refused(holding, root)

    assert code is ReasonCode.PATH_ESCAPE
    assert "no safe name" in message


async def test_a_manifest_that_would_pass_its_limit_is_refused(holding: Holding, root: Path) -> None:
    write(root / MANIFEST, manifest_of(defect(), note="x" * (DOCUMENT_LIMIT - 2000)))
    await holding.take(root)
    await confirmed(holding, extra={"note": "y" * 2000})

    [(code, message)] = await refused(holding, root)

    assert code is ReasonCode.FILE_TOO_LARGE
    assert message.startswith(MANIFEST)


async def test_a_sidecar_that_would_pass_its_limit_is_refused(holding: Holding, root: Path, tmp_path: Path) -> None:
    write(root / SIDECAR, sidecar_of(note="x" * (DOCUMENT_LIMIT - 200)))
    await holding.take(root)
    await decide(holding)

    [(code, message)] = await refused(holding, root)

    assert code is ReasonCode.FILE_TOO_LARGE
    assert message.startswith(SIDECAR)
    assert await refused(holding, tmp_path / "nowhere") == [(code, message)]


async def test_bytes_that_were_lost_are_named(holding: Holding, root: Path, tmp_path: Path) -> None:
    await holding.take(root)
    obstore.delete(holding.files._store, key_of(sha256(b"run 1")))

    [(code, message)] = await refused(holding, tmp_path / "copy")

    assert code is ReasonCode.FILE_UNAVAILABLE
    assert message.startswith(f"{UNIT}/ground_truth/observations/run-1.zip")


async def test_bytes_that_are_no_longer_those_are_named(holding: Holding, root: Path, tmp_path: Path) -> None:
    await holding.take(root)
    obstore.put(holding.files._store, key_of(sha256(b"run 1")), b"run x")
    (tmp_path / "copy").mkdir()

    [(code, message)] = await refused(holding, tmp_path / "copy")

    assert code is ReasonCode.FILE_UNAVAILABLE
    assert message.startswith(f"{UNIT}/ground_truth/observations/run-1.zip")
    assert not list((tmp_path / "copy").iterdir())


@pytest.mark.parametrize("kind", ["directory", "pipe", "link out", "link to nothing"])
async def test_what_cannot_be_read_in_the_target_is_named(
    holding: Holding, root: Path, tmp_path: Path, kind: str
) -> None:
    await holding.take(root)
    place = root / SIDECAR
    place.unlink()
    if kind == "directory":
        place.mkdir()
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to(write(tmp_path / "secret", "secret") if kind == "link out" else "missing")
    if kind == "pipe":
        with pytest.raises(Barred) as caught:
            await holding.write(root)
        faults = [(fault.code, fault.message) for fault in caught.value.faults]
    else:
        faults = await refused(holding, root)

    [(code, message)] = faults
    assert code in (ReasonCode.NOT_A_REGULAR_FILE, ReasonCode.PATH_ESCAPE, ReasonCode.FILE_UNAVAILABLE)
    assert message.startswith(SIDECAR)
    assert str(tmp_path) not in message


async def test_a_directory_that_leads_out_is_not_written_into(holding: Holding, root: Path, tmp_path: Path) -> None:
    await holding.take(root)
    target = tmp_path / "target"
    (tmp_path / "elsewhere").mkdir()
    target.mkdir()
    (target / "results").symlink_to(tmp_path / "elsewhere")

    faults = await refused(holding, target)

    assert {code for code, _ in faults} == {ReasonCode.PATH_ESCAPE}
    assert not list((tmp_path / "elsewhere").iterdir())


async def test_a_file_in_place_of_a_directory_is_named(holding: Holding, root: Path, tmp_path: Path) -> None:
    await holding.take(root)
    write(tmp_path / "target/results", "a file")

    faults = await refused(holding, tmp_path / "target")

    assert {code for code, _ in faults} == {ReasonCode.NOT_A_REGULAR_FILE}


async def test_a_manifest_that_could_never_be_read_is_named(holding: Holding, root: Path, tmp_path: Path) -> None:
    write(root / MANIFEST, "x" * (DOCUMENT_LIMIT + 1))
    await holding.take(root)

    over = await holding.write(root)
    [(code, message)] = await refused(holding, tmp_path / "copy")

    assert over.written == []
    assert (code, message.split(":")[0]) == (ReasonCode.FILE_UNAVAILABLE, MANIFEST)


async def test_a_broken_registry_takes_no_further_agent(holding: Holding, root: Path) -> None:
    write(root / REGISTRY, "[[agents")
    await holding.take(root)
    assert (await holding.write(root)).written == []
    await registered(holding, "beta")

    [(code, message)] = await refused(holding, root)

    assert code is ReasonCode.REGISTRY_INVALID
    assert message.startswith(REGISTRY)


async def test_all_that_is_at_fault_is_told_at_once(holding: Holding, root: Path) -> None:
    await holding.take(root)
    for name in ("../up", "a/b"):
        await registered(holding, name)
    (root / SIDECAR).unlink()
    (root / SIDECAR).mkdir()

    faults = await refused(holding, root)

    assert len(faults) == 3


async def test_a_unit_of_another_agent_is_not_taken(holding: Holding, root: Path) -> None:
    await holding.take(root)
    await registered(holding, "01-alpha")

    [(code, message)] = await refused(holding, root)

    assert code is ReasonCode.AGENT_IDENTITY_MISMATCH
    assert message.startswith(UNIT)


async def test_retired_defects_are_not_written(holding: Holding, root: Path) -> None:
    await holding.take(root)
    await confirmed(holding)
    [(digest,)] = await holding.rows(
        select(table(Defect).c.ground_truth_sha256).where(table(Defect).c.defect_id == "new")
    )
    async with holding.acting() as acting:
        await retire(acting, "alpha", "new", digest)

    assert (await holding.write(root)).written == []


async def test_a_mode_that_somebody_set_stays(holding: Holding, root: Path) -> None:
    await holding.take(root)
    (root / MANIFEST).chmod(0o640)
    await confirmed(holding)

    await holding.write(root)

    assert (root / MANIFEST).stat().st_mode & 0o777 == 0o640


async def test_what_is_about_one_agent_is_written_alone(holding: Holding, root: Path, tmp_path: Path) -> None:
    write(root / "resources/agents/02-gamma/agent.toml", 'agent_id = "gamma"\n')
    entry = '[[agents]]\nagent_id = "gamma"\npath = "resources/agents/02-gamma"\n'
    write(root / REGISTRY, (root / REGISTRY).read_text() + entry)
    write_suite(root, directory="results/others", suite_id="others", agents=[plan_agent("gamma")])
    await holding.take(root)
    for name in ("beta", "../up"):
        await registered(holding, name)
    source, copy = bytes_of(root), tmp_path / "copy"

    await holding.write(copy, None, "alpha")
    one = bytes_of(copy)
    await holding.write(copy, None, "beta")

    assert {path: source[path] for path in one} == one
    assert not [path for path in one if "gamma" in path or "others" in path]
    assert {MANIFEST, SIDECAR, f"{SUITE}/plan.json"} <= one.keys()
    assert bytes_of(copy).keys() - one.keys() == {"resources/agents/beta/agent.toml"}
    assert (copy / REGISTRY).read_text().startswith((root / REGISTRY).read_text())
    await holding.write(copy, None, "alpha")
    assert 'agent_id = "beta"' in (copy / REGISTRY).read_text()


async def test_an_agent_that_is_not_there_is_named(holding: Holding, root: Path, tmp_path: Path) -> None:
    await holding.take(root)

    with pytest.raises(Barred, match="no agent here is called beta"):
        await holding.write(tmp_path / "copy", None, "alpha", "beta")


async def test_what_the_api_retired_is_no_longer_named(holding: Holding, root: Path) -> None:
    await holding.take(root)
    await confirmed(holding)
    await holding.write(root)
    await holding.take(root)
    [(digest,)] = await holding.rows(
        select(table(Defect).c.ground_truth_sha256).where(table(Defect).c.defect_id == "new")
    )
    async with holding.acting() as acting:
        await retire(acting, "alpha", "new", digest)

    done = await holding.write(root)

    assert done.written == [MANIFEST]
    assert [each["id"] for each in read(root / MANIFEST)["defects"]] == ["defect-0"]


async def test_what_the_api_revised_takes_the_place_of_its_old_record(holding: Holding, root: Path) -> None:
    await holding.take(root)
    await confirmed(holding)
    await holding.write(root)
    await holding.take(root)
    [(digest,)] = await holding.rows(
        select(table(Defect).c.ground_truth_sha256).where(table(Defect).c.defect_id == "new")
    )
    finding = await holding.finding("new", title="Another title")
    async with holding.acting() as acting:
        await revise(acting, "alpha", "new", digest, finding)

    done = await holding.write(root)

    assert done.written == [MANIFEST]
    assert [each["title"] for each in read(root / MANIFEST)["defects"]] == [defect()["title"], "Another title"]
