"""Fields taken apart to their leaves, and how many of them are right."""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from resolvers.metric_options import Lists

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Over leaves. Where nothing was given, no share of it is right."""

    right: int
    given: int
    expected: int

    @property
    def precision(self) -> float:
        return self.right / self.given if self.given else 0.0

    @property
    def recall(self) -> float:
        return self.right / self.expected if self.expected else 0.0

    @property
    def f1(self) -> float:
        both = self.given + self.expected
        return 2 * self.right / both if both else 0.0


def accuracy(given: Mapping[str, Any], expected: Mapping[str, Any], lists: Lists) -> Accuracy:
    found, wanted = (
        Counter(leaf for name, value in fields.items() for leaf in _leaves(value, (name,), lists))
        for fields in (given, expected)
    )
    return Accuracy((found & wanted).total(), found.total(), wanted.total())


def _leaves(value: Any, path: Path, lists: Lists) -> Iterator[Hashable]:
    """A value at its path; an empty object or list is a leaf too. In unordered lists each element is one, whole."""
    if isinstance(value, Mapping) and value:
        for name, each in value.items():
            yield from _leaves(each, (*path, name), lists)
    elif isinstance(value, list) and value:
        for index, each in enumerate(value):
            if lists == Lists.ORDERED:
                yield from _leaves(each, (*path, index), lists)
            else:
                yield path, "element", _kept(each, lists)
    else:
        yield path, _kept(value, lists)


def _kept(value: Any, lists: Lists) -> Hashable:
    """A value with its kind: true is not 1, "1" is not 1, but 1 is 1.0."""
    match value:
        case None:
            return ("null",)
        case bool():
            return ("boolean", value)
        case int() | float():
            return ("number", value)
        case str():
            return ("text", value)
        case list():
            elements = [_kept(each, lists) for each in value]
            return ("list", tuple(elements) if lists == Lists.ORDERED else frozenset(Counter(elements).items()))
        case _:
            return ("object", frozenset((name, _kept(each, lists)) for name, each in value.items()))
