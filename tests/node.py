"""Programs on Node that use the packages of `web/`."""

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

WEB = Path(__file__).parent.parent / "web"


async def run_program(program: Path, *arguments: str) -> bytes:
    """Runs a program on Node; gives what it prints."""
    node = shutil.which("node")
    if node is None or not (WEB / "node_modules").is_dir():
        pytest.skip("needs Node and the packages of web/: run `make web`")
    process = await asyncio.create_subprocess_exec(
        node, str(program), *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    stdout, stderr = await process.communicate()
    assert process.returncode == 0, (stdout + stderr).decode()
    return stdout


async def run_script(name: str, *arguments: str) -> Any:
    """Runs one of web/tests and reads the JSON that it prints."""
    return json.loads(await run_program(WEB / "tests" / name, *arguments))
