import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from server.pages import BUILT
from tests.node import run_script


def chromium() -> str:
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("needs Chromium: install it, or set CHROMIUM to its path")
    return found


@pytest.fixture
async def seen(service: str, tmp_path: Path) -> Any:
    """What a person sees who runs an example and begins to write a query of their own."""
    if not (BUILT / "graphiql.html").is_file():
        pytest.skip("needs the built page: run `make web`")
    return await run_script("graphiql.mjs", f"{service}/graphql", chromium(), "Overview", "bench")


async def test_graphiql_runs_an_example_and_completes_a_field_without_any_other_host(service: str, seen: Any) -> None:
    assert seen["tabs"][:2] == ["Overview", "Agents"]
    assert "benchmarkOverview" in seen["shown"]
    assert seen["answer"]["data"]["benchmarkOverview"]["groundTruth"]["status"]
    assert seen["suggested"].startswith("benchmarkOverview")
    assert seen["completed"].startswith("{ benchmarkOverview")
    assert seen["complaints"] == []
    assert seen["hosts"] == [service.removeprefix("http://")]
