from collections.abc import AsyncIterator
from typing import Any

import httpx
import orjson
import pytest
import strawberry
from starlette.applications import Starlette
from starlette.routing import Route
from structlog.testing import capture_logs

from schema.masking import MaskedSchema
from server.http import GraphQLView
from tests.live import serving
from tests.node import run_script


@strawberry.type
class Query:
    @strawberry.field
    def greeting(self, name: str = "world") -> str:
        return f"Hello {name}"

    @strawberry.field
    def broken(self) -> str | None:
        raise RuntimeError("secret at /etc/assay")


@strawberry.type
class Mutation:
    @strawberry.mutation
    def rename(self, name: str) -> str:
        return name


def application(**options: Any) -> Starlette:
    view = GraphQLView(MaskedSchema(Query, Mutation), **options)
    return Starlette(routes=[Route("/graphql", view)])


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(application()) as client:
        yield client


def client_of(app: Starlette) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test")


def messages(response: httpx.Response) -> list[str]:
    return [error["message"] for error in response.json()["errors"]]


async def test_every_audit_of_the_specification_passes() -> None:
    async with serving(application()) as host:
        results = await run_script("audit.mjs", f"http://{host}/graphql")
    assert [result for result in results if result["status"] != "ok"] == []
    assert len(results) == 61


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        ("", "application/json"),
        ("*/*", "application/json"),
        ("application/*", "application/json"),
        ("application/json, application/graphql-response+json", "application/json"),
        ("application/graphql-response+json, application/json;q=0.9", "application/graphql-response+json"),
        ("application/json;q=0.5, application/graphql-response+json", "application/graphql-response+json"),
        ("application/graphql-response+json, application/json, text/event-stream", "application/graphql-response+json"),
        ("application/graphql-response+json;q=0, */*;q=0.1", "application/json"),
    ],
)
async def test_the_answer_has_the_media_type_that_is_wanted_most(
    client: httpx.AsyncClient, accept: str, media_type: str
) -> None:
    response = await client.post("/graphql", json={"query": "{ greeting }"}, headers={"accept": accept})
    assert response.status_code == 200
    assert response.headers["content-type"] == media_type
    assert response.json() == {"data": {"greeting": "Hello world"}}


async def test_an_answer_nobody_accepts_is_not_made(client: httpx.AsyncClient) -> None:
    response = await client.post("/graphql", json={"query": "{ greeting }"}, headers={"accept": "image/png"})
    assert response.status_code == 406


async def test_a_query_may_come_in_the_address(client: httpx.AsyncClient) -> None:
    query = {"query": "query ($name: String!) { greeting(name: $name) }", "variables": '{"name": "Ada"}'}
    response = await client.get("/graphql", params=query)
    assert response.json() == {"data": {"greeting": "Hello Ada"}}


async def test_a_mutation_by_get_is_refused(client: httpx.AsyncClient) -> None:
    response = await client.get("/graphql", params={"query": 'mutation { rename(name: "x") }'})
    assert (response.status_code, response.headers["allow"]) == (405, "POST")
    assert messages(response) == ["A mutation must be sent by POST."]


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"])
async def test_other_methods_are_refused(method: str) -> None:
    view = GraphQLView(MaskedSchema(Query))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(view), base_url="http://test") as client:
        response = await client.request(method, "/graphql")
    assert (response.status_code, response.headers["allow"]) == (405, "GET, POST")


@pytest.mark.parametrize("body", ['"text"', "1", "null", "true", "", "{", "NaN", "[" * 100_000, b"\xff", '"\\ud800"'])
async def test_a_body_that_is_no_object_is_refused(client: httpx.AsyncClient, body: str | bytes) -> None:
    response = await client.post("/graphql", content=body, headers={"content-type": "application/json"})
    assert response.status_code == 400
    assert len(messages(response)) == 1


async def test_a_batch_is_refused_in_words(client: httpx.AsyncClient) -> None:
    response = await client.post("/graphql", json=[{"query": "{ greeting }"}])
    assert response.status_code == 400
    assert messages(response) == ["One request carries one operation: batches are not accepted."]


@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        ("query", 1, "`query` must be a string or null."),
        ("variables", [], "`variables` must be an object or null."),
        ("operationName", {}, "`operationName` must be a string or null."),
        ("extensions", "x", "`extensions` must be an object or null."),
    ],
)
async def test_a_parameter_of_another_type_is_refused_by_name(
    client: httpx.AsyncClient, parameter: str, value: object, message: str
) -> None:
    response = await client.post("/graphql", json={"query": "{ greeting }", parameter: value})
    assert response.status_code == 400
    assert messages(response) == [message]


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
async def test_only_json_is_read_so_that_no_form_elsewhere_can_write(
    client: httpx.AsyncClient, content_type: str
) -> None:
    body = orjson.dumps({"query": 'mutation { rename(name: "x") }'})
    response = await client.post("/graphql", content=body, headers={"content-type": content_type})
    assert response.status_code == 415


async def test_a_body_may_be_as_long_as_the_limit_and_no_longer() -> None:
    body = orjson.dumps({"query": "{ greeting }"})
    headers = {"content-type": "application/json; charset=utf-8"}
    async with client_of(application(max_body_bytes=len(body))) as client:
        fitting = await client.post("/graphql", content=body, headers=headers)
        longer = await client.post("/graphql", content=body + b" ", headers=headers)
    assert fitting.status_code == 200
    assert longer.status_code == 413


async def test_a_body_without_a_length_is_bounded_too() -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b" " * 1000

    async with client_of(application(max_body_bytes=10_000)) as client:
        response = await client.post("/graphql", content=endless(), headers={"content-type": "application/json"})
    assert response.status_code == 413


async def test_an_unexpected_error_shows_only_an_id_that_the_log_has(client: httpx.AsyncClient) -> None:
    with capture_logs() as logs:
        response = await client.post("/graphql", json={"query": "{ greeting broken }"})
    answer = response.json()
    [error] = answer["errors"]
    [entry] = logs
    assert answer["data"] == {"greeting": "Hello world", "broken": None}
    assert error["path"] == ["broken"]
    assert error["extensions"] == {"code": "INTERNAL", "errorId": entry["error_id"]}
    assert "secret" not in response.text
    assert str(entry["exc_info"]) == "secret at /etc/assay"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("{", "Syntax Error: Expected Name, found <EOF>."),
        ("{ nothing }", "Cannot query field 'nothing' on type 'Query'."),
        (
            "query ($name: String!) { greeting(name: $name) }",
            "Variable '$name' has invalid value: Expected a value of non-null type 'String!' to be provided.",
        ),
    ],
)
async def test_faults_of_the_caller_stay_readable_and_out_of_the_log(
    client: httpx.AsyncClient, query: str, message: str
) -> None:
    with capture_logs() as logs:
        response = await client.post("/graphql", json={"query": query})
    assert "data" not in response.json()
    assert messages(response) == [message]
    assert logs == []
