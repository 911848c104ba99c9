"""The service beside a tree that people and programs edit: what they do shows, without a restart."""

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from interchange.imports import store
from server.app import create_app
from server.following import Followed
from server.settings import Settings
from tests.databases import execute
from tests.interchange.building import (
    ATTEMPT,
    MANIFEST,
    REGISTRY,
    SIDECAR,
    SUITE,
    UNIT,
    assessment,
    defect,
    manifest_of,
    numbered,
    one_attempt,
    sidecar_of,
    write,
    write_suite,
    write_unit,
)
from tests.live import serving
from tests.server.processes import stream
from tests.server.test_serving import refusal_of, start

Document = dict[str, Any]

PATIENCE = 30


def codes(warnings: Iterable[Document]) -> set[str]:
    return {warning["code"] for warning in warnings}


@dataclass
class Tree:
    root: Path
    client: httpx.AsyncClient

    async def shows(self, fact: Callable[[Document], bool]) -> Document:
        """The overview, once it says so."""
        async with asyncio.timeout(PATIENCE):
            while True:
                document: Document = (await self.client.get("/api/benchmark/overview")).json()
                if fact(document):
                    return document
                await asyncio.sleep(0.02)

    async def shows_one_discovery(self) -> Document:
        return await self.shows(lambda document: document["ground_truth"]["discovered_defect_count"] == 1)

    async def warns(self, code: str) -> Document:
        return await self.shows(lambda document: code in codes(document["ground_truth"]["warnings"]))

    async def lists_suites(self, *names: str) -> Document:
        def listed(document: Document) -> list[str]:
            return [suite["suite_id"] for agent in document["agents"] for suite in agent["suites"]]

        return await self.shows(lambda document: listed(document) == list(names))

    def write(self, path: str, content: Any) -> Path:
        return write(self.root / path, content)


def sound_tree(root: Path) -> Path:
    """One agent, one defect, one Suite in which the Judge discovered it."""
    write_unit(root)
    write_suite(root)
    write(root / SIDECAR, sidecar_of(assessment()))
    return root


@asynccontextmanager
async def followed(database: str, directory: Path) -> AsyncIterator[Tree]:
    root = sound_tree(directory / "tree")
    app = create_app(Settings(data_dir=directory / "data"), database, Followed(root, "tree"))
    async with serving(app) as host, httpx.AsyncClient(base_url=f"http://{host}") as client:
        yield Tree(root, client)


@pytest.fixture
async def tree(database: str, tmp_path: Path) -> AsyncIterator[Tree]:
    async with followed(database, tmp_path) as tree:
        await tree.shows_one_discovery()
        yield tree


async def test_an_edited_manifest_shows_and_unbinds_what_was_decided(tree: Tree) -> None:
    tree.write(MANIFEST, manifest_of(defect(title="Repeats every refund")))

    document = await tree.warns("STALE_REVISION")

    assert document["agents"][0]["ground_truth"]["defects"][0]["title"] == "Repeats every refund"
    assert document["ground_truth"]["discovered_defect_count"] == 0


async def test_edited_evidence_makes_the_manifest_invalid(tree: Tree) -> None:
    tree.write(f"{UNIT}/ground_truth/observations/run-1.zip", b"run x")

    document = await tree.warns("EVIDENCE_DIGEST_MISMATCH")

    assert document["agents"][0]["ground_truth"]["status"] == "invalid"


async def test_the_same_size_and_modification_time_hide_no_edit(tree: Tree) -> None:
    evidence = tree.root / UNIT / "ground_truth/observations/run-1.zip"
    before = evidence.stat()

    evidence.write_bytes(b"run x")
    os.utime(evidence, ns=(before.st_atime_ns, before.st_mtime_ns))

    await tree.warns("EVIDENCE_DIGEST_MISMATCH")
    assert (evidence.stat().st_size, evidence.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)


async def test_an_edited_artifact_refuses_what_was_decided_about_it(tree: Tree) -> None:
    tree.write(f"{SUITE}/cases/0/case.json", b"another case")

    document = await tree.warns("CASE_ARTIFACT_MISMATCH")

    assert document["ground_truth"]["assessment_count"] == 0


async def test_an_assessment_that_is_taken_away_and_added_again_counts_again(tree: Tree) -> None:
    tree.write(SIDECAR, sidecar_of())
    await tree.shows(lambda document: document["ground_truth"]["assessment_count"] == 0)

    tree.write(SIDECAR, sidecar_of(assessment()))

    await tree.shows_one_discovery()


async def test_an_appended_retry_takes_a_completion_back(tree: Tree) -> None:
    retry = {"event": "case_attempt_started", **ATTEMPT, "attempt_id": "try-2", "attempt_number": 2}

    tree.write(f"{SUITE}/events.json", numbered([*one_attempt(), retry]))

    document = await tree.shows(lambda document: document["totals"]["completed_case_count"] == 0)
    assert document["agents"][0]["suites"][0]["state"] == "running"
    assert document["ground_truth"]["discovered_defect_count"] == 1


async def test_a_suite_shows_when_it_is_added_and_goes_when_it_is_removed(tree: Tree) -> None:
    added = write_suite(tree.root, directory="results/deeper/second", suite_id="second")
    await tree.lists_suites("first", "second")

    shutil.rmtree(added)

    await tree.lists_suites("first")


async def test_a_second_directory_with_the_same_identity_leaves_both_out(tree: Tree) -> None:
    again = write_suite(tree.root, directory="results/again")
    document = await tree.lists_suites()
    assert codes(document["warnings"]) == {"AMBIGUOUS_SUITE"}

    shutil.rmtree(again)

    await tree.shows_one_discovery()


async def test_a_broken_registry_hides_its_agents_until_it_is_mended(tree: Tree) -> None:
    registry = (tree.root / REGISTRY).read_text()
    tree.write(REGISTRY, "[[agents")
    document = await tree.warns("REGISTRY_INVALID")
    assert [agent["ground_truth"]["status"] for agent in document["agents"]] == ["invalid"]

    tree.write(REGISTRY, registry)

    await tree.shows_one_discovery()


async def test_a_root_that_is_away_for_a_while_takes_nothing_with_it(tree: Tree) -> None:
    aside = tree.root.rename(tree.root.with_name("aside"))
    write(aside / SIDECAR, sidecar_of(assessment(judge_detected=False)))
    await tree.lists_suites("first")

    aside.rename(tree.root)

    document = await tree.shows(lambda document: document["ground_truth"]["discovered_defect_count"] == 0)
    assert document["ground_truth"]["assessment_count"] == 1


async def test_edits_show_where_no_file_system_tells_of_them(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def deaf(*_: Any, **__: Any) -> AsyncIterator[None]:
        raise OSError("no watches left")
        yield

    monkeypatch.setattr("interchange.watch.awatch", deaf)
    async with followed(database, tmp_path) as tree:
        await tree.shows_one_discovery()

        tree.write(SIDECAR, sidecar_of())

        await tree.shows(lambda document: document["ground_truth"]["assessment_count"] == 0)


async def test_an_import_that_fails_is_tried_again_and_ends_nothing(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = iter([OSError("the file store is full"), ConnectionError("the database is away")])

    async def faulty(*arguments: Any, **options: Any) -> Any:
        if fault := next(faults, None):
            raise fault
        return await store(*arguments, **options)

    monkeypatch.setattr("interchange.watch.store", faulty)
    async with followed(database, tmp_path) as tree:
        await tree.shows_one_discovery()

    assert next(faults, None) is None


def serve(database: str, data_dir: Path, root: Path, *options: str) -> Any:
    return start(data_dir, 0, "--root", str(root), *options, ASSAY_DATABASE_URL=database)


def address_of(process: Any) -> str:
    return str(stream(process.stdout).readline().strip().removeprefix("GraphiQL: ").removesuffix("/graphql"))


async def test_another_process_takes_over_when_the_following_one_is_killed(database: str, tmp_path: Path) -> None:
    root = sound_tree(tmp_path / "tree")
    with serve(database, tmp_path / "data", root) as first, serve(database, tmp_path / "data", root) as second:
        try:
            addresses = await asyncio.to_thread(lambda: [address_of(first), address_of(second)])
            async with httpx.AsyncClient(base_url=addresses[1]) as client:
                tree = Tree(root, client)
                await tree.shows_one_discovery()
                first.send_signal(signal.SIGKILL)
                tree.write(SIDECAR, sidecar_of())

                await tree.shows(lambda document: document["ground_truth"]["assessment_count"] == 0)
        finally:
            first.kill()
            second.terminate()
        assert second.wait(PATIENCE) == 0


async def test_a_name_that_belongs_to_another_root_is_refused_at_once(database: str, tmp_path: Path) -> None:
    await execute(database, "INSERT INTO trees (name, root, registry_valid) VALUES ('tree', '/elsewhere', true)")

    refusal = await asyncio.to_thread(refusal_of, serve(database, tmp_path / "data", sound_tree(tmp_path / "tree")))

    assert refusal.startswith("--root: ROOT_MISMATCH: ")
    assert "elsewhere" not in refusal
