"""The door of HTTP: every address needs a viewer, but for what shows nothing of anybody's."""

from typing import Final

from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from models.base import Role
from resolvers.access import Viewer
from server.door import FAILURES, UNEXAMINED, Door, Unauthorized
from server.negotiation import JSON, answer_type, asks_for_page

NOBODY: Final = Viewer("nobody", Role.VIEWER)
"""Whoever opened a socket and did not say yet who it is; the protocol lets nothing run until then."""

OPEN_PATHS: Final = frozenset({"/", "/healthz", "/readyz"})
OPEN_FOLDER: Final = "/static/"
GRAPHQL: Final = "/graphql"
HEADERS: Final = {"cache-control": "no-store"}


class Guarded:
    """Lets requests in that say who they are. A socket says it later, and is asked by what serves it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or is_open(request := Request(scope)):
            await self.app(scope, receive, send)
            return
        door: Door = request.app.state.services.door
        try:
            scope["viewer"] = await door.admit(request.headers.get("authorization"))
        except Unauthorized as refusal:
            await unauthorized(request, refusal)(scope, receive, send)
        except FAILURES:
            await refused(request, 503, "UNAVAILABLE", UNEXAMINED)(scope, receive, send)
        else:
            await self.app(scope, receive, send)


def viewer_of(connection: HTTPConnection) -> Viewer:
    viewer: Viewer = connection.scope.get("viewer", NOBODY)
    return viewer


def is_open(request: Request) -> bool:
    path = request.scope["path"]
    if path in OPEN_PATHS or path.startswith(OPEN_FOLDER):
        return True
    return path == GRAPHQL and asks_for_page(request)


def unauthorized(request: Request, refusal: Unauthorized) -> Response:
    response = refused(request, 401, "UNAUTHENTICATED", str(refusal))
    challenge = 'Bearer realm="assay"'
    response.headers["www-authenticate"] = f'{challenge}, error="invalid_token"' if refusal.was_given else challenge
    return response


def refused(request: Request, status: int, code: str, message: str) -> Response:
    if request.scope["path"] != GRAPHQL:
        return JSONResponse({"error": {"code": code, "message": message}}, status, HEADERS)
    error = {"message": message, "extensions": {"code": code}}
    media_type = answer_type(request.headers.get("accept", "")) or JSON
    return JSONResponse({"errors": [error]}, status, HEADERS, media_type)
