"""What a file is, by how it begins: nothing that a client claims about it is believed."""

import codecs
from typing import Final

OTHER: Final = "application/octet-stream"

# Offset, bytes there, and what they say.
SIGNATURES: Final = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"PK\x03\x04", "application/zip"),
    (0, b"PK\x05\x06", "application/zip"),
    (0, b"\x1f\x8b", "application/gzip"),
    (0, b"\x28\xb5\x2f\xfd", "application/zstd"),
    (0, b"BZh", "application/x-bzip2"),
    (0, b"\xfd7zXZ\x00", "application/x-xz"),
    (257, b"ustar", "application/x-tar"),
    (0, b"SQLite format 3\x00", "application/vnd.sqlite3"),
    (8, b"WAVE", "audio/wav"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"OggS", "application/ogg"),
    (4, b"ftyp", "video/mp4"),
    (0, b"\x1aE\xdf\xa3", "video/webm"),
)
# Containers whose kind stands further on.
CONTAINERS: Final = {"image/webp": b"RIFF", "audio/wav": b"RIFF"}
# Nothing that is written has them.
CONTROLS: Final = frozenset(range(32)) - frozenset(b"\t\n\f\r\x1b")


def media_type(head: bytes) -> str:
    for offset, signature, kind in SIGNATURES:
        if head.startswith(signature, offset) and head.startswith(CONTAINERS.get(kind, b"")):
            return kind
    if not is_text(head):
        return OTHER
    return "application/json" if head.lstrip()[:1] in (b"{", b"[") else "text/plain"


def is_text(head: bytes) -> bool:
    """UTF-8, which may be cut within a character."""
    if not CONTROLS.isdisjoint(head):
        return False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return True
