"""Archives, sound ones and others."""

import gzip
import io
import tarfile
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def files_of(directory: Path, top: str = "") -> dict[str, bytes]:
    found = (path for path in sorted(directory.rglob("*")) if path.is_file())
    return {f"{top}{path.relative_to(directory).as_posix()}": path.read_bytes() for path in found}


def zipped(files: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    return zip_of([(zipfile.ZipInfo(name), data) for name, data in files.items()], method)


def zip_of(entries: Iterable[tuple[zipfile.ZipInfo, bytes]], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w", method) as archive:
        for entry, data in entries:
            archive.writestr(entry, data, method)
    return body.getvalue()


def tarred(files: Mapping[str, bytes]) -> bytes:
    return tar_of([(entry(name), data) for name, data in files.items()])


def entry(name: str, kind: bytes = tarfile.REGTYPE, **given: Any) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = kind
    for key, value in given.items():
        setattr(info, key, value)
    return info


def tar_of(entries: Iterable[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    body = io.BytesIO()
    with tarfile.open(fileobj=body, mode="w:gz", compresslevel=1) as archive:
        for info, data in entries:
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return body.getvalue()


def squeezed(data: bytes) -> bytes:
    return gzip.compress(data)
