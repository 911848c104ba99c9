"""Why a rule says no. Each error carries what the caller needs; where it goes in an answer is not known here."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlmodel import SQLModel

from models.base import ReasonCode, Role


@dataclass(frozen=True, slots=True)
class Subject:
    """A row by its model and key."""

    model: type[SQLModel]
    key: int | str


class Named(str):
    """A part of a path that a caller made up, and finds again as it was written."""

    __slots__ = ()


class RuleError(Exception):
    """Nothing was written. The message is for the caller."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class InvalidInput(RuleError):
    """A value is wrong in itself; `path` leads to it from the input."""

    def __init__(self, message: str, path: tuple[str, ...], code: ReasonCode | None = None) -> None:
        super().__init__(message)
        self.path = path
        self.code = code

    def within(self, *place: str) -> "InvalidInput":
        """The same fault, told from where the value is a part."""
        return InvalidInput(self.message, (*place, *self.path), self.code)


class NotFound(RuleError):
    def __init__(self, message: str, path: tuple[str, ...]) -> None:
        super().__init__(message)
        self.path = path


class Forbidden(RuleError):
    def __init__(self, required: Role) -> None:
        super().__init__(f"This needs the role {required}.")
        self.required = required


class Duplicate(RuleError):
    """The name or identity is taken."""

    def __init__(self, message: str, existing: Subject) -> None:
        super().__init__(message)
        self.existing = existing


class Conflict(RuleError):
    """What exists holds something else, or has a newer version than the one sent."""

    def __init__(self, message: str, existing: Subject, current_version: int | None = None) -> None:
        super().__init__(message)
        self.existing = existing
        self.current_version = current_version


class Refused(RuleError):
    """An integrity rule refuses it."""

    def __init__(self, message: str, code: ReasonCode, subject: Subject | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.subject = subject


class Locked(RuleError):
    """A person locked these values, and nobody else may lose them."""

    def __init__(self, message: str, rows: Sequence[int], fields: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.rows = rows
        self.fields = fields


class ConfirmationRequired(RuleError):
    """The caller must choose before anything changes."""

    def __init__(self, message: str, *, affected_rows: int, locked_rows: int, rows_without_output: int) -> None:
        super().__init__(message)
        self.affected_rows = affected_rows
        self.locked_rows = locked_rows
        self.rows_without_output = rows_without_output


class RunInProgress(RuleError):
    """A run is generating what this one would touch."""

    def __init__(self, message: str, run: int) -> None:
        super().__init__(message)
        self.run = run


@dataclass(frozen=True, slots=True)
class RowFault:
    """What is wrong, in which line of a file (from 1), and where in the row's record."""

    line: int
    path: tuple[str, ...]
    message: str


class InvalidRows(RuleError):
    """A file of rows is refused whole, with all of its faults."""

    def __init__(self, faults: Sequence[RowFault]) -> None:
        super().__init__(
            "The file was refused whole: " + ("1 fault." if len(faults) == 1 else f"{len(faults)} faults.")
        )
        self.faults = faults
