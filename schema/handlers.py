"""The one place that maps what rules raise to the members of a mutation's union."""

from collections.abc import Iterable
from typing import Any

import strawberry
from strawberry.utils.str_converters import to_camel_case

from engine.graph import Node
from engine.references import ref
from models import Agent as Agents
from models import ApiToken as ApiTokens
from models import Assessment as Assessments
from models import Attempt as Attempts
from models import Benchmark as Benchmarks
from models import BenchmarkRow as BenchmarkRows
from models import Defect as Defects
from models import DiscoveryProtocol as DiscoveryProtocols
from models import ExpectedValue as ExpectedValues
from models import LanguageModel as LanguageModels
from models import Metric as Metrics
from models import Run as Runs
from models import Suite as Suites
from models import Track as Tracks
from models.base import ExistingGroundTruth
from resolvers import errors
from resolvers.errors import Named, Subject
from schema.access import ApiToken
from schema.agents import Agent, Defect
from schema.assessments import Assessment
from schema.benchmarks import Benchmark, ExpectedOutput, Row, Track
from schema.metrics import Metric
from schema.models import Model
from schema.protocols import DiscoveryProtocol
from schema.results import (
    ConfirmationRequired,
    Conflict,
    Duplicate,
    Forbidden,
    InvalidInput,
    InvalidRows,
    Locked,
    NotFound,
    Refused,
    RowFault,
    RunInProgress,
)
from schema.runs import Run
from schema.suites import Attempt, Suite

NODES: dict[type, type[Node]] = {
    Agents: Agent,
    ApiTokens: ApiToken,
    Assessments: Assessment,
    Attempts: Attempt,
    BenchmarkRows: Row,
    Benchmarks: Benchmark,
    Defects: Defect,
    DiscoveryProtocols: DiscoveryProtocol,
    # The values of a row, by the row.
    ExpectedValues: ExpectedOutput,
    LanguageModels: Model,
    Metrics: Metric,
    Runs: Run,
    Suites: Suite,
    Tracks: Track,
}


def node_of(subject: Subject) -> Node:
    return ref(NODES[subject.model], subject.key)


def graphql_path(path: Iterable[str]) -> list[str]:
    """Where a value stands in the input, by the names of the graph."""
    return [part if isinstance(part, Named) else to_camel_case(part) for part in path]


class _InvalidInput(strawberry.ExceptionHandler[errors.InvalidInput, InvalidInput]):
    def handle(self, exception: errors.InvalidInput, *, field: Any, info: Any) -> InvalidInput:
        return InvalidInput(message=exception.message, path=graphql_path(exception.path), code=exception.code)


class _NotFound(strawberry.ExceptionHandler[errors.NotFound, NotFound]):
    def handle(self, exception: errors.NotFound, *, field: Any, info: Any) -> NotFound:
        return NotFound(message=exception.message, path=graphql_path(exception.path))


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


class _Locked(strawberry.ExceptionHandler[errors.Locked, Locked]):
    def handle(self, exception: errors.Locked, *, field: Any, info: Any) -> Locked:
        expected = [ref(ExpectedOutput, key) for key in exception.rows]
        return Locked(message=exception.message, expected_outputs=expected, fields=list(exception.fields))


class _ConfirmationRequired(strawberry.ExceptionHandler[errors.ConfirmationRequired, ConfirmationRequired]):
    def handle(self, exception: errors.ConfirmationRequired, *, field: Any, info: Any) -> ConfirmationRequired:
        return ConfirmationRequired(
            message=exception.message,
            choices=list(ExistingGroundTruth),
            affected_rows=exception.affected_rows,
            locked_rows=exception.locked_rows,
            rows_without_output=exception.rows_without_output,
        )


class _RunInProgress(strawberry.ExceptionHandler[errors.RunInProgress, RunInProgress]):
    def handle(self, exception: errors.RunInProgress, *, field: Any, info: Any) -> RunInProgress:
        return RunInProgress(message=exception.message, run=ref(Run, exception.run))


class _InvalidRows(strawberry.ExceptionHandler[errors.InvalidRows, InvalidRows]):
    def handle(self, exception: errors.InvalidRows, *, field: Any, info: Any) -> InvalidRows:
        faults = [RowFault(line=each.line, path=list(each.path), message=each.message) for each in exception.faults]
        return InvalidRows(message=exception.message, faults=faults)


HANDLERS: list[strawberry.ExceptionHandler[Any, Any]] = [
    _InvalidInput(),
    _NotFound(),
    _Forbidden(),
    _Duplicate(),
    _Conflict(),
    _Refused(),
    _Locked(),
    _ConfirmationRequired(),
    _RunInProgress(),
    _InvalidRows(),
]
