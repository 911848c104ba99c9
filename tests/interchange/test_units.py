import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interchange.digests import source_digest
from interchange.reader import read_tree
from interchange.reading import Fault
from interchange.units import add, stage
from models.base import ManifestState, ReasonCode
from tests.interchange.building import REGISTRY, write, write_unit


def new_unit(root: Path, path: str = "resources/agents/02-beta", agent_id: str = "beta") -> Path:
    write(root / path / "agent.toml", f'agent_id = "{agent_id}"\n')
    write(root / path / "agent/main.py", "print(2)\n").chmod(0o755)
    return root / path


def contents(directory: Path) -> dict[str, bytes]:
    return {
        path.relative_to(directory).as_posix(): path.read_bytes() for path in directory.rglob("*") if path.is_file()
    }


def refusal(call: Callable[..., Any], *arguments: Any) -> Fault:
    with pytest.raises(Fault) as caught:
        call(*arguments)
    return caught.value


def test_a_unit_is_registered_in_the_nearest_tree_above(tmp_path: Path) -> None:
    write_unit(tmp_path)
    before = (tmp_path / REGISTRY).read_text()

    added = add(new_unit(tmp_path))

    assert (added.agent_id, added.root, added.path, added.is_new) == (
        "beta",
        tmp_path,
        "resources/agents/02-beta",
        True,
    )
    assert (tmp_path / REGISTRY).read_text().startswith(before)
    assert [agent.agent_id for agent in read_tree(tmp_path).agents] == ["alpha", "beta"]
    assert read_tree(tmp_path).notices == []


def test_a_tree_without_a_registry_gets_one(tmp_path: Path) -> None:
    add(new_unit(tmp_path))

    assert [agent.manifest_state for agent in read_tree(tmp_path).agents] == [ManifestState.MISSING]


def test_a_root_may_be_given(tmp_path: Path) -> None:
    unit = new_unit(tmp_path, "units/beta")

    assert add(unit, tmp_path).path == "units/beta"
    assert [agent.unit_path for agent in read_tree(tmp_path).agents] == ["units/beta"]


def test_a_new_unit_gets_its_placeholder_and_hides_its_ground_truth(tmp_path: Path) -> None:
    unit = new_unit(tmp_path)
    write(unit / ".dockerignore", "*.log")

    add(unit)

    assert (unit / "ground_truth/.gitkeep").read_bytes() == b""
    assert (unit / ".dockerignore").read_text() == "*.log\n/ground_truth/\n"


def test_adding_again_fills_in_what_is_missing_and_changes_nothing_else(tmp_path: Path) -> None:
    unit = new_unit(tmp_path)
    add(unit)
    before = contents(tmp_path)
    (unit / "ground_truth/.gitkeep").unlink()

    added = add(unit)

    assert added.is_new is False
    assert contents(tmp_path) == before


def test_identities_are_written_as_they_are(tmp_path: Path) -> None:
    write_unit(tmp_path)
    unit = new_unit(tmp_path, 'resources/agents/odd "path"\\', 'say \\"é\\u007f\\"')

    add(unit)

    assert read_tree(tmp_path).agents[1].agent_id == 'say "é\x7f"'
    assert read_tree(tmp_path).agents[1].unit_path == 'resources/agents/odd "path"\\'


@pytest.mark.parametrize(
    ("registry", "code"),
    [
        ('[[agents]]\nagent_id = "beta"\npath = "elsewhere"\n', ReasonCode.DUPLICATE_AGENT),
        ('[[agents]]\nagent_id = "x"\npath = "resources/agents/02-beta"\n', ReasonCode.AGENT_IDENTITY_MISMATCH),
        ("[[agents]", ReasonCode.REGISTRY_INVALID),
        ("agents = 1", ReasonCode.REGISTRY_INVALID),
        ("agents = []", ReasonCode.REGISTRY_INVALID),
    ],
)
def test_a_registry_that_speaks_against_it_stays_as_it_is(registry: str, code: ReasonCode, tmp_path: Path) -> None:
    unit = new_unit(tmp_path)
    write(tmp_path / REGISTRY, registry)
    before = contents(tmp_path)

    assert refusal(add, unit).code is code
    assert contents(tmp_path) == before


@pytest.mark.parametrize("text", ["", 'agent_id = ""', "agent_id = 1", "broken"])
def test_a_unit_without_an_identity_is_refused(text: str, tmp_path: Path) -> None:
    unit = new_unit(tmp_path)
    write(unit / "agent.toml", text)

    assert refusal(add, unit).code is ReasonCode.AGENT_TOML_INVALID
    assert not (unit / "ground_truth").exists()


def test_a_unit_outside_every_tree_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "tree"
    root.mkdir()

    assert refusal(add, new_unit(tmp_path, "beta"), root).code is ReasonCode.PATH_ESCAPE
    assert refusal(add, root, root).code is ReasonCode.PATH_ESCAPE


@pytest.mark.parametrize("name", ["ground_truth", ".dockerignore"])
def test_links_are_not_written_through(name: str, tmp_path: Path) -> None:
    unit = new_unit(tmp_path)
    outside = tmp_path / "outside"
    outside.mkdir()
    (unit / name).symlink_to(outside)

    assert refusal(add, unit).code in (ReasonCode.NOT_A_REGULAR_FILE, ReasonCode.PATH_ESCAPE)
    assert list(outside.iterdir()) == []


def test_a_staged_unit_is_its_source_and_nothing_else(tmp_path: Path) -> None:
    unit = write_unit(tmp_path / "tree")
    write(unit / ".env", "SECRET=1")
    write(unit / "agent/__pycache__/main.pyc", b"")
    write(unit / "agent/ground_truth/kept.txt", "ordinary source")
    write(unit / "agent/run.sh", "#!/bin/sh\n").chmod(0o750)
    (unit / "agent/alias.py").symlink_to("main.py")
    destination = tmp_path / "staged"

    digest = stage(unit, destination)

    assert digest == source_digest(unit) == source_digest(destination)
    assert contents(destination).keys() == {
        "agent.toml",
        "agent/alias.py",
        "agent/ground_truth/kept.txt",
        "agent/main.py",
        "agent/run.sh",
    }
    assert not any(path.is_symlink() for path in destination.rglob("*"))
    assert os.access(destination / "agent/run.sh", os.X_OK)
    assert {path.name for path in tmp_path.iterdir()} == {"tree", "staged"}


def test_no_link_carries_ground_truth_into_a_staged_unit(tmp_path: Path) -> None:
    unit = write_unit(tmp_path / "tree")
    (unit / "agent/answers.json").symlink_to("../ground_truth/manifest.json")

    assert refusal(stage, unit, tmp_path / "staged").code is ReasonCode.PATH_ESCAPE
    assert not (tmp_path / "staged").exists()


def test_a_destination_must_be_free_and_outside(tmp_path: Path) -> None:
    unit = write_unit(tmp_path / "tree")
    write(tmp_path / "taken/file", "")
    (tmp_path / "empty").mkdir()

    assert refusal(stage, unit, tmp_path / "taken").code is ReasonCode.NOT_A_REGULAR_FILE
    assert refusal(stage, unit, unit / "copy").code is ReasonCode.PATH_ESCAPE
    assert stage(unit, tmp_path / "empty") == source_digest(unit)


def test_a_unit_with_a_link_out_is_not_staged(tmp_path: Path) -> None:
    unit = write_unit(tmp_path / "tree")
    (unit / "agent/secret").symlink_to(write(tmp_path / "secret", "s"))

    assert refusal(stage, unit, tmp_path / "staged").code is ReasonCode.PATH_ESCAPE
    assert not (tmp_path / "staged").exists()
