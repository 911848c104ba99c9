"""Expected failures as data, and the one place that maps what rules raise to them."""

from typing import Any

import strawberry

from engine.graph import Node
from engine.references import ref
from models import Agent as Agents
from models import Assessment as Assessments
from models import Attempt as Attempts
from models import Defect as Defects
from models import Suite as Suites
from resolvers import errors
from resolvers.errors import Subject
from schema.agents import Agent, Defect
from schema.assessments import Assessment
from schema.enums import ReasonCode, Role
from schema.suites import Attempt, Suite

NODES: dict[type, type[Node]] = {
    Agents: Agent,
    Assessments: Assessment,
    Attempts: Attempt,
    Defects: Defect,
    Suites: Suite,
}


def node_of(subject: Subject) -> Node:
    return ref(NODES[subject.model], subject.key)


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


class _InvalidInput(strawberry.ExceptionHandler[errors.InvalidInput, InvalidInput]):
    def handle(self, exception: errors.InvalidInput, *, field: Any, info: Any) -> InvalidInput:
        return InvalidInput(message=exception.message, path=list(exception.path), code=exception.code)


class _NotFound(strawberry.ExceptionHandler[errors.NotFound, NotFound]):
    def handle(self, exception: errors.NotFound, *, field: Any, info: Any) -> NotFound:
        return NotFound(message=exception.message, path=list(exception.path))


class _Forbidden(strawberry.ExceptionHandler[errors.Forbidden, Forbidden]):
    def handle(self, exception: errors.Forbidden, *, field: Any, info: Any) -> Forbidden:
        return Forbidden(message=exception.message, required=exception.required)


class _Duplicate(strawberry.ExceptionHandler[errors.Duplicate, Duplicate]):
    def handle(self, exception: errors.Duplicate, *, field: Any, info: Any) -> Duplicate:
        return Duplicate(message=exception.message, existing=node_of(exception.existing))


class _Conflict(strawberry.ExceptionHandler[errors.Conflict, Conflict]):
    def handle(self, exception: errors.Conflict, *, field: Any, info: Any) -> Conflict:
        return Conflict(
            message=exception.message,
            existing=node_of(exception.existing),
            current_version=exception.current_version,
        )


class _Refused(strawberry.ExceptionHandler[errors.Refused, Refused]):
    def handle(self, exception: errors.Refused, *, field: Any, info: Any) -> Refused:
        subject = node_of(exception.subject) if exception.subject else None
        return Refused(message=exception.message, code=exception.code, subject=subject)


HANDLERS: list[strawberry.ExceptionHandler[Any, Any]] = [
    _InvalidInput(),
    _NotFound(),
    _Forbidden(),
    _Duplicate(),
    _Conflict(),
    _Refused(),
]
