"""Files that other programs write: opened only inside their directory, only when regular, only up to a limit."""

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from models.base import ReasonCode

MIB = 1 << 20
DOCUMENT_LIMIT = 2 * MIB
CONTENT_LIMIT = 64 * MIB
EVENTS_LIMIT = 256 * MIB
_CHUNK = MIB
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# A FIFO or device must never block whoever opens it.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
# Said of a place where nothing stands; of any other nobody knows.
_NOTHING = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)

Signature = tuple[int, int, int, int, int]


class Fault(Exception):
    """Why a file or a record does not count; the message is for people and names what would be right."""

    def __init__(self, code: ReasonCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def shown(path: str) -> str:
    """A path as one printable line, whatever bytes its names hold."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in path)


@dataclass(frozen=True, slots=True)
class Place:
    """A file called `name` inside `directory`, which links in `name` may not leave and which has none itself."""

    directory: str
    name: str

    @property
    def path(self) -> str:
        return f"{self.directory}/{self.name}" if self.directory else self.name

    def fault(self, code: ReasonCode, message: str) -> Fault:
        return Fault(code, f"{shown(self.path)}: {message}")


@dataclass(frozen=True, slots=True)
class Reading:
    sha256: str
    size: int
    signature: Signature


def signature_of(status: os.stat_result) -> Signature:
    """What changes whenever a file's bytes do."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def examine(root: Path, place: Place) -> Signature:
    """The signature of a file that is not read; the faults are those of reading it."""
    with _looked_up(root, place) as (_, _, status):
        return signature_of(status)


def exists(root: Path, place: Place) -> bool:
    """Whether anything stands there, a link that leads nowhere and what may not be looked at included."""
    try:
        os.lstat(root / place.directory / place.name)
    except OSError as error:
        return error.errno not in _NOTHING
    except ValueError:
        return True
    return True


def resolve(root: Path, place: Place) -> Path:
    """Where the links in a name lead, whether or not anything stands there."""
    boundary = root / place.directory
    target = Path(os.path.realpath(boundary / place.name))
    if place.name.startswith("/") or not target.is_relative_to(boundary):
        raise place.fault(ReasonCode.PATH_ESCAPE, f"must stay inside {shown(place.directory) or 'the tree'}")
    return target


def copy(root: Path, place: Place, limit: int, body: IO[bytes]) -> Reading:
    """Copies one unchanging version of a file to `body` and digests what was copied."""
    for _ in range(2):
        body.seek(0)
        body.truncate()
        if reading := stream(root, place, limit, body.write):
            return reading
    raise place.fault(ReasonCode.FILE_UNAVAILABLE, "keeps changing while it is read")


def stream(root: Path, place: Place, limit: int, take: Callable[[bytes], Any]) -> Reading | None:
    """Passes the bytes on as they come; None when the file changed meanwhile, so that they are no version of it."""
    with _opened(root, place) as descriptor:
        before = signature_of(os.fstat(descriptor))
        if before[2] > limit:
            raise _too_large(place, limit)
        digest, size = hashlib.sha256(), 0
        for chunk in _chunks(descriptor):
            size += len(chunk)
            if size > limit:
                raise _too_large(place, limit)
            digest.update(chunk)
            take(chunk)
        if signature_of(os.fstat(descriptor)) != before or size != before[2]:
            return None
        return Reading(digest.hexdigest(), size, before)


def _chunks(descriptor: int) -> Iterator[bytes]:
    while chunk := os.read(descriptor, _CHUNK):
        yield chunk


def _too_large(place: Place, limit: int) -> Fault:
    return place.fault(ReasonCode.FILE_TOO_LARGE, f"is larger than {limit // MIB} MiB")


@contextmanager
def _opened(root: Path, place: Place) -> Iterator[int]:
    with _looked_up(root, place) as (folder, name, _):
        try:
            descriptor = os.open(name, _FILE, dir_fd=folder)
        except OSError as error:
            raise place.fault(ReasonCode.FILE_UNAVAILABLE, "cannot be opened") from error
        try:
            # Something else may have taken the name since it was looked up.
            _require_regular(place, os.fstat(descriptor))
            yield descriptor
        finally:
            os.close(descriptor)


@contextmanager
def _looked_up(root: Path, place: Place) -> Iterator[tuple[int, str, os.stat_result]]:
    """The open folder that holds the file, its name there and its status; no link is followed on the way."""
    folder, name, status = _look_up(root, place)
    try:
        _require_regular(place, status)
        yield folder, name, status
    finally:
        os.close(folder)


def _look_up(root: Path, place: Place) -> tuple[int, str, os.stat_result]:
    try:
        return _straight(root, place) or _resolved(root, place)
    except (OSError, ValueError) as error:
        raise place.fault(ReasonCode.FILE_UNAVAILABLE, "is missing or cannot be read") from error


def _straight(root: Path, place: Place) -> tuple[int, str, os.stat_result] | None:
    """The usual case, a path of plain names without a link, costs no resolving."""
    parts = place.path.split("/")
    if not {"", ".", ".."}.isdisjoint(parts):
        return None
    try:
        found = _status_in(root, parts)
    except OSError:
        return None
    if stat.S_ISLNK(found[2].st_mode):
        os.close(found[0])
        return None
    return found


def _resolved(root: Path, place: Place) -> tuple[int, str, os.stat_result]:
    parts = resolve(root, place).relative_to(root).parts
    return _status_in(root, parts or (".",))


def _status_in(root: Path, parts: Iterable[str]) -> tuple[int, str, os.stat_result]:
    *folders, name = parts
    folder = _enter(root, folders)
    try:
        return folder, name, os.stat(name, dir_fd=folder, follow_symlinks=False)
    except BaseException:
        os.close(folder)
        raise


def _enter(root: Path, folders: Iterable[str]) -> int:
    current = os.open(root, _FOLDER)
    for folder in folders:
        outer = current
        try:
            current = os.open(folder, _FOLDER | os.O_NOFOLLOW, dir_fd=outer)
        finally:
            os.close(outer)
    return current


def _require_regular(place: Place, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise place.fault(ReasonCode.NOT_A_REGULAR_FILE, "must be a regular file")
