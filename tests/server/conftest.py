import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.processes import eventually, running_on


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """A data directory that the account which runs Postgres for root may enter."""
    parent = Path(tempfile.mkdtemp(prefix="assay-data-"))
    parent.chmod(0o711)
    directory = parent / "data"
    yield directory
    left = eventually(lambda: not running_on(directory))
    shutil.rmtree((directory / "postgres").resolve(), ignore_errors=True)
    shutil.rmtree(parent)
    assert left, "a test left Postgres running"
