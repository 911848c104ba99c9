"""What commands work on: the database and the files of the settings, brought up to date."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy.ext.asyncio import AsyncConnection

from server.database import database_url, write_engine
from server.files import FileStore, file_store
from server.migrations import migrate
from server.settings import Settings

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Opened:
    connection: AsyncConnection
    files: FileStore


def opened(work: Callable[[Opened], Awaitable[Result]]) -> Result:
    settings = Settings()
    with database_url(settings) as dsn:
        return asyncio.run(_worked(dsn, file_store(settings), work))


async def _worked(dsn: str, files: FileStore, work: Callable[[Opened], Awaitable[Result]]) -> Result:
    await migrate(dsn)
    engine = write_engine(dsn)
    try:
        async with engine.connect() as connection:
            return await work(Opened(connection, files))
    finally:
        await engine.dispose()
