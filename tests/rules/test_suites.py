"""importSuite: an archive becomes a Suite of the API, or nothing of it stays."""

import asyncio
import os
import tempfile
import threading
from pathlib import Path
from typing import IO, Any

import obstore
import pytest
from sqlalchemy import select

from interchange.archives import unpack
from interchange.store import archives
from interchange.verify import verify
from models import Attempt, Suite
from models.base import Role, table
from resolvers.access import Viewer
from tests.interchange.building import (
    SIDECAR,
    SUITE,
    Object,
    assessment,
    numbered,
    one_attempt,
    plan_of,
    result,
    sha256,
    sidecar_of,
    write,
    write_suite,
    write_unit,
)
from tests.interchange.packing import files_of, tarred, zipped
from tests.rules.house import Answer, House

UNKNOWN = sha256(b"never sent")
PACKS = {"zip": zipped, "tar.gz": tarred}


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where archives are unpacked: a directory that must be empty again afterwards."""
    directory = tmp_path / "temporary"
    directory.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    return directory


@pytest.fixture
async def desk(home: House, tmp_path: Path) -> House:
    """A tree that keeps an agent with a defect, and no Suite."""
    write_unit(tmp_path / "agents")
    await home.take(tmp_path / "agents")
    return home


def suite_in(root: Path, *records: Object, **changes: Any) -> Path:
    directory = write_suite(root, **changes)
    if records:
        write(root / SIDECAR, sidecar_of(*records))
    return directory


async def imported(home: House, data: bytes) -> Answer:
    return await home.act("importSuite", {"archiveSha256": await home.send(data)})


async def stored(home: House) -> set[str]:
    """What the file store holds, whether or not a row names it."""
    return {entry["path"] for page in obstore.list(home.files._store) for entry in page}


@pytest.mark.parametrize("pack", PACKS)
@pytest.mark.parametrize("top", ["", "nightly/"])
async def test_an_archive_becomes_a_suite_of_the_api(
    desk: House, root: Path, temporary: Path, pack: str, top: str
) -> None:
    archive = PACKS[pack](files_of(suite_in(root, assessment(), assessment(attempt_id="try-9")), top))

    answer = await imported(desk, archive)

    assert (answer["created"], answer["accepted"]) == (True, 1)
    assert answer["suite"] == {"suiteId": "first", "keeper": "API", "state": "COMPLETE", "caseCount": 2}
    [warning] = answer["warnings"]
    assert (warning["code"], warning["assessmentIndex"]) == ("UNKNOWN_ATTEMPT", 1)
    assert is_empty(temporary)
    await desk.assert_sound()


async def test_the_same_archive_again_changes_nothing(desk: House, root: Path) -> None:
    archive = zipped(files_of(suite_in(root, assessment())))
    await imported(desk, archive)
    before = await desk.image(besides="actions")

    answer = await imported(desk, archive)

    assert (answer["created"], answer["accepted"], answer["warnings"]) == (False, 1, [])
    assert await desk.image(besides="actions") == before


async def test_a_suite_that_went_on_is_brought_in_step(desk: House, root: Path) -> None:
    directory = suite_in(root, assessment())
    await imported(desk, zipped(files_of(directory)))
    saved = result(status="succeeded", note="again")
    write(directory / "events.json", numbered(one_attempt(saved)))

    answer = await imported(desk, tarred(files_of(directory)))

    assert (answer["created"], answer["accepted"]) == (False, 0)
    assert [warning["code"] for warning in answer["warnings"]] == ["RESULT_DIGEST_MISMATCH"]
    [(text,)] = await desk.execute(select(table(Attempt).c.result))
    assert '"note":"again"' in text
    assert await desk.execute("SELECT status, reason FROM assessments") == [("REFUSED", "RESULT_DIGEST_MISMATCH")]
    await desk.assert_sound()


async def test_a_tree_alone_changes_its_suite(desk: House, root: Path) -> None:
    directory = suite_in(root, assessment())
    write_unit(root)
    await desk.take(root, "other")
    equal = await imported(desk, zipped(files_of(directory)))
    before, held = await desk.image(besides="files"), await stored(desk)
    write(directory / "cases/0/case.json", b"edited")
    archive = zipped(files_of(directory))

    answer = await imported(desk, archive)

    assert (equal["created"], equal["accepted"], equal["suite"]["keeper"]) == (False, 1, "TREE")
    assert (answer["__typename"], answer["code"]) == ("Refused", "TREE_OWNED")
    assert SUITE in answer["message"]
    assert answer["subject"]["__typename"] == "Suite"
    assert await desk.image(besides="files") == before
    assert len(await stored(desk) - held) == 1


def is_empty(directory: Path) -> bool:
    return not list(directory.iterdir())


def without(files: dict[str, bytes], *names: str) -> dict[str, bytes]:
    return {name: data for name, data in files.items() if name not in names}


BROKEN: dict[str, tuple[Any, str]] = {
    "no archive": (lambda files: b"plan", "ARCHIVE_INVALID"),
    "a path out": (lambda files: zipped({**files, "../plan.json": b"{}"}), "ARCHIVE_INVALID"),
    "an absolute path": (lambda files: tarred({**files, "/plan.json": b"{}"}), "ARCHIVE_INVALID"),
    "a bomb": (lambda files: zipped({**files, "bomb": bytes(1 << 24)}), "ARCHIVE_INVALID"),
    "no plan": (lambda files: zipped(without(files, "plan.json")), "ARCHIVE_INVALID"),
    "two Suites": (
        lambda files: zipped({f"{n}/{name}": b for n in "ab" for name, b in files.items()}),
        "ARCHIVE_INVALID",
    ),
    "a trace": (lambda files: zipped({**files, "run.json": b"{}"}), "ARCHIVE_INVALID"),
    "a faulty plan": (lambda files: zipped({**files, "plan.json": b"{}"}), "UNAVAILABLE_SUITE"),
    "broken events": (lambda files: zipped({**files, "events.json": b"[{"}), "UNAVAILABLE_SUITE"),
    "a changed plan": (
        lambda files: zipped({**files, "plan.json": files["plan.json"].replace(b"0" * 4, b"1" * 4)}),
        "UNAVAILABLE_SUITE",
    ),
    "one file too many": (
        lambda files: zipped({**files, **{f"{number}": b"" for number in range(100_000)}}),
        "TOO_MANY_FILES",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
async def test_nothing_stays_of_an_archive_that_is_refused(desk: House, root: Path, temporary: Path, name: str) -> None:
    make, code = BROKEN[name]
    files = files_of(suite_in(root, assessment(), configuration={"seed": "0000"}))
    digest = await desk.send(make(files))
    before, held = await desk.image(), await stored(desk)

    answer = await desk.act("importSuite", {"archiveSha256": digest})

    assert (answer["__typename"], answer["code"]) == ("Refused", code)
    assert str(temporary) not in answer["message"]
    assert await desk.image() == before
    assert await stored(desk) == held
    assert is_empty(temporary)


async def test_an_archive_that_was_not_sent_is_refused(desk: House) -> None:
    answer = await desk.act("importSuite", {"archiveSha256": UNKNOWN})

    assert (answer["__typename"], answer["code"]) == ("Refused", "FILE_UNAVAILABLE")


async def test_an_operator_is_needed(desk: House) -> None:
    answer = await desk.act("importSuite", {"archiveSha256": UNKNOWN}, Viewer("rita", Role.REVIEWER))

    assert (answer["__typename"], answer["required"]) == ("Forbidden", "OPERATOR")


async def test_faults_of_a_sidecar_are_told_and_the_suite_is_kept(desk: House, root: Path) -> None:
    directory = suite_in(root)
    write(root / SIDECAR, sidecar_of(assessment(), suite_id="another"))

    answer = await imported(desk, zipped(files_of(directory)))

    assert (answer["created"], answer["accepted"]) == (True, 0)
    assert [warning["code"] for warning in answer["warnings"]] == ["SUITE_IDENTITY_MISMATCH"]
    assert os.fspath(SUITE) not in answer["warnings"][0]["message"]


async def test_a_suite_that_a_tree_let_go_is_taken_over(desk: House, root: Path) -> None:
    directory = suite_in(root)
    write_unit(root)
    await desk.take(root, "other")
    archive = zipped(files_of(directory))
    (directory / "plan.json").unlink()
    (directory / "events.json").unlink()
    await desk.take(root, "other")

    answer = await imported(desk, archive)

    assert (answer["created"], answer["suite"]["keeper"]) == (True, "API")
    assert await desk.execute(select(table(Suite).c.retired_at)) == [(None,)]
    await desk.assert_sound()


async def test_a_plan_without_cases_is_a_suite(desk: House, tmp_path: Path) -> None:
    write(tmp_path / "small/plan.json", plan_of("small", cases=0))
    write(tmp_path / "small/events.json", [])

    answer = await imported(desk, tarred(files_of(tmp_path / "small")))

    assert answer["suite"] == {"suiteId": "small", "keeper": "API", "state": "PLANNED", "caseCount": 0}


async def test_verifying_finds_a_plan_that_is_not_the_suite_s(desk: House, root: Path) -> None:
    await imported(desk, zipped(files_of(suite_in(root))))

    await desk.execute("UPDATE suites SET provenance_sha256 = repeat('0', 64)")

    async with desk.connection() as connection:
        found = [difference async for difference in verify(connection, desk.files)]
    assert [(each.place, each.code) for each in found] == [("suites/first", "DIGEST_DIFFERS")]


async def test_nothing_stays_of_a_request_that_was_cancelled(
    desk: House, root: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread that unpacks goes on for a while, and is waited for."""
    begun, going_on = threading.Event(), threading.Event()

    def slowly(archive: IO[bytes], size: int, target: Path) -> None:
        begun.set()
        assert going_on.wait(30)
        unpack(archive, size, target)

    monkeypatch.setattr(archives, "unpack", slowly)
    digest = await desk.send(zipped(files_of(suite_in(root))))
    before = await desk.image()
    request = asyncio.create_task(desk.act("importSuite", {"archiveSha256": digest}))
    await asyncio.to_thread(begun.wait, 30)

    request.cancel()
    await asyncio.sleep(0)
    going_on.set()
    await asyncio.wait([request])

    assert request.cancelled()
    assert is_empty(temporary)
    assert await desk.image() == before


async def test_a_new_sidecar_is_kept_with_the_same_suite(desk: House, root: Path) -> None:
    directory = suite_in(root)
    await imported(desk, zipped(files_of(directory)))
    write(root / SIDECAR, sidecar_of(assessment()))

    answer = await imported(desk, zipped(files_of(directory)))

    assert (answer["created"], answer["accepted"]) == (False, 1)
    kept = "SELECT path FROM suite_files ORDER BY path"
    assert await desk.execute(kept) == [("events.json",), ("ground_truth/assessments.json",), ("plan.json",)]
    await desk.assert_sound()


async def test_a_tree_that_holds_what_the_api_does_has_nothing_left_out(desk: House, root: Path) -> None:
    directory = suite_in(root, assessment())
    await imported(desk, zipped(files_of(directory)))
    write_unit(root)

    same = await desk.take(root, "other")
    write(root / SIDECAR, sidecar_of(assessment(rationale="Otherwise.")))
    differing = await desk.take(root, "other")
    write(root / SIDECAR, sidecar_of())
    write(directory / "events.json", numbered(one_attempt(result(note="again"))))
    other = await desk.take(root, "other")

    assert [notice.code for notice in same.notices] == []
    for taken in (differing, other):
        assert [(notice.code, notice.suite_id) for notice in taken.notices] == [("API_OWNED", "first")]
    await desk.assert_sound()
