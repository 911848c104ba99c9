"""What is read again of a tree, and what is not."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

from interchange import cache, suites
from interchange.cache import Cache
from interchange.reader import read_tree
from interchange.records import TreeRecord
from models.base import ManifestState, ReasonCode
from tests.interchange.building import (
    MANIFEST,
    SIDECAR,
    SUITE,
    UNIT,
    assessment,
    manifest_of,
    numbered,
    one_attempt,
    sidecar_of,
    write,
    write_suite,
    write_unit,
)

EVIDENCE = f"{UNIT}/ground_truth/observations/run-0.zip"
ARTIFACT = f"{SUITE}/cases/0/case.json"


class Follower:
    """Reads one tree again and again, and notes what it had to do for it."""

    def __init__(self, root: Path) -> None:
        self.root, self.cache = root, Cache()
        self.kept: list[bytes] = []

    def read(self) -> TreeRecord:
        self.kept.clear()
        return read_tree(self.root, self.cache, self._keep)

    def _keep(self, _: str, body: IO[bytes]) -> None:
        self.kept.append(body.read())


@pytest.fixture
def follower(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Follower:
    # The files of these tests are younger than any that would be trusted.
    monkeypatch.setattr(cache, "SETTLED_NS", 0)
    write_unit(tmp_path)
    write_suite(tmp_path)
    write(tmp_path / SIDECAR, sidecar_of(assessment()))
    return Follower(tmp_path)


def rewritten(path: Path, data: bytes) -> None:
    """Other bytes of the same number under the same time of modification."""
    before = path.stat()
    assert len(data) == before.st_size
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_an_unchanged_tree_is_neither_parsed_nor_kept_again(
    follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = follower.read()
    monkeypatch.setattr(suites, "parse_plan", None)
    monkeypatch.setattr(suites, "iterate_list", None)

    second = follower.read()

    assert second == first
    assert second.suites[0] is first.suites[0]
    assert second.agents[0] is first.agents[0]
    assert b"".join(follower.kept) == (follower.root / "resources/registry.toml").read_bytes() * len(follower.kept)


def test_a_new_sidecar_does_not_cost_reading_the_events_again(
    follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    follower.read()
    monkeypatch.setattr(suites, "iterate_list", None)
    write(follower.root / SIDECAR, sidecar_of())

    assert follower.read().suites[0].sidecar == []


def test_an_edited_manifest_shows(follower: Follower) -> None:
    follower.read()
    write(follower.root / MANIFEST, manifest_of())

    assert follower.read().agents[0].defects == []


@pytest.mark.parametrize(("path", "data"), [(EVIDENCE, b"run X"), (ARTIFACT, b"cASE")], ids=["evidence", "artifact"])
def test_the_same_size_and_time_hide_no_edit(path: str, data: bytes, follower: Follower) -> None:
    assert follower.read().notices == []
    before = follower.read()

    rewritten(follower.root / path, data)
    after = follower.read()

    assert after != before
    found = (after.agents[0].manifest_state, after.suites[0].slots[0].artifact_fault)
    assert found in (
        (ManifestState.INVALID, None),
        (ManifestState.VALID, ReasonCode.CASE_ARTIFACT_MISMATCH),
    )


def test_a_mended_file_counts_again(follower: Follower) -> None:
    before = follower.read()
    (follower.root / ARTIFACT).unlink()
    assert follower.read().suites[0].slots[0].artifact_fault is ReasonCode.FILE_UNAVAILABLE

    write(follower.root / ARTIFACT, b"case")

    assert follower.read() == before


def test_an_appended_event_shows(follower: Follower) -> None:
    follower.read()
    retried = {"event": "case_started", "agent_id": "alpha", "case_index": 0, "attempt_id": "try-2"}
    write(follower.root / SUITE / "events.json", numbered([*one_attempt(), retried]))

    assert [attempt.attempt_id for attempt in follower.read().suites[0].slots[0].attempts] == ["try-1", "try-2"]


def test_suites_come_and_go(follower: Follower) -> None:
    follower.read()
    write_suite(follower.root, directory="results/second", suite_id="second")
    assert [suite.suite_id for suite in follower.read().suites] == ["first", "second"]

    shutil.copytree(follower.root / SUITE, follower.root / "results/copy")
    assert [suite.suite_id for suite in follower.read().suites] == ["second"]

    shutil.rmtree(follower.root / "results/copy")
    shutil.rmtree(follower.root / "results/second")
    assert [suite.suite_id for suite in follower.read().suites] == ["first"]


def test_a_broken_registry_shows_and_so_does_the_mended_one(follower: Follower) -> None:
    before = follower.read()
    registry = follower.root / "resources/registry.toml"
    sound = registry.read_text()
    registry.write_text("[[agents]")
    assert follower.read().registry_valid is False

    registry.write_text(sound)

    assert follower.read() == before


@pytest.mark.parametrize(
    "change",
    [
        lambda unit: write(unit / "agent/new.py", ""),
        lambda unit: write(unit / "agent/main.py", "print(1)\n"),
        lambda unit: (unit / "agent/main.py").unlink(),
    ],
    ids=["added", "edited", "removed"],
)
def test_a_changed_source_has_another_digest(change: Callable[[Path], object], follower: Follower) -> None:
    before = follower.read().agents[0].source_sha256
    change(follower.root / UNIT)

    assert follower.read().agents[0].source_sha256 not in (before, None)


def test_a_link_that_turns_outside_is_noticed(follower: Follower) -> None:
    outside = write(follower.root / "stray/0/case.json", b"case")
    follower.read()
    shutil.rmtree(follower.root / SUITE / "cases")
    (follower.root / SUITE / "cases").symlink_to(outside.parents[1])

    assert follower.read().suites[0].slots[0].artifact_fault is ReasonCode.PATH_ESCAPE


def test_a_file_as_young_as_the_clock_is_coarse_is_read_again(
    follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "SETTLED_NS", 10**18)
    first = follower.read()

    second = follower.read()

    assert second == first
    assert second.suites[0] is not first.suites[0]
    assert (follower.root / EVIDENCE).read_bytes() in follower.kept
