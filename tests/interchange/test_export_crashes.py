"""An export that is cut off: every file is the old one or the new one, and the next export finishes."""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from interchange.export import Barred, writing
from interchange.export.writing import STAGING, Staged
from resolvers.confirming import confirm, register
from tests.interchange.building import MANIFEST, SIDECAR, assessment, sidecar_of, write, write_suite, write_unit
from tests.interchange.holding import Holding, bytes_of

CUT_OFF = 9
# All that changes a tree once the files lie ready.
STEPS = ("replace", "mkdir", "fsync", "chmod")


@pytest.fixture
async def root(holding: Holding, tmp_path: Path) -> Path:
    """A tree to which the API added a defect, an agent and a decision: old files to replace, and new ones."""
    root = tmp_path / "tree"
    write_unit(root)
    write_suite(root)
    write(root / SIDECAR, sidecar_of(assessment(attempt_id="try-9")))
    await holding.take(root)
    found = {name: await holding.finding(name) for name in ("new", "own")}
    async with holding.acting() as acting:
        await confirm(acting, "alpha", "new", found["new"])
        await register(acting, "beta", None, None)
        await confirm(acting, "beta", "own", found["own"])
    await holding.decide(*await holding.waiting())
    return root


def cut_off_before(step: int, publish: Callable[[], None]) -> bool:
    """Runs it in a process that dies before that step; says whether it came to its end."""
    child = os.fork()
    if child == 0:
        _die_before(step)
        publish()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, CUT_OFF)
    return code == 0


def _die_before(step: int) -> None:
    passed = count()
    for name in STEPS:
        setattr(os, name, _counted(getattr(os, name), passed, step))


def _counted(function: Callable[..., Any], passed: Iterator[int], last: int) -> Callable[..., Any]:
    def counted(*given: Any, **options: Any) -> Any:
        if next(passed) == last:
            os._exit(CUT_OFF)
        return function(*given, **options)

    return counted


def tree_of(root: Path) -> dict[str, bytes]:
    return {path: data for path, data in bytes_of(root).items() if not path.startswith(STAGING)}


async def test_a_crash_at_any_step_leaves_old_or_new_files(
    holding: Holding, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, bytes]] = []

    def crash_everywhere(root: Path, staged: Sequence[Staged]) -> None:
        for step in count():
            scratch = tmp_path / f"crash-{step}"
            shutil.copytree(root, scratch)
            moved = [Staged(scratch / file.source.relative_to(root), file.path) for file in staged]
            ended = cut_off_before(step, partial(publish, scratch, moved))
            seen.append(tree_of(scratch))
            if ended:
                return

    publish = writing.publish
    before = tree_of(root)
    monkeypatch.setattr(writing, "publish", crash_everywhere)
    done = await holding.write(root)
    assert tree_of(root) == before
    monkeypatch.undo()
    assert (await holding.write(root)).written == done.written
    after = tree_of(root)

    assert len(seen) > 2 * len(done.written)
    assert (seen[0], seen[-1]) == (before, after)
    for found in seen:
        assert found.keys() >= before.keys()
        assert all(data in (before.get(path), after[path]) for path, data in found.items())
    # What names other files comes after them.
    for found in seen:
        if found[MANIFEST] == after[MANIFEST]:
            assert {path for path in after if "/observations/new/" in path} <= found.keys()


async def test_the_next_export_clears_away_what_a_crash_left(holding: Holding, root: Path) -> None:
    write(root / f"{STAGING}dead/0", "half a fi")

    await holding.write(root)

    assert tree_of(root) == bytes_of(root)
    assert not list_of(root, STAGING)


def list_of(root: Path, start: str) -> list[Path]:
    return list(root.glob(f"{start}*"))


@pytest.mark.parametrize("number", range(8))
async def test_a_failure_before_all_files_lie_ready_changes_nothing(
    holding: Holding, root: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    before, passed, fsync = bytes_of(root), count(), os.fsync

    def failing(descriptor: int) -> None:
        if next(passed) == number:
            raise OSError(28, "no space left")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(OSError, match="no space left"):
        await holding.write(root)

    assert bytes_of(root) == before
    assert not list_of(root, STAGING)


async def test_two_exports_do_not_write_at_once(holding: Holding, root: Path) -> None:
    before = bytes_of(root)
    descriptor = os.open(root, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)

    with pytest.raises(Barred, match="another export"):
        await holding.write(root)

    os.close(descriptor)
    assert bytes_of(root) == before
    assert (await holding.write(root)).written
