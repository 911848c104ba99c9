from functools import cache

from starlette.requests import Request
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket

from schema.build import Schema, build
from server.context import context_of
from server.door import Door
from server.http import GraphQLView


def door_of(request: Request | WebSocket) -> Door:
    door: Door = request.app.state.services.door
    return door


@cache
def schema() -> Schema:
    """Built once for a process: it keeps the plans of the operations it has seen."""
    return build()


def routes() -> list[BaseRoute]:
    view = GraphQLView(schema(), context=context_of, door=door_of)
    return [Route("/graphql", view), WebSocketRoute("/graphql", view)]
