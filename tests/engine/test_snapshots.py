"""Each `.graphql` file becomes the statements in the `.sql` file beside it and is answered as the `.json` file says.

Set WRITE_SNAPSHOTS to write what comes out instead, and read the difference.
"""

import json
import os
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.engine.layout import laid_out
from tests.engine.library import Desk, schema

OPERATIONS = sorted((Path(__file__).parent / "snapshots").glob("*.graphql"))
VARIABLES = "# variables: "


def compare(path: Path, made: str) -> None:
    if "WRITE_SNAPSHOTS" in os.environ:
        path.write_text(made)
    assert path.read_text() == made


def read(path: Path) -> tuple[str, dict[str, Any]]:
    operation = path.read_text()
    line = next((line for line in operation.splitlines() if line.startswith(VARIABLES)), VARIABLES + "{}")
    return operation, json.loads(line.removeprefix(VARIABLES))


@pytest.mark.parametrize("path", OPERATIONS, ids=lambda path: path.stem)
async def test_an_operation_becomes_its_statements_and_its_answer(desk: Desk, path: Path) -> None:
    operation, variables = read(path)

    answer = await schema().execute(operation, variable_values=variables, context_value=desk)

    assert answer.errors is None
    statements = [f"{laid_out(sql)};\n-- {arguments}\n" for sql, arguments in desk.asked_with]
    compare(path.with_suffix(".sql"), "\n".join(statements))
    data = json.dumps(json.loads(orjson.dumps(answer.data)), indent=2, ensure_ascii=False)
    compare(path.with_suffix(".json"), data + "\n")
