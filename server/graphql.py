from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from starlette.requests import Request
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket

from schema.build import Schema, build
from server.database import Database
from server.http import GraphQLView


@dataclass
class Context:
    """What resolvers and the engine get of a request."""

    request: Request | WebSocket
    database: Database
    # What a WebSocket said of its user when it was opened.
    connection_params: dict[str, Any] = field(default_factory=dict)

    async def fetch(self, sql: str, arguments: Sequence[Any]) -> str | None:
        text: str | None = await self.database.reads.fetchval(sql, *arguments)
        return text


def context_of(request: Request | WebSocket) -> Context:
    return Context(request, request.app.state.database)


@cache
def schema() -> Schema:
    """Built once for a process: it keeps the plans of the operations it has seen."""
    return build()


def routes() -> list[BaseRoute]:
    view = GraphQLView(schema(), context=context_of)
    return [Route("/graphql", view), WebSocketRoute("/graphql", view)]
