"""`assay export` and `assay assessments check`, as a person calls them."""

import asyncio
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from server.commands import load
from server.refusal import Refusal, WrongUsage
from tests.interchange.building import SIDECAR, assessment, sidecar_of, write, write_suite, write_unit
from tests.interchange.holding import bytes_of


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    write_unit(root)
    write_suite(root)
    return root


@pytest.fixture(autouse=True)
def environment(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_DATABASE_URL", database)
    monkeypatch.setenv("ASSAY_DATA_DIR", str(tmp_path / "data"))


async def run(*call: object) -> Result:
    # In a thread: commands have an event loop of their own.
    return await asyncio.to_thread(CliRunner().invoke, load(), [str(word) for word in call])


def refusal_of(result: Result) -> Refusal:
    assert isinstance(result.exception, Refusal), result.output
    return result.exception


async def test_a_tree_is_exported_and_then_in_step(root: Path, tmp_path: Path) -> None:
    await run("import", root)

    first = await run("export", tmp_path / "copy")
    second = await run("export", tmp_path / "copy", "--json")

    assert first.exit_code == 0
    assert first.output.splitlines()[-1] == f"{tmp_path}/copy: 8 files written, 0 were in step"
    assert f"{tmp_path}/copy/resources/registry.toml" in first.output.splitlines()
    assert json.loads(second.output) == {"written": [], "unchanged": 8, "notes": []}
    assert bytes_of(tmp_path / "copy").items() <= bytes_of(root).items()


async def test_what_cannot_be_written_ends_with_1(root: Path, tmp_path: Path) -> None:
    await run("import", root)
    write(tmp_path / "copy/results", "a file")

    refusal = refusal_of(await run("export", tmp_path / "copy"))

    assert refusal.status == 1
    assert len(refusal.faults) == 3
    assert all(str(fault).startswith(f"{tmp_path}/copy: NOT_A_REGULAR_FILE: results/") for fault in refusal.faults)


async def test_one_of_several_trees_must_be_named(root: Path, tmp_path: Path) -> None:
    await run("import", root)
    write_suite(tmp_path / "second", suite_id="second")
    await run("import", tmp_path / "second", "--as", "second")

    refusal = refusal_of(await run("export", tmp_path / "copy"))
    named = await run("export", tmp_path / "copy", "--as", "tree", "--agent", "alpha")

    assert "second, tree" in str(refusal)
    assert not isinstance(refusal, WrongUsage)
    assert named.exit_code == 0


async def test_a_log_is_named_and_left_out(tmp_path: Path) -> None:
    start = {"event": "run_started", "suite_id": "old", "selected_agent_ids": [], "selected_case_counts": {}}
    await run("import", "--log", write(tmp_path / "log.json", [start]))

    done = await run("export", tmp_path / "copy")

    assert done.exit_code == 0
    assert "NO_PROVENANCE: Suite old" in done.output


async def test_a_sidecar_is_checked_record_by_record(root: Path, tmp_path: Path) -> None:
    await run("import", root)
    sidecar = write(tmp_path / "sidecar.json", sidecar_of(assessment(), assessment(), assessment(attempt_id="try-9")))
    sound = write(tmp_path / "sound.json", sidecar_of(assessment()))

    told, as_json = await run("assessments", "check", sidecar), await run("assessments", "check", sidecar, "--json")
    fine = await run("assessments", "check", sound)

    lines = [line.removeprefix(f"{sidecar}: ") for line in told.output.splitlines()]
    assert lines[:2] == ["assessments[0]: would be accepted", "assessments[1]: stands already"]
    assert lines[2].startswith("assessments[2]: UNKNOWN_ATTEMPT: ")
    assert (told.exit_code, as_json.exit_code, fine.exit_code) == (1, 1, 0)
    assert [verdict["code"] for verdict in json.loads(as_json.output)] == [None, None, "UNKNOWN_ATTEMPT"]


async def test_what_a_tree_says_already_stands(root: Path) -> None:
    write(root / SIDECAR, sidecar_of(assessment()))
    await run("import", root)

    done = await run("assessments", "check", root / SIDECAR)

    assert done.exit_code == 0
    assert done.output == f"{root / SIDECAR}: assessments[0]: stands already\n"


async def test_a_faulty_sidecar_is_refused(root: Path, tmp_path: Path) -> None:
    await run("import", root)
    codes = []
    for body in ("{", sidecar_of(suite_id="nowhere"), sidecar_of(schema="another"), "x" * (2 << 20) + " "):
        refusal = refusal_of(await run("assessments", "check", write(tmp_path / "sidecar.json", body)))
        codes.append(str(refusal.faults[0]).split(": ")[1])

    assert codes == ["INVALID_JSON", "UNKNOWN_SUITE", "UNSUPPORTED_SCHEMA", "FILE_TOO_LARGE"]
