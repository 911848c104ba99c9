"""Expected failures as data."""

import strawberry

from engine.graph import Node
from schema.enums import ReasonCode, Role


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
