import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from interchange.digests import digest_json
from interchange.imports import import_tree
from server.app import create_app
from server.settings import Settings
from tests.interchange.building import (
    REGISTRY,
    SIDECAR,
    UNIT,
    assessment,
    defect,
    manifest_of,
    sidecar_of,
    write,
    write_suite,
    write_unit,
)

# What must be encoded in an address, and what a path could be taken apart at.
NAME = "al/phé 100%?"
SPELLED = '{"cost": 1e5, "count": 12345678901234567890123, "note": "a\\u0000b"}'


@pytest.fixture
async def client(database: str, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(Settings(data_dir=tmp_path / "data"), database)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client,
    ):
        async with app.state.database.engine.connect() as connection:
            await import_tree(connection, tree(tmp_path / "tree"), "tree", batch=app.state.files.batch)
        yield client


def tree(root: Path) -> Path:
    named = json.dumps(NAME, ensure_ascii=False)
    record = defect(extra=json.loads(SPELLED))
    write_unit(root, manifest=manifest_of(record, agent_id=NAME))
    write(root / REGISTRY, f'[[agents]]\nagent_id = {named}\npath = "{UNIT}"\n')
    write(root / UNIT / "agent.toml", f"agent_id = {named}\n")
    write_suite(root, agents=[{"agent_id": "alpha", "case_count": 1, "source_sha256": "0" * 64}])
    write(root / SIDECAR, sidecar_of(assessment()))
    return root


async def manifest_url(client: httpx.AsyncClient) -> str:
    query = "{ agents { nodes { manifestUrl } } }"
    response = await client.post("/graphql", json={"query": query})
    url: str = response.json()["data"]["agents"]["nodes"][0]["manifestUrl"]
    return url


async def test_the_overview_is_always_asked_for_anew(client: httpx.AsyncClient) -> None:
    response = await client.get("/api/benchmark/overview")

    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert response.headers["cache-control"] == "no-store"
    assert response.json()["schema"] == "abb.benchmark.overview.v1"


async def test_a_suite_names_its_page_and_leaves_out_what_does_not_apply(client: httpx.AsyncClient) -> None:
    document = (await client.get("/api/benchmark/overview")).json()

    [suite] = [suite for agent in document["agents"] for suite in agent["suites"]]
    [warning] = document["ground_truth"]["warnings"]
    assert suite["url"] == "/suite/first/"
    assert warning.keys() == {"code", "message", "suite_id", "assessment_index"}


@pytest.mark.parametrize(
    "origin", ["http://elsewhere.example", "http://localhost:8001", "null", "http://localhost.example"]
)
async def test_pages_of_other_sites_are_refused(client: httpx.AsyncClient, origin: str) -> None:
    for path in ("/api/benchmark/overview", await manifest_url(client), "/api/suites/first/assessments.json"):
        response = await client.get(path, headers={"origin": origin})

        assert response.status_code == 403
        assert response.json()["error"]["code"] == "FOREIGN_ORIGIN"


async def test_own_pages_are_answered(client: httpx.AsyncClient) -> None:
    response = await client.get("/api/benchmark/overview", headers={"origin": "http://localhost"})

    assert response.status_code == 200


async def test_the_overview_can_only_be_read(client: httpx.AsyncClient) -> None:
    response = await client.post("/api/benchmark/overview")

    assert response.status_code == 405


async def test_an_identity_of_any_characters_leads_to_its_manifest_in_its_own_spelling(
    client: httpx.AsyncClient,
) -> None:
    url = await manifest_url(client)
    response = await client.get(url)

    [record] = json.loads(response.text)["defects"]
    assert url == "/api/agents/al%2Fph%C3%A9%20100%25%3F/manifest.json"
    assert digest_json(record) == digest_json(defect(extra=json.loads(SPELLED)))
    assert '"cost":100000.0,"count":12345678901234567890123,"note":"a\\u0000b"' in response.text


@pytest.mark.parametrize(
    "path",
    [
        "/api/agents/alpha/manifest.json",
        "/api/suites/%00/assessments.json",
        "/api/agents/a%00/manifest.json",
        "/api/suites/second/assessments.json",
    ],
)
async def test_what_is_not_there_is_told_as_json(client: httpx.AsyncClient, path: str) -> None:
    response = await client.get(path)

    assert response.status_code == 404
    assert response.json()["error"]["code"] in ("UNKNOWN_AGENT", "UNKNOWN_SUITE")


async def test_the_sidecar_of_a_suite_in_which_nothing_stands_is_an_empty_list(client: httpx.AsyncClient) -> None:
    response = await client.get("/api/suites/first/assessments.json")

    assert response.json() == {"schema": "abb.ground_truth.assessments.v1", "suite_id": "first", "assessments": []}
