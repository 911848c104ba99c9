"""Where a tree keeps its Suites: directories with a plan and events, wherever under results/."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from interchange.reading import Fault, shown
from models.base import ReasonCode
from resolvers.forms import SHORT_PATH, storable_path

RESULTS = "results"
PLAN = "plan.json"
EVENTS = "events.json"
_TRACE = "run.json"


@dataclass(frozen=True, slots=True)
class SuiteDirectory:
    # Relative to the tree.
    path: str
    # Why nothing in it is read.
    fault: Fault | None = None

    @property
    def name(self) -> str:
        """What a Suite without a readable identity is called."""
        return shown(self.path.rpartition("/")[2])


def find_suites(root: Path) -> Iterator[SuiteDirectory]:
    """In the order of their paths; neither links nor Suites nor traces are entered."""
    try:
        folders = _outermost(root)
    except Fault as fault:
        yield SuiteDirectory(RESULTS, fault)
        return
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(root / folder) as found:
                entries = {entry.name: entry for entry in found}
        except OSError:
            yield _unavailable(folder, "cannot be listed")
            continue
        if _TRACE in entries:
            continue
        if PLAN in entries and EVENTS in entries:
            yield _suite(folder, entries[PLAN].is_symlink() or entries[EVENTS].is_symlink())
            continue
        inner = sorted(entries.values(), key=lambda entry: entry.name)
        yield from (_unavailable(f"{folder}/{entry.name}", "is a link") for entry in inner if _is_linked_suite(entry))
        folders.extend(f"{folder}/{entry.name}" for entry in reversed(inner) if entry.is_dir(follow_symlinks=False))


def _outermost(root: Path) -> list[str]:
    """None where no Suite is; raises where that cannot be said, so that nobody takes them for gone."""
    try:
        mode = os.lstat(root / RESULTS).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise Fault(ReasonCode.UNAVAILABLE_SUITE, f"{RESULTS}: cannot be looked at") from error
    if stat.S_ISLNK(mode):
        raise Fault(ReasonCode.UNAVAILABLE_SUITE, f"{RESULTS}: is a link, which is not followed")
    return [RESULTS] if stat.S_ISDIR(mode) else []


def _suite(folder: str, is_linked: bool) -> SuiteDirectory:
    if is_linked:
        return _unavailable(folder, f"{PLAN} and {EVENTS} must be files, not links")
    if storable_path(folder) is None:
        return _unavailable(folder, f"the path of the directory must be {SHORT_PATH}")
    return SuiteDirectory(folder)


def _is_linked_suite(entry: os.DirEntry[str]) -> bool:
    if not entry.is_symlink():
        return False
    return all(os.path.lexists(Path(entry.path) / name) for name in (PLAN, EVENTS))


def _unavailable(folder: str, message: str) -> SuiteDirectory:
    return SuiteDirectory(folder, Fault(ReasonCode.UNAVAILABLE_SUITE, f"{shown(folder)}: {message}"))
