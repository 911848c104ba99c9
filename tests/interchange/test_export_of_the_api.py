"""What an export writes of agents and Suites that the API keeps."""

from pathlib import Path

import pytest

from interchange.imports import adopt
from interchange.legacy import read_log
from interchange.records import TreeRecord
from interchange.store.archives import take_suite
from models.base import ReasonCode
from tests.interchange.building import (
    MANIFEST,
    REGISTRY,
    SIDECAR,
    SUITE,
    UNIT,
    sidecar_of,
    write,
    write_suite,
)
from tests.interchange.exporting import confirmed, plan_agent, read, record, registered, write_tree
from tests.interchange.holding import Holding, bytes_of
from tests.interchange.packing import files_of, zipped


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_tree(tmp_path / "tree")


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
