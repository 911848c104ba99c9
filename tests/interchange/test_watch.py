"""What a follower listens to."""

import os
from pathlib import Path

from interchange.watch import _directories
from tests.interchange.building import SUITE, write_suite


def test_directories_behind_links_are_not_listened_to(tmp_path: Path) -> None:
    root = tmp_path / "tree"
    write_suite(root)
    (tmp_path / "elsewhere/below").mkdir(parents=True)
    (root / "results/link").symlink_to(tmp_path / "elsewhere")

    heard = {str(Path(directory).relative_to(root)) for directory in _directories(root)}

    assert heard == {".", "results", SUITE, f"{SUITE}/cases", f"{SUITE}/cases/0"}


def test_a_directory_whose_name_cannot_be_told_is_left_to_polling(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff")).mkdir()

    assert _directories(tmp_path) == {str(tmp_path)}


def test_a_root_that_is_away_is_asked_for_all_the_same(tmp_path: Path) -> None:
    assert _directories(tmp_path / "away") == {str(tmp_path / "away")}
