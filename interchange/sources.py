"""A unit's execution source: which files it has, and the one digest of them all."""

import hashlib
import os
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from interchange.reading import Fault, Place, Signature, examine, shown, stream
from models.base import ReasonCode

_FOLDERS = {
    *(".git", ".venv", "venv", "__pycache__", ".pytest_cache", ".mypy_cache", "node_modules"),
    *(".cache", ".kuma", "results", "cache"),
}
_FILES = (".DS_Store", ".env*", "*.pyc", "*.pyo")
GROUND_TRUTH = "ground_truth"


def source_files(unit: Path) -> Iterator[str]:
    """Relative paths in the order of the digest: a directory's files by name, then its subdirectories by name."""
    folders = [""]
    while folders:
        folder = folders.pop()
        files, subfolders = _listed(unit, folder)
        yield from files
        folders.extend(reversed(subfolders))


def source_signatures(unit: Path) -> tuple[tuple[str, Signature], ...]:
    """What changes whenever the source digest may."""
    return tuple((path, examine(unit, Place("", path))) for path in source_files(unit))


def source_digest(unit: Path) -> str:
    unit = unit.resolve()
    digest = hashlib.sha256()
    for path in source_files(unit):
        digest = _with_file(digest, unit, path)
    return digest.hexdigest()


def _with_file(digest: "hashlib._Hash", unit: Path, path: str) -> "hashlib._Hash":
    place, name = Place("", path), os.fsencode(path)
    for _ in range(2):
        extended = digest.copy()
        signature = examine(unit, place)
        extended.update(len(name).to_bytes(8) + name + signature[2].to_bytes(8))
        reading = stream(unit, place, sys.maxsize, extended.update)
        if reading and reading.signature == signature:
            return extended
    raise place.fault(ReasonCode.FILE_UNAVAILABLE, "keeps changing while it is read")


def _listed(unit: Path, folder: str) -> tuple[list[str], list[str]]:
    prefix = f"{folder}/" if folder else ""
    files, subfolders = [], []
    for entry in _scanned(unit / folder):
        if entry.is_dir(follow_symlinks=False):
            if not _is_foreign_folder(prefix, entry.name):
                subfolders.append(prefix + entry.name)
        elif not entry.is_dir() and not any(fnmatchcase(entry.name, pattern) for pattern in _FILES):
            files.append(prefix + entry.name)
    return files, subfolders


def _scanned(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        raise Fault(ReasonCode.FILE_UNAVAILABLE, f"{shown(folder.name)}: cannot be listed") from error


def _is_foreign_folder(prefix: str, name: str) -> bool:
    return name in _FOLDERS or name.endswith(".egg-info") or (not prefix and name == GROUND_TRUTH)
