"""The files of one tree, read once per version and handed to whoever keeps bytes."""

import os
import posixpath
import time
from collections.abc import Callable, Hashable
from io import BytesIO
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, TypeVar

from interchange.cache import ABSENT, UNSETTLED, Cache, settled, sight_of
from interchange.reading import CONTENT_LIMIT, DOCUMENT_LIMIT, MIB, Fault, Place, Reading, copy, resolve
from interchange.records import FileSink, KeptFile
from interchange.sources import source_digest, source_files

Value = TypeVar("Value")


class TreeFiles:
    def __init__(self, root: Path, cache: Cache | None = None, keep: FileSink | None = None) -> None:
        self.root = Path(os.path.realpath(root))
        self._cache = cache if cache is not None else Cache()
        self._keep = keep

    def recall(self, key: Hashable, compute: Callable[[], Value]) -> Value:
        return self._cache.recall(self.root, key, compute)

    def forget_unused(self) -> None:
        self._cache.forget_unused()

    def is_absent(self, place: Place) -> bool:
        """Nothing stands there, not even a link that leads nowhere."""
        sight = sight_of(self.root, place)
        self._cache.saw(place, sight)
        return sight == ABSENT

    def document(self, place: Place, limit: int = DOCUMENT_LIMIT) -> tuple[bytes, KeptFile]:
        body = BytesIO()
        kept = self._read(place, limit, body)
        return body.getvalue(), kept

    def content(self, place: Place) -> KeptFile:
        """Evidence or an artifact: bytes that nobody here looks into, not read again while they stand unchanged."""
        if (known := self._cache.file(place)) and sight_of(self.root, place) == known[0]:
            self._cache.saw(place, known[0])
            return known[1]
        with SpooledTemporaryFile(max_size=4 * MIB) as body:
            return self._read(place, CONTENT_LIMIT, body)

    def locate(self, place: Place) -> Path:
        return resolve(self.root, place)

    def evidence(self, place: Place, claimed: object) -> KeptFile:
        """What lies there, whatever is claimed of it."""
        return self.content(place)

    def source_digest(self, unit: str) -> str:
        paths = tuple(source_files(self.root / unit))
        return self.recall(("source", unit, paths), lambda: self._source_digest(unit, paths))

    def _source_digest(self, unit: str, paths: tuple[str, ...]) -> str:
        for place in (Place(unit, path) for path in paths):
            self._cache.saw(place, sight_of(self.root, place))
        return source_digest(self.root / unit)

    def _read(self, place: Place, limit: int, body: IO[bytes]) -> KeptFile:
        began = time.time_ns()
        try:
            reading = copy(self.root, place, limit, body)
        except Fault:
            self._saw_fault(place)
            raise
        sight = settled(reading.signature, began)
        self._cache.saw(place, sight)
        return self._kept(place, reading, body, is_settled=sight != UNSETTLED)

    def _saw_fault(self, place: Place) -> None:
        """A file that could be looked at but not read may be readable the next time, without a change."""
        sight = sight_of(self.root, place)
        self._cache.saw(place, sight if isinstance(sight, str) else UNSETTLED)

    def _kept(self, place: Place, reading: Reading, body: IO[bytes], *, is_settled: bool) -> KeptFile:
        if (known := self._cache.file(place)) and known[0] == reading.signature:
            return known[1]
        kept = KeptFile(posixpath.normpath(place.path), reading.sha256, reading.size)
        if self._keep:
            body.seek(0)
            self._keep(kept.sha256, body)
        if is_settled:
            self._cache.keep_file(place, reading.signature, kept)
        return kept
