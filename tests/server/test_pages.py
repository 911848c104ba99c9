from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route

from server.headers import DEFAULTS, SafeHeaders
from server.pages import PAGE_POLICY, PageFiles, page


@pytest.fixture
def built(tmp_path: Path) -> Path:
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "graphiql-0a1b.js").write_text("export {}")
    (tmp_path / "graphiql.html").write_text("<title>GraphiQL</title>")
    return tmp_path


@pytest.fixture
async def client(built: Path) -> AsyncIterator[httpx.AsyncClient]:
    def graphiql(request: Request) -> Response:
        return page("graphiql", built=built)

    def missing(request: Request) -> Response:
        return page("missing", built=built)

    def plain(request: Request) -> Response:
        return PlainTextResponse("plain")

    app = Starlette(
        routes=[
            Route("/graphql", graphiql),
            Route("/missing", missing),
            Route("/plain", plain),
            Mount("/static", PageFiles(built)),
        ],
        middleware=[Middleware(SafeHeaders)],
    )
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
        yield client


async def test_a_page_loads_from_here_alone_and_is_asked_for_again(client: httpx.AsyncClient) -> None:
    response = await client.get("/graphql")
    assert response.text == "<title>GraphiQL</title>"
    assert response.headers["content-security-policy"] == PAGE_POLICY
    assert response.headers["cache-control"] == "no-cache"
    assert response.headers["content-type"] == "text/html; charset=utf-8"


async def test_a_page_that_is_not_built_says_how_to_build_it(client: httpx.AsyncClient) -> None:
    response = await client.get("/missing")
    assert response.status_code == 404
    assert "make web" in response.text


async def test_files_named_by_content_are_cached_for_good(client: httpx.AsyncClient) -> None:
    response = await client.get("/static/assets/graphiql-0a1b.js")
    assert response.headers["content-type"].startswith("text/javascript")
    assert response.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert response.headers["content-security-policy"] == PAGE_POLICY


@pytest.mark.parametrize("path", ["/static/assets/gone.js", "/static/../pages.py", "/static/%2e%2e/pages.py"])
async def test_nothing_but_the_build_is_served(client: httpx.AsyncClient, path: str) -> None:
    response = await client.get(path)
    assert response.status_code == 404


async def test_a_missing_build_directory_is_no_error_of_the_server(tmp_path: Path) -> None:
    app = Starlette(routes=[Mount("/static", PageFiles(tmp_path / "none"))])
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
        response = await client.get("/static/assets/graphiql.js")
    assert response.status_code == 404


async def test_an_answer_without_headers_of_its_own_may_do_nothing_in_a_browser(client: httpx.AsyncClient) -> None:
    response = await client.get("/plain")
    assert {name: response.headers[name] for name in DEFAULTS} == DEFAULTS
