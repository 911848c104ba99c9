"""Figures beside what they are measured against."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Figure:
    """`ratio` is to the first of its kind; `least` and `most` are the bars, where there are any."""

    what: str
    who: str
    value: str
    ratio: float | None = None
    least: float | None = None
    most: float | None = None

    @property
    def holds(self) -> bool:
        ratio = self.ratio or 0
        return (self.least is None or ratio >= self.least) and (self.most is None or ratio <= self.most)

    @property
    def bar(self) -> str:
        if self.least is not None:
            return f"≥ {self.least:g}"
        return "" if self.most is None else f"≤ {self.most:g}"


def table(figures: Sequence[Figure]) -> Table:
    made = Table("measured", "of", "value", "ratio", "bar", "")
    for each in figures:
        ratio = "" if each.ratio is None else f"{each.ratio:.2f}"
        verdict = "" if not each.bar else "holds" if each.holds else "MISSED"
        made.add_row(each.what, each.who, each.value, ratio, each.bar, verdict)
    return made


def report(figures: Sequence[Figure]) -> bool:
    """Prints the table; tells whether every bar was met."""
    Console(width=110).print(table(figures))
    return all(each.holds for each in figures)
