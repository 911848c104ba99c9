"""Expected failures as data."""

from typing import TYPE_CHECKING, Annotated

import strawberry

from engine.graph import Node
from schema.enums import ExistingGroundTruth, ReasonCode, Role

if TYPE_CHECKING:
    from schema.benchmarks import ExpectedOutput
    from schema.runs import Run


@strawberry.interface
class Error:
    message: str


@strawberry.type(description="A value is wrong in itself (INVALID_FIELD, INVALID_DECISION among the codes).")
class InvalidInput(Error):
    path: list[str]
    code: ReasonCode | None


@strawberry.type
class NotFound(Error):
    path: list[str]


@strawberry.type
class Forbidden(Error):
    required: Role


@strawberry.type(description="The name or identity is taken by `existing`.")
class Duplicate(Error):
    existing: Node


@strawberry.type(description="`existing` holds something else: another decision, or a version newer than the one sent.")
class Conflict(Error):
    existing: Node
    current_version: int | None


@strawberry.type(description="An integrity rule refuses it; nothing was written.")
class Refused(Error):
    code: ReasonCode
    subject: Node | None


@strawberry.type(
    description="A person locked these values: updateBenchmark would drop or retype them, removeRows would delete them."
)
class Locked(Error):
    expected_outputs: list[Annotated["ExpectedOutput", strawberry.lazy("schema.benchmarks")]]
    fields: list[str]


@strawberry.type(description="The caller must choose before anything changes.")
class ConfirmationRequired(Error):
    choices: list[ExistingGroundTruth]
    affected_rows: int
    locked_rows: int
    rows_without_output: int


@strawberry.type
class RunInProgress(Error):
    run: Annotated["Run", strawberry.lazy("schema.runs")]


@strawberry.type
class RowFault:
    line: int
    path: list[str]
    message: str


@strawberry.type
class InvalidRows(Error):
    faults: list[RowFault]
