"""Generated trees with records of the API on top: there and back."""

import random
import runpy
from pathlib import Path

import pytest
from sqlalchemy import select

from interchange.files import TreeFiles
from interchange.registry import read_registry
from models.base import ManifestState
from resolvers.confirming import confirm, register
from tests.interchange.building import sha256
from tests.interchange.holding import Holding, agents, bytes_of

CASES = Path(__file__).parents[1] / "cases/ground_truth"
KNOWN = range(80)
# Other trees in every run; the name of a failed test tells which one it was.
FURTHER = random.sample(range(1_000, 1_000_000), 8)
Tree = runpy.run_path(str(CASES / "trees.py"))["Tree"]


def built(seed: int, directory: Path) -> Path:
    Tree(seed, directory).build()
    return directory


async def add(holding: Holding, root: Path) -> None:
    """Further defects of each agent that may have some, an agent of the API, and decisions wherever one is missing."""
    fit = select(agents.c.agent_id).where(agents.c.listed, agents.c.manifest_state != ManifestState.INVALID)
    names = [name for (name,) in await holding.rows(fit)]
    for name in names:
        finding = await holding.finding(name, source=sha256(f"source {name}".encode()))
        async with holding.acting() as acting:
            await confirm(acting, name, "confirmed-here", finding)
    if not read_registry(TreeFiles(root)).is_valid:
        return
    finding = await holding.finding("own")
    async with holding.acting() as acting:
        await register(acting, "of the API é", None, 'frame"work')
        await confirm(acting, "of the API é", "first", finding)


@pytest.mark.parametrize("seed", [*KNOWN, *FURTHER])
async def test_a_tree_with_records_of_the_api_comes_back_the_same(holding: Holding, seed: int, tmp_path: Path) -> None:
    root = built(seed, tmp_path / "tree")
    await holding.take(root)
    await add(holding, root)
    outcomes = await holding.decide(*await holding.waiting())
    overview, accepted = await holding.overview(), await holding.accepted()
    assert all(outcome.error is None for outcome in outcomes)

    await holding.write(tmp_path / "first")
    await holding.clear()
    await holding.take(tmp_path / "first")
    await holding.write(tmp_path / "second")

    assert await holding.accepted() == accepted
    assert await holding.overview() == overview
    assert bytes_of(tmp_path / "second") == bytes_of(tmp_path / "first")


@pytest.mark.parametrize("seed", FURTHER)
async def test_a_tree_written_over_itself_gains_what_the_api_added(holding: Holding, seed: int, tmp_path: Path) -> None:
    root = built(seed, tmp_path / "tree")
    before = bytes_of(root)
    await holding.take(root)
    assert not (await holding.write(root)).written
    await add(holding, root)
    await holding.decide(*await holding.waiting())
    overview, accepted = await holding.overview(), await holding.accepted()

    done = await holding.write(root)
    changed = {path for path, data in bytes_of(root).items() if before.get(path) != data}
    again = await holding.write(root)

    assert set(done.written) == changed
    assert before.keys() <= bytes_of(root).keys()
    assert not again.written
    await holding.clear()
    await holding.take(root)
    assert await holding.accepted() == accepted
    assert await holding.overview() == overview
