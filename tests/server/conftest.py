import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.processes import wait_until_unused


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """A data directory that the account which runs Postgres for root may enter."""
    parent = Path(tempfile.mkdtemp(prefix="assay-data-"))
    parent.chmod(0o711)
    directory = parent / "data"
    yield directory
    wait_until_unused(directory)
    shutil.rmtree(parent)
