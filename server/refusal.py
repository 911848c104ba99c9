from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """What is wrong, where, and by which code a program knows it."""

    place: str
    code: str
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.code}: {self.message}"


class Refusal(Exception):
    """Ends a command with one line for each fault."""

    status = 1

    def __init__(self, *faults: Fault | str) -> None:
        super().__init__("; ".join(str(fault) for fault in faults))
        self.faults: Sequence[Fault | str] = faults


class WrongUsage(Refusal):
    status = 2
