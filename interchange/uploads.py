"""Documents that came through the API: in the file store by digest, and so are the files that they name."""

import hashlib
import posixpath
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from interchange.reading import DOCUMENT_LIMIT, MIB, Fault, Place
from interchange.records import FileSink, KeptFile
from models import File
from models.base import ReasonCode, table
from resolvers.errors import InvalidInput, Refused, RuleError
from resolvers.forms import sha256
from resolvers.keeping import hold_files
from resolvers.sql import among

files = table(File)


class Store(Protocol):
    """Where bytes are kept by their digest."""

    async def size(self, digest: str) -> int | None: ...

    def stream(self, digest: str, start: int, end: int) -> AsyncIterator[bytes]: ...

    def batch(self) -> AbstractContextManager[FileSink]: ...


class StoredEvidence:
    """Evidence by the digest that is claimed of it: a path names one file, and has one digest."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self._sizes = sizes
        self._claims: dict[str, str] = {}

    def locate(self, place: Place) -> str:
        path = posixpath.normpath(place.path)
        if place.name.startswith("/") or not path.startswith(f"{place.directory}/"):
            raise place.fault(ReasonCode.PATH_ESCAPE, f"must stay inside {place.directory}")
        return path

    def evidence(self, place: Place, claimed: object) -> KeptFile:
        path, digest = self.locate(place), sha256(claimed)
        if digest is None or self._claims.setdefault(path, digest) != digest:
            raise place.fault(ReasonCode.EVIDENCE_DIGEST_MISMATCH, "must have one digest, which evidence_sha256 names")
        if digest not in self._sizes:
            raise place.fault(ReasonCode.FILE_UNAVAILABLE, "no file of its digest was sent to POST /files")
        return KeptFile(path, digest, self._sizes[digest])


async def sizes_of(connection: AsyncConnection, digests: Collection[str]) -> dict[str, int]:
    """Those of these files that are there, held until something refers to them."""
    await hold_files(connection)
    rows = await connection.execute(select(files.c.sha256, files.c.size).where(among(files.c.sha256, sorted(digests))))
    return {row.sha256: row.size for row in rows}


async def document(connection: AsyncConnection, store: Store, digest: str, path: tuple[str, ...]) -> bytes:
    """A document that was sent; `path` leads to its digest in the input."""
    size = await size_of(connection, digest)
    if size > DOCUMENT_LIMIT:
        message = f"{'.'.join(path)}: a document has at most {DOCUMENT_LIMIT // MIB} MiB."
        raise Refused(message, ReasonCode.FILE_TOO_LARGE)
    return b"".join([chunk async for chunk in checked(store, digest, size)])


async def size_of(connection: AsyncConnection, digest: str) -> int:
    sizes = await sizes_of(connection, [digest])
    if digest not in sizes:
        raise _unavailable("No file of this digest was sent to POST /files.")
    return sizes[digest]


async def checked(store: Store, digest: str, size: int) -> AsyncIterator[bytes]:
    """The bytes, which are no longer trusted if their end shows that they are others."""
    found = hashlib.sha256()
    try:
        async for chunk in store.stream(digest, 0, size):
            found.update(chunk)
            yield chunk
    except OSError as error:
        raise _unavailable("The file store has lost this file, or cannot read it.") from error
    if found.hexdigest() != digest:
        raise _unavailable("The file store holds other bytes under this digest.")


def refusal(fault: Fault, path: tuple[str, ...]) -> RuleError:
    """What a reader found wrong, as an answer to whoever sent it."""
    if fault.code is ReasonCode.INVALID_FIELD:
        return InvalidInput(fault.message, path, fault.code)
    return Refused(fault.message, fault.code)


def _unavailable(message: str) -> Refused:
    return Refused(message, ReasonCode.FILE_UNAVAILABLE)
