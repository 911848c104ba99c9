"""Faults of a request, said so that its author can mend it."""

from collections.abc import Sequence
from typing import Any

from graphql import GraphQLError


class InvalidArgument(GraphQLError):
    """An argument whose type is right and whose value is not."""

    def __init__(self, message: str, argument: Sequence[str | int] = (), nodes: Any = None) -> None:
        path = ".".join(str(part) for part in argument)
        super().__init__(
            f"{path}: {message}" if path else message,
            nodes,
            extensions={"code": "INVALID_ARGUMENT", "argument": list(argument)},
        )


class TooCostly(GraphQLError):
    """A request that could grow beyond what one answer may hold."""

    def __init__(self, message: str, nodes: Any = None) -> None:
        super().__init__(message, nodes, extensions={"code": "TOO_COSTLY"})
