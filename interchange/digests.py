"""The three digests that bind records to files, to documents and to the sources of units."""

import hashlib
from pathlib import Path
from typing import Any

from interchange.documents import canonical
from interchange.sources import source_digest
from resolvers.canonical import digest_text

__all__ = ["digest_json", "digest_text", "file_digest", "source_digest"]


def file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_json(value: Any) -> str:
    return digest_text(canonical(value))
