"""Documents on their way in and out again: sent by POST /files, taken by mutations, exported by the command."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from interchange.digests import digest_json
from server.app import create_app
from server.commands import load
from server.settings import Settings
from tests.interchange.building import assessment, defect, manifest_of, sidecar_of, write, write_suite
from tests.interchange.holding import bytes_of
from tests.interchange.packing import files_of, tarred
from tests.live import serving
from tests.tokens import ask, client_of

STEPS = {
    "registerAgent": "... on RegisterAgentPayload { agent { id } }",
    "importManifest": "... on ImportManifestPayload { created agent { manifestUrl } }",
    "importSuite": "... on ImportSuitePayload { created accepted suite { assessmentsUrl } warnings { code } }",
    "importAssessments": "... on ImportAssessmentsPayload { accepted unchanged warnings { code } }",
}


@pytest.fixture
async def client(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[httpx.AsyncClient]:
    monkeypatch.setenv("ASSAY_DATABASE_URL", database)
    monkeypatch.setenv("ASSAY_DATA_DIR", str(tmp_path / "data"))
    settings = Settings(data_dir=tmp_path / "data")
    async with serving(create_app(settings, database)) as host, client_of(host) as client:
        yield client


async def send(client: httpx.AsyncClient, body: Any) -> str:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    response = await client.post("/files", content=data, headers={"content-type": "application/octet-stream"})
    assert response.status_code in (200, 201), response.text
    digest: str = response.json()["sha256"]
    return digest


async def act(client: httpx.AsyncClient, mutation: str, **given: Any) -> Any:
    name = mutation[0].upper() + mutation[1:]
    query = f"mutation M($input: {name}Input!) {{ {mutation}(input: $input) {{ __typename {STEPS[mutation]} }} }}"
    answer = await ask(client, query, input=given)
    found = answer["data"][mutation]
    assert found["__typename"] == f"{name}Payload", answer
    return found


async def test_what_was_sent_is_read_and_exported_as_it_came(client: httpx.AsyncClient, tmp_path: Path) -> None:
    manifest = manifest_of(defect(cost=1e5), owner="ours")
    record = assessment(ground_truth_sha256=digest_json(defect(cost=1e5)), colour="blue")
    directory = write_suite(tmp_path / "sent")
    write(directory / "ground_truth/assessments.json", sidecar_of(record))
    for number in range(2):
        await send(client, f"run {number}".encode())

    await act(client, "registerAgent", agentId="alpha", name="Alpha")
    taken = await act(client, "importManifest", agentId="alpha", fileSha256=await send(client, manifest))
    suite = await act(client, "importSuite", archiveSha256=await send(client, tarred(files_of(directory))))
    again = await act(client, "importAssessments", fileSha256=await send(client, sidecar_of(record)))
    exported = await asyncio.to_thread(CliRunner().invoke, load(), ["export", str(tmp_path / "tree")])

    assert (taken["created"], suite["created"], suite["accepted"], suite["warnings"]) == (1, True, 1, [])
    assert (again["accepted"], again["unchanged"], again["warnings"]) == (0, 1, [])
    assert (await client.get(taken["agent"]["manifestUrl"])).json() == manifest
    assert len((await client.get(suite["suite"]["assessmentsUrl"])).json()["assessments"]) == 1
    assert exported.exit_code == 0, exported.output
    tree = bytes_of(tmp_path / "tree")
    assert tree["resources/agents/alpha/ground_truth/manifest.json"] == json.dumps(manifest).encode()
    assert tree["resources/agents/alpha/agent.toml"] == b'agent_id = "alpha"\nname = "Alpha"\n'
    assert {path: data for path, data in tree.items() if path.startswith("results/")} == files_of(
        directory, "results/first/"
    )
