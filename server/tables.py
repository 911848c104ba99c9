"""GET /api/benchmarks/{id}/rows.json and /table.csv: a benchmark as a file, of one moment."""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import closing
from typing import IO, Any, Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from interchange.store.exports import RowsWritten, What, write
from interchange.tables import Table
from resolvers.row_files import PREFIX, RowFormat
from resolvers.tables import benchmarks
from server.documents import Endpoint, refused, same_origin
from server.services import Services

MEDIA_TYPES: Final = {
    RowFormat.JSON: "application/json",
    RowFormat.JSONL: "application/jsonl",
    RowFormat.CSV: "text/csv; charset=utf-8; header=present",
}
# How many empty texts a CSV shows as empty cells, which an import reads as none.
EMPTY_TEXTS: Final = "assay-empty-texts"
CHUNK: Final = 64 * 1024
LONGEST_KEY: Final = 18


def download(what: What, format: RowFormat) -> Endpoint:
    async def answer(request: Request) -> Response:
        services: Services = request.app.state.services
        file = await asyncio.to_thread(tempfile.TemporaryFile)
        try:
            done = await exported(services, request.path_params["id"], what, format, file)
        except BaseException:
            file.close()
            raise
        if done is None:
            file.close()
            return refused(404, "UNKNOWN_BENCHMARK", "There is no benchmark of this id.")
        table, written = done
        headers = headers_of(table, what, format, file.tell(), written)
        return StreamingResponse(chunks(file), headers=headers)

    return same_origin(answer)


async def exported(
    services: Services, id_: str, what: What, format: RowFormat, file: IO[bytes]
) -> tuple[Table, RowsWritten] | None:
    """The file is written before it is sent: who reads slowly holds no connection, and an error is no half file."""
    if not id_.isdecimal() or len(id_) > LONGEST_KEY:
        return None
    async with services.exports, services.database.engine.connect() as connection:
        return await write(connection, benchmarks.c.id == int(id_), what, format, file)


def headers_of(table: Table, what: What, format: RowFormat, size: int, written: RowsWritten) -> dict[str, str]:
    name = f"{table.name} {what}.{format.suffix}"
    headers = {
        "content-type": MEDIA_TYPES[format],
        "content-length": str(size),
        "content-disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}",
        "cache-control": "no-store",
    }
    return {**headers, EMPTY_TEXTS: str(written.lost_empty_texts)} if format is RowFormat.CSV else headers


async def chunks(file: IO[bytes]) -> AsyncIterator[bytes]:
    with closing(file):
        file.seek(0)
        while chunk := await asyncio.to_thread(file.read, CHUNK):
            yield chunk


def routes_of(what: What) -> list[Any]:
    return [Route(f"{PREFIX}/{{id}}/{what}.{format.suffix}", download(what, format)) for format in RowFormat]


routes = [*routes_of("rows"), *routes_of("table")]
