"""A Suite that came as an archive: unpacked aside, read as any other, and kept by the API."""

import asyncio
import posixpath
import shutil
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final, TypeVar

from sqlalchemy import Row, select

from interchange.archives import unpack
from interchange.decisions import Verdict, check_claims, notices_of, record_claims
from interchange.discovery import EVENTS, PLAN, RESULTS, find_suites
from interchange.files import TreeFiles
from interchange.reading import Fault
from interchange.records import KeptFile, Notice, SuiteRecord
from interchange.store.session import Import
from interchange.store.suites import store_suite
from interchange.store.trees import files_of, store_files
from interchange.suites import SuiteReading, read_suite
from interchange.uploads import Store, checked, refusal, size_of
from models import Assessment, Suite
from models.base import Keeper, ReasonCode, table
from resolvers.acting import OVERVIEW, Acting
from resolvers.errors import Refused, Subject
from resolvers.judgement import judge
from resolvers.locks import change_ground

suites, assessments = table(Suite), table(Assessment)

Result = TypeVar("Result")

ARCHIVE: Final = "archive"
# Where an archive lies while it is read; it goes away with the rest.
UNPACKED: Final = f"{RESULTS}/{ARCHIVE}"


@dataclass(frozen=True, slots=True)
class SuiteImport:
    suite_pk: int
    created: bool
    accepted: int
    notices: list[Notice]


async def take_suite(acting: Acting, store: Store, digest: str) -> SuiteImport:
    """Bring in the Suite, or bring the one that the API keeps in step; its sidecar's records are decided one by one."""
    size = await size_of(acting.connection, digest)
    async with _private_directory() as root:
        await _fetch(store, digest, size, root / ARCHIVE)
        try:
            reading = await _to_its_end(_read, root, size)
        except Fault as fault:
            raise refusal(fault, ("archive_sha256",)) from fault
        return await _stored(acting, store, root, reading)


@asynccontextmanager
async def _private_directory() -> AsyncIterator[Path]:
    root = await asyncio.to_thread(mkdtemp, prefix="assay-")
    try:
        yield Path(root)
    finally:
        # Not even a cancelled request leaves anything behind.
        await _to_its_end(shutil.rmtree, root)


async def _to_its_end(work: Callable[..., Result], *given: Any) -> Result:
    """A thread goes on when its request is cancelled, so that the files it works on must stay until it ends."""
    thread = asyncio.ensure_future(asyncio.to_thread(work, *given))
    try:
        return await asyncio.shield(thread)
    finally:
        await asyncio.wait([thread])


async def _fetch(store: Store, digest: str, size: int, target: Path) -> None:
    with target.open("wb") as file:
        async for chunk in checked(store, digest, size):
            await asyncio.to_thread(file.write, chunk)


def _read(root: Path, size: int) -> SuiteReading:
    with (root / ARCHIVE).open("rb") as archive:
        unpack(archive, size, root / UNPACKED)
    found = list(find_suites(root))
    if len(found) != 1:
        message = f"the archive must hold one {PLAN} with its {EVENTS}, at its top or in a directory"
        raise Fault(ReasonCode.ARCHIVE_INVALID, message)
    reading = found[0].fault or read_suite(TreeFiles(root), found[0].path)
    if isinstance(reading, Fault):
        raise Fault(reading.code, _as_packed(reading.message))
    notices = [replace(notice, message=_as_packed(notice.message)) for notice in reading.notices]
    return replace(reading, notices=notices)


def _as_packed(message: str) -> str:
    return message.removeprefix(f"{UNPACKED}/")


async def _stored(acting: Acting, store: Store, root: Path, reading: SuiteReading) -> SuiteImport:
    record, connection = reading.record, acting.connection
    await change_ground(connection)
    held = select(suites).where(suites.c.suite_id == record.suite_id).with_for_update()
    row = (await connection.execute(held)).one_or_none()
    if row is not None and row.keeper == Keeper.TREE and row.retired_at is None:
        _require_equal(record, row)
        return _done(row.id, False, reading, await check_claims(connection, record.suite_id, record.sidecar))
    kept = list(files_of(record))
    await _to_its_end(_keep, store, root, kept)
    await store_files(connection, kept)
    pk = await _store(acting, _placed(record, row), row)
    verdicts = await record_claims(acting, record.suite_id, record.sidecar)
    return _done(pk, row is None or row.retired_at is not None, reading, verdicts)


def _require_equal(record: SuiteRecord, row: Row[Any]) -> None:
    if row.content_sha256 != record.content_sha256:
        message = f"A project tree keeps this Suite with other content: change it in {row.directory} there."
        raise Refused(message, ReasonCode.TREE_OWNED, Subject(Suite, row.id))


def _keep(store: Store, root: Path, files: Sequence[KeptFile]) -> None:
    with store.batch() as keep:
        for file in files:
            with (root / file.path).open("rb") as body:
                keep(file.sha256, body)


def _placed(record: SuiteRecord, row: Row[Any] | None) -> SuiteRecord:
    """Where an export is to write it: where it was before, else under its id."""
    directory = (row and row.directory) or f"{RESULTS}/{record.suite_id}"
    documents = [
        replace(document, path=posixpath.join(directory, posixpath.relpath(document.path, record.directory)))
        for document in record.documents
    ]
    return replace(record, directory=directory, documents=documents)


async def _store(acting: Acting, record: SuiteRecord, row: Row[Any] | None) -> int:
    session = Import(acting.connection, None, acting.actor)
    pk = await store_suite(session, record, row)
    if session.touched_suites:
        await judge(acting.connection, assessments.c.suite_pk == pk)
        acting.topics.add(OVERVIEW)
    return pk


def _done(pk: int, created: bool, reading: SuiteReading, verdicts: Sequence[Verdict]) -> SuiteImport:
    accepted = sum(verdict.code is None for verdict in verdicts)
    return SuiteImport(pk, created, accepted, [*reading.notices, *notices_of(reading.record.suite_id, verdicts)])
