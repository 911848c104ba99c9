import os
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import obstore
import pytest
from obstore.store import LocalStore, MemoryStore, ObjectStore

from server.files import FileStore, StoredFile, TooLong, file_store
from server.settings import Settings


def directory_store(path: Path) -> ObjectStore:
    return LocalStore(path / "files", mkdir=True)


def memory_store(path: Path) -> ObjectStore:
    return MemoryStore()


@pytest.fixture(params=[directory_store, memory_store])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    make: Callable[[Path], ObjectStore] = request.param
    return make(tmp_path)


def digest_of(data: bytes) -> str:
    return sha256(data).hexdigest()


async def in_chunks(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


async def read(files: FileStore, digest: str, start: int, end: int) -> bytes:
    return b"".join([chunk async for chunk in files.stream(digest, start, end)])


def keys(store: ObjectStore) -> list[str]:
    return [entry["path"] for entries in obstore.list(store) for entry in entries]


async def test_bytes_are_found_by_the_digest_they_turn_out_to_have(store: ObjectStore) -> None:
    files = FileStore(store)
    stored = await files.put(in_chunks(b"some ", b"evidence"))
    assert stored == StoredFile(digest_of(b"some evidence"), 13)
    assert await files.size(stored.sha256) == 13
    assert await read(files, stored.sha256, 0, 13) == b"some evidence"
    assert await read(files, stored.sha256, 5, 9) == b"evid"


async def test_an_empty_file_is_a_file(store: ObjectStore) -> None:
    files = FileStore(store)
    stored = await files.put(in_chunks())
    assert stored == StoredFile(digest_of(b""), 0)
    assert await files.size(stored.sha256) == 0
    assert await read(files, stored.sha256, 0, 0) == b""


async def test_bytes_that_came_before_are_not_stored_twice(store: ObjectStore) -> None:
    files = FileStore(store)
    stored = await files.put(in_chunks(b"same"))
    first = obstore.head(store, keys(store)[0])
    await files.put(in_chunks(b"sa", b"me"))
    with files.batch() as keep:
        keep(stored.sha256, BytesIO(b"same"))
    assert keys(store) == [f"sha256/{stored.sha256[:2]}/{stored.sha256}"]
    assert obstore.head(store, keys(store)[0]) == first


async def test_more_bytes_than_allowed_are_refused_and_nothing_is_kept(store: ObjectStore) -> None:
    with pytest.raises(TooLong):
        await FileStore(store).put(in_chunks(b"1234", b"5"), limit=4)
    assert keys(store) == []


async def test_an_upload_that_breaks_off_leaves_nothing(store: ObjectStore) -> None:
    async def breaking() -> AsyncIterator[bytes]:
        yield b"half"
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        await FileStore(store).put(breaking())
    assert keys(store) == []


async def test_a_batch_keeps_bytes_from_wherever_their_reader_stands(store: ObjectStore) -> None:
    files = FileStore(store)
    body = BytesIO(b"artifact")
    body.read()
    with files.batch() as keep:
        keep(digest_of(b"artifact"), body)
    assert await read(files, digest_of(b"artifact"), 0, 8) == b"artifact"


async def test_a_file_that_a_power_cut_left_short_is_stored_again(store: ObjectStore) -> None:
    digest = digest_of(b"artifact")
    obstore.put(store, f"sha256/{digest[:2]}/{digest}", b"")
    files = FileStore(store)
    with files.batch() as keep:
        keep(digest, BytesIO(b"artifact"))
    assert await files.size(digest) == 8


async def test_an_unknown_digest_has_no_size(store: ObjectStore) -> None:
    assert await FileStore(store).size("0" * 64) is None


async def test_a_sweep_removes_old_leftovers_and_nothing_else(tmp_path: Path) -> None:
    files = FileStore(LocalStore(tmp_path, mkdir=True))
    stored = await files.put(in_chunks(b"kept"))
    shard = tmp_path / "sha256" / stored.sha256[:2]
    old = [tmp_path / "tmp" / "cut-off", tmp_path / "tmp" / "killed#1", shard / "killed#1"]
    young = [tmp_path / "tmp" / "running", shard / "running#1"]
    for path in (*old, *young):
        path.write_bytes(b"part")
    long_ago = (shard / stored.sha256).stat().st_mtime - timedelta(days=2).total_seconds()
    for path in (*old, shard / stored.sha256):
        os.utime(path, (long_ago, long_ago))
    assert files.sweep() == 3
    assert [path.exists() for path in old] == [False, False, False]
    assert [path.exists() for path in (*young, shard / stored.sha256)] == [True, True, True]


def test_files_live_in_the_data_directory_unless_an_address_says_otherwise(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    here = file_store(Settings(data_dir=tmp_path / "data"))
    there = file_store(Settings(data_dir=tmp_path / "data", files_url=(tmp_path / "other").as_uri()))
    for files in (here, there):
        with files.batch() as keep:
            keep(digest_of(b"x"), BytesIO(b"x"))
    key = Path("sha256") / digest_of(b"x")[:2] / digest_of(b"x")
    assert (tmp_path / "data" / "files" / key).read_bytes() == b"x"
    assert (tmp_path / "other" / key).read_bytes() == b"x"
