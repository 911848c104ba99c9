"""Embedded Postgres in a directory of its own, and databases in it with all tables and no rows."""

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg

from server.migrations import migrate
from server.postgres import embedded


@contextmanager
def working_directory() -> Iterator[Path]:
    directory = Path(tempfile.mkdtemp(prefix="assay-bench-"))
    # Where root measures, the account that runs Postgres must get in.
    directory.chmod(0o711)
    try:
        yield directory
    finally:
        shutil.rmtree(directory)


@contextmanager
def postgres(directory: Path) -> Iterator[str]:
    with embedded(directory / "postgres") as dsn:
        yield dsn


@asynccontextmanager
async def connection(dsn: str, settings: dict[str, str] | None = None) -> AsyncIterator[asyncpg.Connection]:
    opened = await asyncpg.connect(dsn, server_settings=settings)
    try:
        yield opened
    finally:
        await opened.close()


async def database(dsn: str, name: str) -> str:
    """The DSN of a new database, migrated."""
    async with connection(dsn) as server:
        await server.execute(f'CREATE DATABASE "{name}"')
    made = urlsplit(dsn)._replace(path=f"/{name}").geturl()
    await migrate(made)
    return made
