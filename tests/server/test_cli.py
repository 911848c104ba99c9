import subprocess
import sys
from pathlib import Path

import pytest

from server.cli import exit_statuses
from server.refusal import Fault, Refusal

SLOW = {"sqlalchemy", "strawberry", "asyncpg", "uvicorn", "pydantic", "starlette", "alembic"}


def test_help_loads_none_of_the_packages_that_the_commands_use() -> None:
    listing = "import sys, server.commands as c; c.load(); print(*sys.modules)"

    done = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True)

    assert SLOW.isdisjoint(done.stdout.split())


def test_an_unknown_command_is_wrong_usage() -> None:
    assay = Path(sys.executable).parent / "assay"

    done = subprocess.run([assay, "nonsense"], capture_output=True, text=True, check=False)

    assert done.returncode == 2


def test_a_refusal_names_each_fault_on_a_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    faults = Fault("defects.json", "INVALID_JSON", "no document"), Fault("plan.json:3", "INVALID_FIELD", "no title")

    with pytest.raises(SystemExit) as ended, exit_statuses():
        raise Refusal(*faults)

    assert ended.value.code == 1
    assert capsys.readouterr().err == "defects.json: INVALID_JSON: no document\nplan.json:3: INVALID_FIELD: no title\n"
