"""What an export writes of a tree, and what it leaves as it is."""

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from interchange.digests import digest_json
from interchange.reading import Signature, signature_of
from models import Defect
from models.base import table
from resolvers import revising
from resolvers.confirming import retire, revise
from tests.interchange.building import (
    MANIFEST,
    REGISTRY,
    SIDECAR,
    UNIT,
    defect,
    sidecar_of,
    write,
)
from tests.interchange.exporting import confirmed, decide, read, record, write_tree
from tests.interchange.holding import Holding, assessments, bytes_of


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_tree(tmp_path / "tree")


def statuses(root: Path) -> dict[Path, Signature]:
    return {path: signature_of(path.stat()) for path in root.rglob("*")}


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
