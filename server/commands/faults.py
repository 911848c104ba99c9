from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def told_at(place: Path) -> Iterator[None]:
    """Ends the command with what a reader found wrong."""
    from interchange.reading import Fault
    from server import refusal

    try:
        yield
    except Fault as fault:
        raise refusal.Refusal(refusal.Fault(str(place), fault.code, fault.message)) from fault
