"""What commands say, and the status they end with: 0 done, 1 refused, 2 wrong usage."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from graphql import build_schema
from typer.testing import CliRunner, Result

from interchange.digests import digest_json, file_digest, source_digest
from server.cli import main
from server.commands import load
from tests.interchange.building import (
    MANIFEST,
    REGISTRY,
    SIDECAR,
    UNIT,
    assessment,
    defect,
    manifest_of,
    sidecar_of,
    write,
    write_suite,
    write_unit,
)

Assay = Callable[..., Result]

LEGACY = [
    {"event": "run_started", "suite_id": "older", "selected_agent_ids": ["alpha"], "selected_case_counts": {"alpha": 2}}
]


@pytest.fixture
def assay(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Assay:
    monkeypatch.setenv("ASSAY_DATABASE_URL", database)
    monkeypatch.setenv("ASSAY_DATA_DIR", str(tmp_path / "data"))
    runner, commands = CliRunner(), load()
    return lambda *arguments: runner.invoke(commands, [str(each) for each in arguments], catch_exceptions=False)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    write_unit(root)
    write_suite(root)
    write(root / SIDECAR, sidecar_of(assessment()))
    return root


def unwrapped(output: str) -> str:
    """Without the box that wraps it."""
    return " ".join(output.replace("│", " ").split())


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., list[str]]:
    """Runs a command that must be refused; the lines that it says why."""

    def run(*arguments: object) -> list[str]:
        monkeypatch.setattr("sys.argv", ["assay", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 1
        return capsys.readouterr().err.splitlines()

    return run


def test_an_import_says_what_came_and_a_second_one_that_nothing_did(assay: Assay, tree: Path) -> None:
    first, second = assay("import", tree), assay("import", tree)

    assert first.output == "tree: in step now (agents: 1, Suites: 1, warnings: 0)\n"
    assert second.output == "tree: nothing new (agents: 1, Suites: 1, warnings: 0)\n"


def test_an_import_tells_each_warning_in_a_line(assay: Assay, tree: Path) -> None:
    write(tree / MANIFEST, manifest_of(defect(title=" ")))

    done = assay("import", tree, "--as", "mine")

    assert done.exit_code == 0
    assert done.output.splitlines()[0] == (f"mine: INVALID_FIELD: {MANIFEST}: defects[0].title must be nonempty text")


def test_a_program_reads_of_an_import_as_json(assay: Assay, tree: Path) -> None:
    done = json.loads(assay("import", tree, "--json").output)

    assert done == {"changed": True, "agents": 1, "suites": 1, "notices": []}


def test_a_name_remembers_its_root(assay: Assay, refused: Callable[..., list[str]], tree: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    assay("import", tree)
    tree.rename(moved)

    [line] = refused("import", moved)

    assert line.startswith(f"{moved}: ROOT_MISMATCH: ")
    assert assay("import", moved, "--replace-root").exit_code == 0


@pytest.mark.parametrize("name", ["", " ", "two\nlines", os.fsdecode(b"\xff"), "x" * 501])
def test_a_tree_has_a_name_that_can_be_kept_and_told(assay: Assay, tree: Path, name: str) -> None:
    answer = assay("import", tree, "--as", name)

    assert answer.exit_code == 2
    assert "a tree is called by nonempty text" in unwrapped(answer.output)


def test_a_tree_lies_where_it_can_be_found_again(assay: Assay, tree: Path) -> None:
    elsewhere = tree.rename(tree.with_name(os.fsdecode(b"\xff")))

    answer = assay("import", elsewhere)

    assert answer.exit_code == 2
    assert "must be UTF-8" in unwrapped(answer.output)


def test_what_is_adopted_is_adopted_once(assay: Assay, tree: Path) -> None:
    first, second = assay("import", tree, "--adopt"), assay("import", tree, "--adopt")

    assert "in step now" in first.output
    assert "nothing new" in second.output
    assert json.loads(assay("overview", "--json").output)["ground_truth"]["discovered_defect_count"] == 1


def test_a_tree_that_says_the_same_as_the_api_is_no_rival(assay: Assay, tree: Path) -> None:
    assay("import", tree, "--adopt")
    before = assay("overview", "--json").output

    done = assay("import", tree)

    assert done.output.endswith("(agents: 1, Suites: 1, warnings: 0)\n")
    assert assay("overview", "--json").output == before
    assert assay("verify").output == "nothing differs\n"


def test_a_log_of_before_there_were_plans_brings_its_suite(assay: Assay, tmp_path: Path) -> None:
    log = write(tmp_path / "results.json", LEGACY)

    done, again = assay("import", "--log", log), assay("import", "--log", log)

    document = json.loads(assay("overview", "--json").output)
    assert done.exit_code == 0
    assert "nothing new" in again.output
    assert document["totals"] == {"suite_count": 1, "agent_count": 1, "case_count": 2, "completed_case_count": 0}


def test_a_log_that_is_none_is_refused(refused: Callable[..., list[str]], assay: Assay, tmp_path: Path) -> None:
    log = write(tmp_path / "results.json", [])

    assert refused("import", "--log", log) == [f"{log}: INVALID_FIELD: results.json: must hold a run_started event"]


@pytest.mark.parametrize("arguments", [["import"], ["import", "nowhere"], ["digest"], ["agent", "add"], ["bogus"]])
def test_wrong_usage_is_told_from_a_refusal(assay: Assay, arguments: list[str]) -> None:
    assert assay(*arguments).exit_code == 2


def test_an_import_takes_a_tree_or_a_log_but_not_both(assay: Assay, tree: Path) -> None:
    assert assay("import", tree, "--log", tree / SIDECAR).exit_code == 2


def test_the_overview_shows_a_line_for_each_agent_and_each_warning(assay: Assay, tree: Path) -> None:
    write(tree / SIDECAR, sidecar_of(assessment(), assessment(ground_truth_id="other")))
    assay("import", tree)

    lines = assay("overview").output.splitlines()

    assert lines[1].split() == ["alpha", "assessed", "1/2", "1/1", "1/1", "1/1", "100%"]
    assert lines[2].split() == ["all", "assessed", "1/2", "1/1", "1/1", "1/1", "100%"]
    assert lines[-1].startswith("first/1: UNKNOWN_DEFECT: ")


def test_an_agent_is_added_to_the_tree_above_it(assay: Assay, tree: Path) -> None:
    unit = tree / "resources/agents/02-beta"
    write(unit / "agent.toml", 'agent_id = "beta"\n')

    first, second = assay("agent", "add", unit), assay("agent", "add", unit)

    assert first.output == "beta: registered at resources/agents/02-beta\n"
    assert second.output == "beta: was registered already at resources/agents/02-beta\n"
    assert 'agent_id = "beta"' in (tree / REGISTRY).read_text()


def test_a_unit_without_an_identity_is_refused(refused: Callable[..., list[str]], tree: Path) -> None:
    unit = tree / "resources/agents/02-beta"
    unit.mkdir()

    [line] = refused("agent", "add", unit)

    assert line.startswith(f"{unit}: AGENT_TOML_INVALID: ")


def test_a_staged_unit_has_the_digest_of_its_source_and_no_ground_truth(
    assay: Assay, tree: Path, tmp_path: Path
) -> None:
    done = assay("agent", "stage", tree / UNIT, tmp_path / "staged")

    assert done.output.strip() == source_digest(tree / UNIT) == source_digest(tmp_path / "staged")
    assert not (tmp_path / "staged/ground_truth").exists()


def test_a_sound_manifest_is_found_sound(assay: Assay, tree: Path) -> None:
    assert assay("manifest", "check", tree / MANIFEST).exit_code == 0
    assert assay("manifest", "check", tree / UNIT).exit_code == 0


def test_a_faulty_manifest_is_refused_with_its_first_fault(refused: Callable[..., list[str]], tree: Path) -> None:
    write(tree / MANIFEST, manifest_of(defect(title=" "), defect()))

    [line] = refused("manifest", "check", tree / UNIT)

    assert line == f"{tree / UNIT}: INVALID_FIELD: ground_truth/manifest.json: defects[0].title must be nonempty text"


def test_digests_are_printed(assay: Assay, tree: Path, tmp_path: Path) -> None:
    document = write(tmp_path / "document.json", '{"b": 1.0, "a": 12345678901234567890123}')

    assert assay("digest", "json", document).output.strip() == digest_json({"a": 12345678901234567890123, "b": 1.0})
    assert assay("digest", "file", document).output.strip() == file_digest(document)
    assert assay("digest", "source", tree / UNIT).output.strip() == source_digest(tree / UNIT)


@pytest.mark.parametrize("content", ["{", '{"a": NaN}', '{"a": 1, "a": 2}', '"\\ud800"', "[" * 100_000])
def test_a_document_that_has_no_digest_is_refused(
    refused: Callable[..., list[str]], tmp_path: Path, content: str
) -> None:
    document = write(tmp_path / "document.json", content)

    [line] = refused("digest", "json", document)

    assert line.startswith(f"{document}: INVALID_JSON: ")


def test_the_graph_is_printed_in_the_schema_definition_language(assay: Assay) -> None:
    assert "benchmarkOverview" in build_schema(assay("schema").output).query_type.fields  # type: ignore[union-attr]


def test_verify_names_what_differs_and_ends_as_refused(assay: Assay, tree: Path, tmp_path: Path) -> None:
    assay("import", tree)
    digest = file_digest(tree / UNIT / "ground_truth/observations/run-0.zip")
    (tmp_path / "data/files/sha256" / digest[:2] / digest).unlink()

    done = assay("verify")

    assert done.exit_code == 1
    assert done.output.splitlines() == [
        f"files/{digest}: FILE_UNAVAILABLE: the file store has no such file",
        "differences: 1",
    ]
