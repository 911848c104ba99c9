"""Archives of strangers, unpacked into a directory of our own: nothing in them is trusted, least of all their sizes."""

import errno
import gzip
import io
import re
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Final

from interchange.reading import MIB, Fault, shown
from models.base import ReasonCode
from resolvers.forms import storable_text

MOST_ENTRIES: Final = 100_000
MOST_BYTES: Final = 1024 * MIB
MOST_EXPANSION: Final = 200
# Beyond this, the headers of a tar that name long paths are no names.
LONGEST_HEADER: Final = MIB
_CHUNK: Final = MIB
_TAR_HEADERS: Final = (
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
)
_ZIP_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED: Final = 0x1
# An entry of a zip's directory: its signature, and the lengths of what follows its 46 bytes.
_ZIP_ENTRY: Final = struct.Struct("<4s24xHHH12x")


# The end of a zip of many entries, and how much stands between it and their directory then.
_ZIP64: Final = (b"PK\x06\x06", 76)
_DRIVE: Final = re.compile("[A-Za-z]:")
_UNREADABLE: Final = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    ValueError,
    OverflowError,
    RecursionError,
    NotImplementedError,
)


@dataclass(frozen=True, slots=True)
class Member:
    """An entry of an archive: a directory, or a regular file that yields its bytes once."""

    name: str
    body: IO[bytes] | None


def unpack(archive: IO[bytes], size: int, target: Path) -> None:
    """Writes the files below an empty directory. Raises a Fault, and leaves the directory to its caller."""
    allowed = min(MOST_BYTES, MOST_EXPANSION * size)
    files: set[PurePosixPath] = set()
    try:
        for member in _members(archive, allowed):
            path = _path(member.name)
            if member.body is None:
                continue
            if path in files or not path.parts:
                raise _invalid(f"{shown(member.name)} is there twice, or has no name")
            files.add(path)
            allowed -= _write(member.body, target / path, allowed)
    except (*_UNREADABLE, gzip.BadGzipFile) as error:
        raise _invalid("cannot be read to its end") from error
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        raise _invalid("has a file and a directory of one name") from error
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        raise _invalid("has a name that is too long") from error


def _members(archive: IO[bytes], allowed: int) -> Iterator[Member]:
    start = archive.read(4)
    archive.seek(0)
    if start[:2] == b"PK":
        return _zip_members(archive, allowed)
    if start[:2] == b"\x1f\x8b":
        return _tar_members(archive, allowed)
    raise _invalid("must be a .zip or a .tar.gz")


def _write(body: IO[bytes], path: Path, allowed: int) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    with path.open("xb") as file:
        while chunk := body.read(_CHUNK):
            written += len(chunk)
            if written > allowed:
                raise _too_large()
            file.write(chunk)
    return written


def _path(name: str) -> PurePosixPath:
    """Where a name leads below the directory; names that some program would take for a way out are refused."""
    path = PurePosixPath(name)
    if name.startswith("/") or ".." in path.parts or "\\" in name or _DRIVE.match(name):
        raise _invalid(f"{shown(name)} must be a relative path without '..'")
    if storable_text(name) is None:
        raise _invalid(f"{shown(name)} must be UTF-8")
    return path


def _zip_members(file: IO[bytes], allowed: int) -> Iterator[Member]:
    _require_few_entries(file)
    with zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
        _require_few(len(entries))
        if sum(entry.file_size for entry in entries) > allowed:
            raise _too_large()
        for entry in entries:
            _require_plain(entry)
            if entry.is_dir():
                yield Member(entry.filename, None)
                continue
            with archive.open(entry) as body:
                yield Member(entry.filename, body)


def _require_few_entries(file: IO[bytes]) -> None:
    """Counted before zipfile makes an object of each."""
    end = zipfile._EndRecData(file)  # type: ignore[attr-defined]  # what zipfile itself finds the directory by
    if end is None:
        raise zipfile.BadZipFile
    signature, size, location = end[0], end[5], end[9]
    file.seek(max(0, location - size - (_ZIP64[1] if signature == _ZIP64[0] else 0)))
    directory = file.read(size)
    start, count = 0, 0
    while start + _ZIP_ENTRY.size <= len(directory):
        signature, *lengths = _ZIP_ENTRY.unpack_from(directory, start)
        if signature != b"PK\x01\x02":
            break
        start, count = start + _ZIP_ENTRY.size + sum(lengths), count + 1
        _require_few(count)
    file.seek(0)


def _require_plain(entry: zipfile.ZipInfo) -> None:
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if entry.flag_bits & _ENCRYPTED:
        raise _invalid(f"{shown(entry.filename)} is encrypted")
    if "\0" in entry.orig_filename:
        raise _invalid(f"{shown(entry.filename)} has a name that ends in the middle")
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise _irregular(entry.filename)
    if entry.compress_type not in _ZIP_METHODS:
        raise _invalid(f"{shown(entry.filename)} must be stored or deflated")


def _tar_members(file: IO[bytes], allowed: int) -> Iterator[Member]:
    # Headers count too: they are what is left of a tar of empty files.
    unzipped = _Bounded(gzip.GzipFile(fileobj=file), allowed + 4 * tarfile.BLOCKSIZE * MOST_ENTRIES)
    with tarfile.open(fileobj=unzipped, mode="r|", tarinfo=_Header) as archive:
        for count, entry in enumerate(archive, 1):
            _require_few(count)
            # The archive remembers every member, which nobody here asks for again.
            archive.members.clear()  # type: ignore[attr-defined]
            if entry.isdir():
                yield Member(entry.name, None)
                continue
            if not entry.isreg() or entry.issparse():
                raise _irregular(entry.name)
            body = archive.extractfile(entry)
            assert body is not None, "a regular file has a body"
            yield Member(entry.name, body)


class _Header(tarfile.TarInfo):
    """Refuses headers that would be read into memory, however much they claim to hold."""

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type in _TAR_HEADERS and self.size > LONGEST_HEADER:
            raise _invalid("has a name that is too long")
        found: tarfile.TarInfo = super()._proc_member(archive)  # type: ignore[misc]
        return found

    def _proc_sparse(self, _archive: tarfile.TarFile) -> tarfile.TarInfo:
        raise _irregular(self.name)

    def _proc_gnusparse_10(self, *_: object) -> None:
        raise _irregular(self.name)


class _Bounded(io.RawIOBase):
    """Ends in a fault instead of giving more bytes than allowed."""

    def __init__(self, source: gzip.GzipFile, allowed: int) -> None:
        self._source, self._allowed = source, allowed

    def read(self, size: int = -1) -> bytes:
        data = self._source.read(size)
        self._allowed -= len(data)
        if self._allowed < 0:
            raise _too_large()
        return data


def _require_few(count: int) -> None:
    if count > MOST_ENTRIES:
        raise Fault(ReasonCode.TOO_MANY_FILES, f"the archive holds more than {MOST_ENTRIES} files")


def _too_large() -> Fault:
    limits = f"{MOST_BYTES // MIB} MiB or {MOST_EXPANSION} times its size"
    return _invalid(f"unpacks to more than {limits}")


def _irregular(name: str) -> Fault:
    return _invalid(f"{shown(name)} must be a regular file or a directory, neither link nor device")


def _invalid(message: str) -> Fault:
    return Fault(ReasonCode.ARCHIVE_INVALID, f"the archive {message}")
