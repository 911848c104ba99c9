"""A run that is followed, shown on a terminal, as lines, or not at all."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.text import Text

from server.runs import Look, Shown


class Silence:
    """What is said goes to standard error alone."""

    def show(self, look: Look) -> None:
        pass

    def hint(self, message: str) -> None:
        print(message, file=sys.stderr)


class Lines(Silence):
    def show(self, look: Look) -> None:
        print(f"{look.status} {look.progress.done}/{look.progress.total}: {figures(look)}", flush=True)


class Bar:
    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._task = bars.add_task("QUEUED", total=None, figures="")

    def show(self, look: Look) -> None:
        self._bars.update(
            self._task,
            description=look.status,
            total=look.progress.total,
            completed=look.progress.done,
            figures=figures(look),
        )

    def hint(self, message: str) -> None:
        self._bars.console.print(Text(message))


def figures(look: Look) -> str:
    counts = {
        "failed": look.progress.failed,
        "cancelled": look.progress.cancelled,
        "out of budget": look.progress.out_of_budget,
        "captured": look.progress.captured,
        "unpriced calls": look.unpriced_calls,
    }
    told = [f"{name} {count}" for name, count in counts.items() if count]
    return ", ".join([f"succeeded {look.progress.succeeded}", *told, f"cost {look.cost:f}"])


@contextmanager
def shown(as_json: bool) -> Iterator[Shown]:
    console = Console()
    if as_json or not console.is_terminal:
        yield Silence() if as_json else Lines()
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[figures]}", markup=False),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=console) as bars:
        yield Bar(bars)
