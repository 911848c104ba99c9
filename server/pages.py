"""The pages that `make web` builds, and the files they load."""

from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

BUILT: Final = Path(__file__).parent / "static"

# Monaco writes style elements and carries its icons as data; scripts come from here alone.
PAGE_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "font-src 'self' data:",
        "img-src 'self' data:",
        "connect-src 'self'",
        "worker-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)

NOT_BUILT: Final = """<!doctype html>
<html lang="en">
<title>Not built · Assay</title>
<h1>This page is not built yet</h1>
<p>Run <code>make web</code> in the checkout and load it again. The API at <code>/graphql</code> works without it.</p>
</html>
"""


def page(name: str, *, built: Path = BUILT) -> Response:
    document = built / f"{name}.html"
    if not document.is_file():
        return HTMLResponse(NOT_BUILT, status_code=404)
    headers = {"content-security-policy": PAGE_POLICY, "cache-control": "no-cache"}
    return FileResponse(document, headers=headers, media_type="text/html")


class PageFiles(StaticFiles):
    """Serves the build at /static. Names under assets/ carry a digest of their content, so they never go stale."""

    def __init__(self, built: Path = BUILT) -> None:
        super().__init__(directory=built, check_dir=False)

    async def check_config(self) -> None:
        """The build may come later or never; what is not there is not found."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        # A worker obeys the policy that its own script came with.
        response.headers["content-security-policy"] = PAGE_POLICY
        if path.startswith("assets/") and response.status_code < 400:
            response.headers["cache-control"] = "public, max-age=31536000, immutable"
        return response


async def front(_request: Request) -> Response:
    """Whoever types the host alone is looking for the page; it may become another one."""
    return RedirectResponse("/graphql", 307)


routes = [Route("/", front)]
