"""The commands of the pages, run as they stand there, in a project tree with all that they name."""

import asyncio
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from server.commands import load
from server.demo import ROOT
from tests.provider import Provider
from tests.runs.service import made, service

PROJECT = Path(__file__).parents[1]
PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))]
CALL = re.compile(r"^\.venv/bin/assay (.*)$", re.MULTILINE)
CALLS = [call for page in PAGES for call in CALL.findall(page.read_text())]
SERVICES = ("serve", "worker")
LEGACY = [
    {
        "event": "run_started",
        "suite_id": "older",
        "selected_agent_ids": ["refund-desk"],
        "selected_case_counts": {"refund-desk": 2},
    }
]


SIDECAR = "results/suites/weekly-2026-09-14/ground_truth/assessments.json"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    for place in (tree, tree / "demo", tree / "path" / "to" / "tree"):
        shutil.copytree(ROOT, place)
    unit = tree / "resources" / "agents" / "04-new-agent"
    unit.mkdir()
    (unit / "agent.toml").write_text('agent_id = "new-agent"\n')
    (tree / "path" / "to" / "results.json").write_text(json.dumps(LEGACY))
    (tree / "path" / "to" / "record.json").write_text("{}")
    (tree / "path" / "to" / "rows.csv").write_text("key,input,expected_output\nhours,When are you open?,\n")
    (tree / "path" / "to" / "evidence.zip").write_bytes(b"PK")
    sidecar = json.loads((ROOT / SIDECAR).read_bytes())
    (tree / "path" / "to" / "sidecar.json").write_text(
        json.dumps({**sidecar, "assessments": sidecar["assessments"][:1]})
    )
    return tree


@pytest.fixture
def environment(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_DATABASE_URL", database)
    monkeypatch.setenv("ASSAY_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("ASSAY_PORT", "0")


@pytest.fixture
async def benchmark(database: str, tmp_path: Path, provider: Provider) -> AsyncIterator[None]:
    """The one that the pages name, with what they name of it, and a worker for its runs."""
    async with service(database, tmp_path / "data") as working:
        bench = await made(
            working, provider, name="Support answers", tracks=("brief", "thorough"), inputs=("Parking?",)
        )
        await bench.set_metrics(await bench.add_metric("Same words", "TOKEN_F1"))
        yield


def serve(arguments: list[str]) -> str:
    """Serves, or works, until it says that it is ready."""
    program = str(Path(sys.executable).with_name("assay"))
    with subprocess.Popen([program, *arguments], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        process.terminate()
    assert process.returncode == 0
    return said


async def run(call: str) -> Result:
    # In a thread: commands have an event loop of their own.
    return await asyncio.to_thread(CliRunner().invoke, load(), shlex.split(call))


@pytest.mark.usefixtures("environment", "benchmark")
async def test_every_command_of_the_pages_does_what_it_says(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree)
    results = {call: await run(call) for call in CALLS if not call.startswith(SERVICES)}
    failed = {call: f"{result.output}{result.exception!r}" for call, result in results.items() if result.exit_code}
    assert failed == {}


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("call", [call for call in CALLS if call.startswith(SERVICES)])
def test_every_service_of_the_pages_starts(tree: Path, call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree)
    assert serve(shlex.split(call)).startswith(("GraphiQL: ", "Working."))


def test_there_are_commands() -> None:
    assert {shlex.split(call)[0] for call in CALLS} >= {"import", "agent", "manifest", "digest", "overview", "verify"}
