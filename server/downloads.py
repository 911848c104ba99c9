"""GET /files/{sha256}: bytes that strangers may have written, handed out so that no browser runs them."""

import re
from dataclasses import dataclass
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from server.files import FileStore

DIGEST: Final = re.compile(r"[0-9a-f]{64}")
RANGE: Final = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})")


@dataclass(frozen=True, slots=True)
class Part:
    start: int
    end: int


class Unsatisfiable(Exception):
    """The range begins where the file has ended."""


def part_of(header: str | None, size: int) -> Part | None:
    """The part that a Range header asks for; None stands for the whole: unknown units and lists may be ignored."""
    match = RANGE.fullmatch(header or "")
    if match is None or match[0] == "bytes=-":
        return None
    first, last = match.groups()
    if not first:
        start, end = max(size - int(last), 0), size
    else:
        start, end = int(first), min(int(last) + 1, size) if last else size
        if last and int(last) < start:
            return None
    if start >= size:
        raise Unsatisfiable
    return Part(start, end)


def headers_of(digest: str, size: int) -> dict[str, str]:
    return {
        "content-type": "application/octet-stream",
        "content-length": str(size),
        "content-disposition": f'attachment; filename="{digest}"',
        "content-security-policy": "default-src 'none'; sandbox",
        "x-content-type-options": "nosniff",
        "cross-origin-resource-policy": "same-origin",
        "accept-ranges": "bytes",
        "etag": f'"{digest}"',
        # The name is the content.
        "cache-control": "private, max-age=31536000, immutable",
    }


async def download(request: Request) -> Response:
    digest = request.path_params["sha256"]
    if not DIGEST.fullmatch(digest):
        raise HTTPException(400, "A file is named by 64 lowercase hexadecimal characters.")
    files: FileStore = request.app.state.files
    size = await files.size(digest)
    if size is None:
        raise HTTPException(404, "No file has this digest.")
    headers = headers_of(digest, size)
    if is_known(request, headers["etag"]):
        del headers["content-length"]
        return Response(status_code=304, headers=headers)
    return answer(request, files, digest, size, headers)


def answer(request: Request, files: FileStore, digest: str, size: int, headers: dict[str, str]) -> Response:
    if request.method == "HEAD":
        return Response(headers=headers)
    try:
        part = part_of(wanted_range(request, headers["etag"]), size)
    except Unsatisfiable:
        return Response(status_code=416, headers={"content-range": f"bytes */{size}"})
    if part is None:
        return StreamingResponse(files.stream(digest, 0, size), headers=headers)
    headers["content-range"] = f"bytes {part.start}-{part.end - 1}/{size}"
    headers["content-length"] = str(part.end - part.start)
    return StreamingResponse(files.stream(digest, part.start, part.end), status_code=206, headers=headers)


def is_known(request: Request, etag: str) -> bool:
    known = request.headers.get("if-none-match", "")
    return known == "*" or etag in [tag.strip().removeprefix("W/") for tag in known.split(",")]


def wanted_range(request: Request, etag: str) -> str | None:
    if request.headers.get("if-range", etag) != etag:
        return None
    return request.headers.get("range")


routes = [Route("/files/{sha256}", download)]
