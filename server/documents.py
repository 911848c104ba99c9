"""Ground truth as the documents that other programs read: the very text whose digests they may check."""

from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import urlsplit

from sqlalchemy import Select
from sqlalchemy.ext.asyncio import AsyncConnection
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from resolvers.agents import manifest_document
from resolvers.documents import overview_document
from resolvers.forms import storable_text
from resolvers.suites import assessments_document
from server.database import Database

Endpoint = Callable[[Request], Awaitable[Response]]

# They change with every decision, so that nobody may answer with an old one.
HEADERS: Final = {"cache-control": "no-store"}


def refused(status: int, code: str, message: str) -> Response:
    return JSONResponse({"error": {"code": code, "message": message}}, status, HEADERS)


def is_foreign(request: Request) -> bool:
    """Asked for by a page of another site, which a browser names."""
    origin = request.headers.get("origin")
    return origin is not None and urlsplit(origin).netloc != request.headers.get("host")


def same_origin(endpoint: Endpoint) -> Endpoint:
    async def guarded(request: Request) -> Response:
        if is_foreign(request):
            return refused(403, "FOREIGN_ORIGIN", "Pages of other sites may not read this.")
        return await endpoint(request)

    return guarded


async def read_text(connection: AsyncConnection, document: Select[Any]) -> str | None:
    text: str | None = (await connection.execute(document)).scalar_one_or_none()
    return text


async def answer(request: Request, document: Select[Any], code: str, missing: str) -> Response:
    # From the primary: a replica may lag behind a decision that was just made.
    database: Database = request.app.state.database
    async with database.engine.connect() as connection:
        text = await read_text(connection, document)
    if text is None:
        return refused(404, code, missing)
    return Response(text, media_type="application/json", headers=HEADERS)


async def overview(request: Request) -> Response:
    return await answer(request, overview_document(), "NOT_FOUND", "There is no overview.")


async def manifest(request: Request) -> Response:
    code, missing = "UNKNOWN_AGENT", "No agent of this id has a manifest that could be shown."
    return await named(request, "agent_id", manifest_document, code, missing)


async def assessments(request: Request) -> Response:
    code, missing = "UNKNOWN_SUITE", "There is no Suite of this id that can be read."
    return await named(request, "suite_id", assessments_document, code, missing)


async def named(
    request: Request, parameter: str, document: Callable[[str], Select[Any]], code: str, missing: str
) -> Response:
    name = request.path_params[parameter]
    # What the database cannot even be asked for, such as NUL, names nothing.
    if storable_text(name) is None:
        return refused(404, code, missing)
    return await answer(request, document(name), code, missing)


routes = [
    Route("/api/benchmark/overview", same_origin(overview)),
    # An identity may hold a slash, which arrives here decoded.
    Route("/api/agents/{agent_id:path}/manifest.json", same_origin(manifest)),
    Route("/api/suites/{suite_id}/assessments.json", same_origin(assessments)),
]
