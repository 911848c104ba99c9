"""Hostile files: each is refused with its code, nothing blocks, and nothing outside is shown."""

import os
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest

from interchange.reading import CONTENT_LIMIT, DOCUMENT_LIMIT, MIB, Fault, Place, copy
from models.base import ReasonCode
from tests.interchange.building import edit_while_read, sha256, write

PLACE = Place("inside", "file")


def refusal(root: Path, place: Place = PLACE, limit: int = DOCUMENT_LIMIT) -> Fault:
    with pytest.raises(Fault) as caught:
        copy(root, place, limit, BytesIO())
    assert str(root) not in caught.value.message
    return caught.value


def test_a_file_is_copied_and_digested(tmp_path: Path) -> None:
    write(tmp_path / "inside/file", b"bytes")
    body = BytesIO()

    reading = copy(tmp_path, PLACE, DOCUMENT_LIMIT, body)

    assert (body.getvalue(), reading.sha256, reading.size) == (b"bytes", sha256(b"bytes"), 5)


@pytest.mark.parametrize(
    ("put", "code"),
    [
        (lambda path: os.mkfifo(path), ReasonCode.NOT_A_REGULAR_FILE),
        (lambda path: path.mkdir(), ReasonCode.NOT_A_REGULAR_FILE),
        (lambda path: path.symlink_to("file"), ReasonCode.NOT_A_REGULAR_FILE),
        (lambda path: path.symlink_to("missing"), ReasonCode.FILE_UNAVAILABLE),
        (lambda path: path.symlink_to("../outside"), ReasonCode.PATH_ESCAPE),
        (lambda path: path.symlink_to("/dev/zero"), ReasonCode.PATH_ESCAPE),
        (lambda path: path.symlink_to("../inside-too"), ReasonCode.PATH_ESCAPE),
        (lambda _: None, ReasonCode.FILE_UNAVAILABLE),
    ],
    ids=["pipe", "directory", "loop", "dangling", "link out", "device", "neighbour", "nothing"],
)
def test_what_is_no_file_in_its_place_is_refused(put: Callable[[Path], None], code: ReasonCode, tmp_path: Path) -> None:
    write(tmp_path / "outside", "secret")
    write(tmp_path / "inside-too", "secret")
    (tmp_path / "inside").mkdir()
    put(tmp_path / "inside/file")

    assert refusal(tmp_path).code is code


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_a_device_in_place_of_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    try:
        os.mknod(tmp_path / "inside/file", 0o600 | 0o020000, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("no devices can be made here")

    assert refusal(tmp_path).code is ReasonCode.NOT_A_REGULAR_FILE


def test_a_file_may_be_as_large_as_its_limit_and_no_larger(tmp_path: Path) -> None:
    write(tmp_path / "inside/file", b" " * DOCUMENT_LIMIT)
    assert copy(tmp_path, PLACE, DOCUMENT_LIMIT, BytesIO()).size == DOCUMENT_LIMIT

    write(tmp_path / "inside/file", b" " * (DOCUMENT_LIMIT + 1))
    fault = refusal(tmp_path)

    assert fault.code is ReasonCode.FILE_TOO_LARGE
    assert "2 MiB" in fault.message


def test_a_file_far_too_large_is_not_even_read(tmp_path: Path) -> None:
    with write(tmp_path / "inside/file", b"").open("wb") as file:
        file.truncate(65 * MIB)

    assert refusal(tmp_path, limit=CONTENT_LIMIT).code is ReasonCode.FILE_TOO_LARGE


@pytest.mark.parametrize("name", ["../outside", "a/../../outside", "/etc/hostname", "folder/file"])
def test_no_path_leads_out(name: str, tmp_path: Path) -> None:
    write(tmp_path / "outside", "secret")
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside/folder").symlink_to(tmp_path / "away")
    write(tmp_path / "away/file", "secret")

    assert refusal(tmp_path, Place("inside", name)).code is ReasonCode.PATH_ESCAPE


def test_a_directory_that_is_a_link_bounds_nothing(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere/file", "secret")
    (tmp_path / "inside").symlink_to("elsewhere")

    assert refusal(tmp_path).code is ReasonCode.PATH_ESCAPE


def test_links_that_stay_inside_are_followed(tmp_path: Path) -> None:
    write(tmp_path / "inside/real/file", b"bytes")
    (tmp_path / "inside/alias").symlink_to("real")
    (tmp_path / "inside/file").symlink_to("alias/file")

    assert copy(tmp_path, PLACE, DOCUMENT_LIMIT, BytesIO()).sha256 == sha256(b"bytes")


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "n" * 300, ""])
def test_a_name_that_no_file_can_have_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()

    assert refusal(tmp_path, Place("inside", name)).code in (
        ReasonCode.FILE_UNAVAILABLE,
        ReasonCode.NOT_A_REGULAR_FILE,
    )


def test_a_message_stays_on_one_line(tmp_path: Path) -> None:
    fault = refusal(tmp_path, Place("inside", "a\nb\x1b[2J"))

    assert fault.message.isprintable()
    assert r"a\nb\x1b[2J" in fault.message


def test_a_file_that_changes_once_is_read_once_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "inside/file", b"bytes")
    edit_while_read(monkeypatch, path, times=1)
    body = BytesIO()

    reading = copy(tmp_path, PLACE, DOCUMENT_LIMIT, body)

    assert body.getvalue() == b"bytes "
    assert reading.sha256 == sha256(b"bytes ")


def test_a_file_that_keeps_changing_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edit_while_read(monkeypatch, write(tmp_path / "inside/file", b"bytes"), times=2)

    assert refusal(tmp_path).code is ReasonCode.FILE_UNAVAILABLE
