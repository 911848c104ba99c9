"""Generated trees against their known overviews, which a plain recomputation from the records must give."""

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from interchange.cache import Cache
from interchange.reader import read_tree
from tests.oracle import overview

CASES = Path(__file__).parents[1] / "cases/ground_truth"
Tree = runpy.run_path(str(CASES / "trees.py"))["Tree"]


def built(seed: int, directory: Path) -> Path:
    Tree(seed, directory).build()
    return directory


def in_order(document: dict[str, Any]) -> dict[str, Any]:
    for warnings in (document["warnings"], document["ground_truth"]["warnings"]):
        warnings.sort(key=lambda warning: json.dumps(warning, sort_keys=True))
    return document


@pytest.mark.parametrize("seed", range(80))
def test_a_tree_has_its_known_overview(seed: int, tmp_path: Path) -> None:
    expected = json.loads((CASES / f"expected/{seed}.json").read_text())

    assert in_order(overview(read_tree(built(seed, tmp_path)))) == in_order(expected)


@pytest.mark.parametrize("seed", range(80, 120))
def test_a_tree_read_again_is_the_same_with_and_without_a_memory(seed: int, tmp_path: Path) -> None:
    root, cache = built(seed, tmp_path), Cache()

    first = read_tree(root, cache)

    assert read_tree(root, cache) == first == read_tree(root)
