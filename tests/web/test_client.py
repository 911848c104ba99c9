import tempfile
from collections.abc import Iterator
from pathlib import Path
from shutil import copy

import pytest

from schema.build import build
from tests.node import WEB, run_program, run_script

STRICT = ["--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess", "--verbatimModuleSyntax"]
MODERN = ["--noEmit", "--target", "es2023", "--module", "esnext", "--moduleResolution", "bundler"]


@pytest.fixture
def directory() -> Iterator[Path]:
    """Beside the packages, so that the compiler finds them from there."""
    with tempfile.TemporaryDirectory(dir=WEB, prefix=".client-") as directory:
        yield Path(directory)


async def test_a_typed_client_is_generated_from_the_schema_and_compiles(directory: Path) -> None:
    sdl = directory / "schema.graphql"
    sdl.write_text(build().as_str())
    documents = await run_script("codegen.mjs", str(sdl), str(directory / "generated.ts"))
    copy(WEB / "tests" / "client.ts", directory)
    await run_program(
        WEB / "node_modules" / "typescript" / "bin" / "tsc", *STRICT, *MODERN, str(directory / "client.ts")
    )
    assert "AgentsDocument" in documents
