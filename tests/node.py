"""Programs on Node that use the packages of `web/`."""

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

WEB = Path(__file__).parent.parent / "web"


async def run_script(name: str, *arguments: str) -> Any:
    """Runs one of web/tests and reads the JSON that it prints."""
    node = shutil.which("node")
    if node is None or not (WEB / "node_modules").is_dir():
        pytest.skip("needs Node and the packages of web/: run `make web`")
    process = await asyncio.create_subprocess_exec(
        node,
        str(WEB / "tests" / name),
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    stdout, stderr = await process.communicate()
    assert process.returncode == 0, stderr.decode()
    return json.loads(stdout)
