"""Files written over a tree: each of them appears complete and at once, or stays as it was."""

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Final
from uuid import uuid4

from interchange.agents import DESCRIPTION, MANIFEST
from interchange.discovery import EVENTS, PLAN
from interchange.export.deciding import Content, digest_of
from interchange.reading import EVENTS_LIMIT, Fault, Place, resolve, shown, stream
from interchange.registry import REGISTRY
from interchange.sidecars import SIDECAR
from interchange.uploads import Store, checked
from models.base import ReasonCode
from resolvers.errors import Refused

STAGING: Final = ".assay-export-"
# Whoever names a file is written after it: evidence and artifacts first, the registry last.
ORDER: Final = (f"/{DESCRIPTION}", f"/{EVENTS}", f"/{PLAN}", f"/{SIDECAR}", f"/{MANIFEST}", REGISTRY.path)


@dataclass(frozen=True, slots=True)
class Staged:
    """A file that lies ready on the same file system as its place."""

    source: Path
    path: str


def differing(root: Path, files: Mapping[str, Content]) -> tuple[list[str], list[Fault]]:
    """The paths at which the target holds anything else, in the order to write them, and those that bar writing."""
    changed, faults = [], []
    for path, content in files.items():
        try:
            if not _holds(root, Place("", path), digest_of(content)):
                changed.append(path)
        except Fault as fault:
            faults.append(fault)
    return sorted(changed, key=lambda path: (_rank(path), path)), faults


def _rank(path: str) -> int:
    return next((rank for rank, end in enumerate(ORDER, 1) if path.endswith(end)), 0)


def _holds(root: Path, place: Place, digest: str) -> bool:
    if not os.path.lexists(root / place.path):
        _require_place(root, place)
        return False
    found = hashlib.sha256()
    try:
        reading = stream(root, place, EVENTS_LIMIT, found.update)
    except Fault as fault:
        if fault.code is ReasonCode.FILE_TOO_LARGE:
            return False
        raise
    if reading is None:
        raise place.fault(ReasonCode.FILE_UNAVAILABLE, "changes while it is read")
    return reading.sha256 == digest


def _require_place(root: Path, place: Place) -> None:
    """A new file lies in a directory that is inside the tree, or can be made there."""
    above = resolve(root, place).parent
    while not above.exists():
        above = above.parent
    if not above.is_dir():
        raise place.fault(ReasonCode.NOT_A_REGULAR_FILE, "would lie in something that is no directory")
    if root.exists() and above.is_relative_to(root) and above.stat().st_dev != root.stat().st_dev:
        raise place.fault(ReasonCode.FILE_UNAVAILABLE, "lies on another file system, where nothing appears at once")


async def lost(files: Mapping[str, Content], paths: Sequence[str], store: Store) -> list[Fault]:
    """Files to be written whose bytes are no longer kept."""
    faults = []
    for path in paths:
        content = files[path]
        if isinstance(content, str) and await store.size(content) is None:
            message = f"{shown(path)}: the file store has lost its bytes"
            faults.append(Fault(ReasonCode.FILE_UNAVAILABLE, message))
    return faults


async def write(root: Path, files: Mapping[str, Content], paths: Sequence[str], store: Store) -> None:
    """Every file is whole and on the disk before the first of them takes its place."""
    if not paths:
        return
    make_directories(root)
    with _staging(root) as directory:
        staged = []
        for number, path in enumerate(paths):
            source = directory / str(number)
            await _stage(source, Place("", path), files[path], store)
            staged.append(Staged(source, path))
        publish(root, staged)


@contextmanager
def _staging(root: Path) -> Iterator[Path]:
    with _alone(root):
        for left in root.glob(f"{STAGING}*"):
            shutil.rmtree(left)
        directory = root / f"{STAGING}{uuid4().hex}"
        directory.mkdir(mode=0o700)
        try:
            yield directory
        finally:
            shutil.rmtree(directory)


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise Fault(ReasonCode.FILE_UNAVAILABLE, "another export writes here just now") from error
    finally:
        os.close(descriptor)


async def _stage(source: Path, place: Place, content: Content, store: Store) -> None:
    with source.open("wb") as file:
        if isinstance(content, bytes):
            file.write(content)
        else:
            try:
                async for chunk in checked(store, content, await store.size(content) or 0):
                    file.write(chunk)
            except Refused as error:
                raise place.fault(error.code, error.message) from error
        file.flush()
        os.fsync(file.fileno())


def publish(root: Path, staged: Sequence[Staged]) -> None:
    """From here on nothing can be refused, only cut off: what was moved is new, all else as it was."""
    for _, files in groupby(staged, key=lambda file: _rank(file.path)):
        for directory in {_move(root, file) for file in files}:
            _sync(directory)


def _move(root: Path, file: Staged) -> Path:
    """Answers the directory whose entries changed."""
    target = resolve(root, Place("", file.path))
    make_directories(target.parent)
    with suppress(FileNotFoundError):
        file.source.chmod(target.stat().st_mode & 0o777)
    file.source.replace(target)
    return target.parent


def make_directories(directory: Path) -> None:
    """Each is on the disk before something is put into it."""
    missing = [above for above in (directory, *directory.parents) if not above.exists()]
    for new in reversed(missing):
        new.mkdir(exist_ok=True)
        _sync(new.parent)


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
