"""Bytes kept by their digest: in a directory here, or in any object store that obstore knows."""

import asyncio
import os
import sys
from collections.abc import AsyncIterable, AsyncIterator, Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import IO, Final
from uuid import uuid4

import obstore
from obstore.exceptions import BaseError
from obstore.store import LocalStore, ObjectStore, from_url

from server.settings import Settings

Keep = Callable[[str, IO[bytes]], None]

# Enough to tell what a file is.
HEAD: Final = 1024
# Old enough that nobody still writes it.
LEFTOVER_AGE: Final = timedelta(days=1)


# From so many files on, writing out what all programs wrote takes less time than one file after the other.
# Only Linux waits until that is done.
MANY: Final = 100


@dataclass(frozen=True, slots=True)
class StoredFile:
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Received:
    """Bytes that came whole and lie aside; `head` is how they begin."""

    aside: str
    file: StoredFile
    head: bytes


class TooLong(Exception):
    """More bytes came than the caller allows."""


def key_of(digest: str) -> str:
    return f"sha256/{digest[:2]}/{digest}"


def sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Measure:
    """Passes chunks on and knows what went by."""

    def __init__(self, limit: int | None) -> None:
        self._digest = sha256()
        self._limit = limit
        self.size = 0
        self.head = b""

    async def through(self, chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
        async for chunk in chunks:
            self.size += len(chunk)
            if self._limit is not None and self.size > self._limit:
                raise TooLong
            self._digest.update(chunk)
            if len(self.head) < HEAD:
                self.head += chunk[: HEAD - len(self.head)]
            yield chunk

    def stored(self) -> StoredFile:
        return StoredFile(self._digest.hexdigest(), self.size)


class FileStore:
    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._directory = Path(store.prefix) if isinstance(store, LocalStore) and store.prefix else None

    async def put(self, chunks: AsyncIterable[bytes], *, limit: int | None = None) -> StoredFile:
        """Stores bytes whose digest shows once all have come; raises TooLong and keeps nothing beyond the limit."""
        received = await self.receive(chunks, limit=limit)
        await self.settle(received)
        return received.file

    async def receive(self, chunks: AsyncIterable[bytes], *, limit: int | None = None) -> Received:
        """Takes bytes in without giving them a name yet; whoever sends them may take long."""
        aside = f"tmp/{uuid4().hex}"
        measure = Measure(limit)
        await obstore.put_async(self._store, aside, measure.through(chunks))
        return Received(aside, measure.stored(), measure.head)

    async def settle(self, received: Received) -> None:
        """Gives what was received its name, or throws it away where that is taken already."""
        stored = received.file
        if await self.size(stored.sha256) == stored.size:
            await self.drop(received)
        else:
            await obstore.rename_async(self._store, received.aside, key_of(stored.sha256))
        await asyncio.to_thread(self._make_durable, [stored.sha256])

    async def drop(self, received: Received) -> None:
        with suppress(FileNotFoundError):
            await obstore.delete_async(self._store, received.aside)

    async def size(self, digest: str) -> int | None:
        try:
            return (await obstore.head_async(self._store, key_of(digest)))["size"]
        except FileNotFoundError:
            return None

    async def read(self, digest: str) -> bytes:
        try:
            found = await obstore.get_async(self._store, key_of(digest))
            return bytes(await found.bytes_async())
        except BaseError as error:
            raise OSError(f"the file {digest} cannot be read from its store") from error

    async def stream(self, digest: str, start: int, end: int) -> AsyncIterator[bytes]:
        """The bytes from start up to end, which must lie within the file."""
        if start == end:
            return
        try:
            part = await obstore.get_async(self._store, key_of(digest), options={"range": (start, end)})
            async for chunk in part.stream():
                yield bytes(chunk)
        except BaseError as error:
            raise OSError(f"the file {digest} cannot be read from its store") from error

    @contextmanager
    def batch(self) -> Iterator[Keep]:
        """Gives a function that keeps bytes of a known digest; they are durable when the block ends without error.

        For importers, which read and hash in a thread of their own: commit the rows that name the files afterwards.
        """
        kept: list[str] = []

        def keep(digest: str, body: IO[bytes]) -> None:
            if self._keep(digest, body):
                kept.append(digest)

        yield keep
        self._make_durable(kept)

    def sweep(self) -> int:
        """Removes what uploads left behind that were cut off long ago; says how many."""
        before = datetime.now(UTC) - LEFTOVER_AGE
        found = [entry for entries in obstore.list(self._store, "tmp/") for entry in entries]
        uploads = [entry["path"] for entry in found if entry["last_modified"] < before]
        obstore.delete(self._store, uploads)
        parts = [part for part in self._parts() if part.stat().st_mtime < before.timestamp()]
        for part in parts:
            part.unlink()
        return len(uploads) + len(parts)

    def older(self, than: timedelta, most: int) -> Iterator[list[str]]:
        """The digests of what was stored that long ago, so many at a time."""
        before = datetime.now(UTC) - than
        for entries in obstore.list(self._store, "sha256/", chunk_size=most):
            yield [entry["path"].rpartition("/")[2] for entry in entries if entry["last_modified"] < before]

    def remove(self, digests: Collection[str]) -> None:
        obstore.delete(self._store, [key_of(digest) for digest in digests])

    def _keep(self, digest: str, body: IO[bytes]) -> bool:
        # A power cut may have left a name with fewer bytes: compare sizes, too.
        if self._size(digest) == body.seek(0, os.SEEK_END):
            return False
        body.seek(0)
        obstore.put(self._store, key_of(digest), body)
        return True

    def _size(self, digest: str) -> int | None:
        try:
            return obstore.head(self._store, key_of(digest))["size"]
        except FileNotFoundError:
            return None

    def _make_durable(self, digests: list[str]) -> None:
        """An object store answers once it is; in a directory, files and the names that lead to them must be synced."""
        if self._directory is None or not digests:
            return
        if len(digests) > MANY and sys.platform == "linux":
            os.sync()
            return
        files = [self._directory / key_of(digest) for digest in digests]
        for path in (*files, *{file.parent for file in files}, self._directory / "sha256", self._directory):
            sync(path)

    def _parts(self) -> Iterator[Path]:
        """What a killed process was writing: obstore puts `#` and a number after the name, and does not list it."""
        if self._directory:
            yield from self._directory.glob("tmp/*#*")
            yield from self._directory.glob("sha256/*/*#*")


def file_store(settings: Settings) -> FileStore:
    if settings.files_url:
        return FileStore(from_url(settings.files_url))
    return FileStore(LocalStore(settings.data_dir.resolve() / "files", mkdir=True))
