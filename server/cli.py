import sys
from collections.abc import Iterator
from contextlib import contextmanager

from server.commands import load
from server.refusal import Refusal


@contextmanager
def exit_statuses() -> Iterator[None]:
    """0 done, 1 refused, 2 wrong usage."""
    try:
        yield
    except Refusal as refusal:
        for fault in refusal.faults:
            print(fault, file=sys.stderr)
        sys.exit(refusal.status)


def main() -> None:
    with exit_statuses():
        load()()
