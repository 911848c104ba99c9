"""POST /files: bytes from outside, kept by their digest."""

from typing import Final

from sqlalchemy import ColumnElement, func, literal_column
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncEngine
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from models import File
from models.base import Role, table
from resolvers.access import may
from resolvers.keeping import hold_files
from server.access import unauthorized, viewer_of
from server.documents import is_foreign, refused
from server.door import FAILURES, UNEXAMINED, Door, Unauthorized
from server.files import FileStore, Received, TooLong
from server.media import media_type

files = table(File)

# What a form on another site can send without the browser asking first.
FORMS: Final = frozenset({"application/x-www-form-urlencoded", "multipart/form-data", "text/plain"})


async def upload(request: Request) -> Response:
    if (refusal := refuse(request)) is not None:
        return refusal
    store: FileStore = request.app.state.files
    try:
        received = await store.receive(request.stream(), limit=request.app.state.settings.largest_upload)
    except TooLong:
        return too_long(request)
    except ClientDisconnect:
        return Response(status_code=400)
    try:
        return await keep(request, store, received)
    except FAILURES:
        return refused(503, "UNAVAILABLE", UNEXAMINED)
    finally:
        await store.drop(received)


def refuse(request: Request) -> Response | None:
    """What can be told before any byte is read."""
    if not may(viewer_of(request), Role.REVIEWER):
        return refused(403, "FORBIDDEN", f"This needs the role {Role.REVIEWER}.")
    if is_foreign(request):
        return refused(403, "FOREIGN_ORIGIN", "Pages of other sites may not send files.")
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() in FORMS:
        return refused(415, "FORM", "Send the bytes themselves, as application/octet-stream, and no form.")
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > request.app.state.settings.largest_upload:
        return too_long(request)
    return None


def too_long(request: Request) -> Response:
    most = request.app.state.settings.largest_upload
    return refused(413, "FILE_TOO_LARGE", f"A file has at most {most} bytes.")


async def keep(request: Request, store: FileStore, received: Received) -> Response:
    # The bytes may have taken long to come.
    door: Door = request.app.state.services.door
    try:
        await door.admit(request.headers.get("authorization"))
    except Unauthorized as refusal:
        return unauthorized(request, refusal)
    is_new = await settle(request.app.state.database.engine, store, received)
    file = received.file
    body = {"sha256": file.sha256, "size": file.size, "mediaType": media_type(received.head)}
    return JSONResponse(body, 201 if is_new else 200, {"location": f"/files/{file.sha256}"})


async def settle(engine: AsyncEngine, store: FileStore, received: Received) -> bool:
    """Bytes and row together, while nothing is swept; says whether the file is new."""
    file = received.file
    row = insert(files).values(sha256=file.sha256, size=file.size)
    row = row.on_conflict_do_update(index_elements=["sha256"], set_={"stored_at": func.now()})
    async with engine.begin() as connection:
        await hold_files(connection)
        await store.settle(received)
        # A row that was updated has the number of this transaction there.
        untouched: ColumnElement[bool] = literal_column("xmax = 0")
        return bool((await connection.execute(row.returning(untouched))).scalar_one())


routes = [Route("/files", upload, methods=["POST"])]
