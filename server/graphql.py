from functools import cache

from starlette.routing import BaseRoute, Route, WebSocketRoute

from schema.build import Schema, build
from server.context import context_of
from server.http import GraphQLView


@cache
def schema() -> Schema:
    """Built once for a process: it keeps the plans of the operations it has seen."""
    return build()


def routes() -> list[BaseRoute]:
    view = GraphQLView(schema(), context=context_of)
    return [Route("/graphql", view), WebSocketRoute("/graphql", view)]
