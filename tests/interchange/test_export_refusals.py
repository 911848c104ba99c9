"""What an export refuses by name, before it writes anything."""

import os
from pathlib import Path

import obstore
import pytest

from interchange.export import Barred
from interchange.reading import DOCUMENT_LIMIT
from models.base import ReasonCode
from server.files import key_of
from tests.interchange.building import (
    MANIFEST,
    REGISTRY,
    SIDECAR,
    UNIT,
    defect,
    manifest_of,
    sha256,
    sidecar_of,
    write,
    write_suite,
)
from tests.interchange.exporting import confirmed, decide, read, registered, write_tree
from tests.interchange.holding import Holding, bytes_of


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_tree(tmp_path / "tree")


async def refused(holding: Holding, root: Path) -> list[tuple[ReasonCode, str]]:
    """By what and where, with whatever lies there unchanged."""
    before = bytes_of(root)
    with pytest.raises(Barred) as caught:
        await holding.write(root)
    assert bytes_of(root) == before
    return [(fault.code, fault.message) for fault in caught.value.faults]


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


@pytest.mark.parametrize("other", [b"run x", b"ru", b""])
async def test_bytes_that_are_no_longer_those_are_named(
    holding: Holding, root: Path, tmp_path: Path, other: bytes
) -> None:
    await holding.take(root)
    obstore.put(holding.files._store, key_of(sha256(b"run 1")), other)
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


async def test_an_agent_that_is_not_there_is_named(holding: Holding, root: Path, tmp_path: Path) -> None:
    await holding.take(root)

    with pytest.raises(Barred, match="no agent here is called beta"):
        await holding.write(tmp_path / "copy", None, "alpha", "beta")
