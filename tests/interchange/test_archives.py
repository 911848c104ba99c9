"""Archives of strangers: what is unpacked, and what is refused with nothing left of it."""

import errno
import io
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from interchange import archives
from interchange.archives import MOST_ENTRIES, unpack
from interchange.reading import MIB, Fault
from models.base import ReasonCode
from tests.interchange.packing import entry, squeezed, tar_of, tarred, zip_of, zipped

Pack = Callable[[Mapping[str, bytes]], bytes]

FILES = {"plan.json": b"{}", "cases/0/case.json": b"case" * 10, "empty": b"", "é/ü.json": b"1"}
LINKS = [
    entry("link", tarfile.SYMTYPE, linkname="/etc/passwd"),
    entry("link", tarfile.SYMTYPE, linkname="plan.json"),
    entry("link", tarfile.LNKTYPE, linkname="plan.json"),
    entry("pipe", tarfile.FIFOTYPE),
    entry("device", tarfile.CHRTYPE, devmajor=1, devminor=3),
    entry("disk", tarfile.BLKTYPE),
]
WAYS_OUT = ["/etc/cron", "../outside", "a/../../outside", "cases/..", "..", "C:/windows", "\\\\host\\share", "a\\..\\b"]


def unpacked(data: bytes, target: Path) -> dict[str, bytes]:
    unpack(io.BytesIO(data), len(data), target)
    return {p.relative_to(target).as_posix(): p.read_bytes() for p in target.rglob("*") if p.is_file()}


def refused(data: bytes, target: Path) -> Fault:
    with pytest.raises(Fault) as caught:
        unpack(io.BytesIO(data), len(data), target)
    return caught.value


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_files_come_out_as_they_went_in(tmp_path: Path, pack: Pack) -> None:
    assert unpacked(pack(FILES), tmp_path) == FILES


def test_directories_and_a_leading_dot_are_no_fault(tmp_path: Path) -> None:
    entries = [entry("./", tarfile.DIRTYPE), entry("./cases", tarfile.DIRTYPE), entry("./cases/case.json")]

    found = unpacked(tar_of([(each, b"x" if each.isreg() else b"") for each in entries]), tmp_path)

    assert found == {"cases/case.json": b"x"}


@pytest.mark.parametrize("name", WAYS_OUT)
@pytest.mark.parametrize("pack", [zipped, tarred])
def test_a_name_that_leads_out_is_refused(tmp_path: Path, pack: Pack, name: str) -> None:
    inside = tmp_path / "inside"

    fault = refused(pack({"plan.json": b"{}", name: b"stray"}), inside)

    assert fault.code is ReasonCode.ARCHIVE_INVALID
    assert "relative path" in fault.message
    assert [path.name for path in tmp_path.rglob("*")] == ["inside", "plan.json"]


@pytest.mark.parametrize("name", ["../out", "/out"])
def test_a_directory_that_leads_out_is_refused(tmp_path: Path, name: str) -> None:
    data = tar_of([(entry(name, tarfile.DIRTYPE), b"")])

    assert refused(data, tmp_path).code is ReasonCode.ARCHIVE_INVALID


@pytest.mark.parametrize("stray", LINKS, ids=lambda stray: stray.type.decode() + stray.linkname)
def test_a_tar_with_anything_but_files_is_refused(tmp_path: Path, stray: tarfile.TarInfo) -> None:
    fault = refused(tar_of([(entry("plan.json"), b"{}"), (stray, b"")]), tmp_path)

    assert fault.code is ReasonCode.ARCHIVE_INVALID
    assert "neither link nor device" in fault.message


@pytest.mark.parametrize("kind", [0o120777, 0o010644, 0o020644, 0o060644, 0o140644])
def test_a_zip_with_anything_but_files_is_refused(tmp_path: Path, kind: int) -> None:
    stray = zipfile.ZipInfo("link")
    stray.external_attr = kind << 16

    fault = refused(zip_of([(stray, b"/etc/passwd")]), tmp_path)

    assert fault.code is ReasonCode.ARCHIVE_INVALID
    assert not list(tmp_path.iterdir())


def test_an_encrypted_zip_is_refused(tmp_path: Path) -> None:
    data = bytearray(zipped({"plan.json": b"{}"}))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(signature) + offset] |= 1

    assert "encrypted" in refused(bytes(data), tmp_path).message


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_of_other_methods_is_refused(tmp_path: Path, method: int) -> None:
    assert "stored or deflated" in refused(zipped(FILES, method), tmp_path).message


def test_a_name_twice_is_refused(tmp_path: Path) -> None:
    data = tar_of([(entry("plan.json"), b"one"), (entry("./plan.json"), b"two")])

    assert "twice" in refused(data, tmp_path).message


@pytest.mark.parametrize("names", [["a", "a/b"], ["a/b", "a"]])
def test_a_file_that_would_be_a_directory_is_refused(tmp_path: Path, names: list[str]) -> None:
    data = tar_of([(entry(name), b"x") for name in names])

    assert "one name" in refused(data, tmp_path).message


def test_a_name_that_is_no_utf_8_is_refused(tmp_path: Path) -> None:
    data = tar_of([(entry("case\udcff.json"), b"x")])

    assert refused(data, tmp_path).code is ReasonCode.ARCHIVE_INVALID


@pytest.mark.parametrize("name", ["x" * 300, "/".join(["deep" * 10] * 120)])
def test_a_name_that_no_directory_takes_is_refused(tmp_path: Path, name: str) -> None:
    assert "too long" in refused(tarred({name: b"x"}), tmp_path).message


def test_other_failures_of_the_disk_are_no_fault_of_the_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(archives, "_write", full)

    with pytest.raises(OSError, match="no space"):
        unpacked(zipped(FILES), tmp_path)


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_one_file_too_many_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: Pack) -> None:
    monkeypatch.setattr(archives, "MOST_ENTRIES", 3)
    most = {f"{number}.json": b"x" for number in range(3)}

    assert unpacked(pack(most), tmp_path / "most") == most
    fault = refused(pack({**most, "further.json": b"x"}), tmp_path / "further")

    assert fault.code is ReasonCode.TOO_MANY_FILES


def test_a_hundred_thousand_and_one_entries_are_refused(tmp_path: Path) -> None:
    data = zipped({f"{number}": b"" for number in range(MOST_ENTRIES + 1)}, zipfile.ZIP_STORED)

    fault = refused(data, tmp_path)

    assert fault.code is ReasonCode.TOO_MANY_FILES
    assert str(MOST_ENTRIES) in fault.message
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_more_than_200_times_its_size_is_refused(tmp_path: Path, pack: Pack) -> None:
    data = pack({"plan.json": b"{}", "bomb": bytes(64 * MIB)})

    fault = refused(data, tmp_path)

    assert fault.code is ReasonCode.ARCHIVE_INVALID
    assert "200 times" in fault.message
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 200 * len(data) < 64 * MIB


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_more_bytes_than_allowed_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: Pack) -> None:
    monkeypatch.setattr(archives, "MOST_BYTES", 1000)

    assert unpacked(pack({"a": bytes(range(200)) * 5}), tmp_path / "most")
    assert "times its size" in refused(pack({"a": bytes(range(200)) * 5, "b": b"x"}), tmp_path / "more").message


def test_a_zip_that_lies_about_a_size_is_refused(tmp_path: Path) -> None:
    data = bytearray(zipped({"bomb": bytes(MIB)}))
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = data.index(signature) + offset
        data[at : at + 4] = (10).to_bytes(4, "little")

    assert refused(bytes(data), tmp_path).code is ReasonCode.ARCHIVE_INVALID
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 10


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_header_of_many_bytes_is_not_read(tmp_path: Path, kind: bytes) -> None:
    data = tar_of([(entry("long", kind), bytes(64 * MIB)), (entry("plan.json"), b"{}")])

    tracemalloc.start()
    fault = refused(data, tmp_path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert fault.code is ReasonCode.ARCHIVE_INVALID
    assert peak < 8 * MIB


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_SPARSE])
def test_a_file_of_holes_is_refused(tmp_path: Path, kind: bytes) -> None:
    assert refused(tar_of([(entry("sparse", kind), b"x")]), tmp_path).code is ReasonCode.ARCHIVE_INVALID


def test_a_sparse_file_by_a_pax_header_is_refused(tmp_path: Path) -> None:
    sparse = entry("sparse")
    sparse.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "9999999999"}
    body = io.BytesIO()
    with tarfile.open(fileobj=body, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
        sparse.size = 512
        archive.addfile(sparse, io.BytesIO(b"1\n0\n0\n".ljust(512, b"\0")))

    assert refused(body.getvalue(), tmp_path).code is ReasonCode.ARCHIVE_INVALID


def test_headers_without_end_are_refused(tmp_path: Path) -> None:
    header = entry("x", tarfile.XHDTYPE)
    data = tar_of([(header, b"13 comment=ab\n")] * 3000)

    assert refused(data, tmp_path).code is ReasonCode.ARCHIVE_INVALID


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not an archive",
        b"PK\x03\x04 not a zip",
        b"\x1f\x8b not gzip",
        squeezed(b"not a tar"),
        squeezed(b""),
        tarred({"plan.json": b"x" * 10_000})[:-30],
        zipped({"plan.json": b"x" * 10_000})[:-30],
    ],
)
def test_what_is_no_whole_archive_is_refused(tmp_path: Path, data: bytes) -> None:
    assert refused(data, tmp_path).code is ReasonCode.ARCHIVE_INVALID


def test_changed_bytes_are_found_out(tmp_path: Path) -> None:
    data = bytearray(zipped({"plan.json": b"x" * 100}, zipfile.ZIP_STORED))
    data[60] ^= 1

    assert refused(bytes(data), tmp_path).code is ReasonCode.ARCHIVE_INVALID
