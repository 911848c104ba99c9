"""What one process remembers of a tree, by the versions of the files that it was read from."""

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

from interchange.reading import Fault, Place, Signature, examine, exists
from interchange.records import KeptFile

Value = TypeVar("Value")
# What stands at a place: a version of a file, the code of what is wrong with it, or one of the two words below.
Sight = Signature | str

ABSENT = "absent"
# Read while it changed, or so young that a second edit within the same tick of the clock would look alike.
UNSETTLED = "unsettled"
SETTLED_NS = 100_000_000


def sight_of(root: Path, place: Place) -> Sight:
    try:
        return settled(examine(root, place), time.time_ns())
    except Fault as fault:
        return fault.code if exists(root, place) else ABSENT


def settled(signature: Signature, now: int) -> Sight:
    """`now` is when the look at the file began."""
    changed = signature[4]
    return signature if now - changed >= SETTLED_NS else UNSETTLED


def _stands(root: Path, place: Place, sight: Sight) -> bool:
    return sight != UNSETTLED and sight_of(root, place) == sight


@dataclass(frozen=True, slots=True)
class _Remembered:
    value: Any
    sights: dict[Place, Sight]


@dataclass(slots=True)
class Cache:
    _files: dict[Place, tuple[Signature, KeptFile]] = field(default_factory=dict)
    _values: dict[Hashable, _Remembered] = field(default_factory=dict)
    # One dictionary for each value being computed, innermost last.
    _watches: list[dict[Place, Sight]] = field(default_factory=list)
    _used: set[Hashable] = field(default_factory=set)

    def file(self, place: Place) -> tuple[Signature, KeptFile] | None:
        self._used.add(place)
        return self._files.get(place)

    def keep_file(self, place: Place, signature: Signature, kept: KeptFile) -> None:
        self._files[place] = (signature, kept)

    def saw(self, place: Place, sight: Sight) -> None:
        """Binds the values being computed to what stands at a place."""
        for watch in self._watches:
            watch[place] = sight

    def recall(self, root: Path, key: Hashable, compute: Callable[[], Value]) -> Value:
        """The value computed before, while everything that it was read from still stands as it did."""
        self._used.add(key)
        known = self._values.get(key)
        if known is None or not all(_stands(root, place, sight) for place, sight in known.sights.items()):
            known = self._values[key] = self._computed(compute)
        for watch in self._watches:
            watch.update(known.sights)
        self._used.update(known.sights)
        return cast(Value, known.value)

    def forget_unused(self) -> None:
        """Drops what nobody asked for since the last time: files and Suites that are gone."""
        self._files = {place: known for place, known in self._files.items() if place in self._used}
        self._values = {key: known for key, known in self._values.items() if key in self._used}
        self._used.clear()

    def _computed(self, compute: Callable[[], Value]) -> _Remembered:
        watch: dict[Place, Sight] = {}
        self._watches.append(watch)
        try:
            return _Remembered(compute(), watch)
        finally:
            self._watches.pop()
