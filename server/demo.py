"""The demo tree, for whoever starts with nothing."""

from pathlib import Path
from typing import Final

from sqlalchemy import exists, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from interchange.imports import import_tree
from models import Agent, Suite, Tree
from server.database import write_engine
from server.files import FileStore

ROOT: Final = Path(__file__).parents[1] / "demo"
NAME: Final = "demo"


async def load_demo(dsn: str, files: FileStore) -> bool:
    """Says whether it did: a database that ever held anything stays as it is."""
    engine = write_engine(dsn)
    try:
        async with engine.connect() as connection:
            if is_vacant := await _is_empty(connection):
                await import_tree(connection, ROOT, NAME, batch=files.batch)
            return is_vacant
    finally:
        await engine.dispose()


async def _is_empty(connection: AsyncConnection) -> bool:
    # Retired ones count too, so that what a person took away stays away.
    held = or_(*(exists(select(model)) for model in (Tree, Agent, Suite)))
    async with connection.begin():
        return not (await connection.execute(select(held))).scalar_one()
