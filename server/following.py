"""The tree that a server keeps its database in step with."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select

from interchange.watch import follow
from models import Tree
from models.base import table
from server.database import write_engine
from server.files import FileStore
from server.refusal import Fault, Refusal

trees = table(Tree)


@dataclass(frozen=True, slots=True)
class Followed:
    # Without links, as the name remembers it.
    root: Path
    name: str


@asynccontextmanager
async def following(dsn: str, files: FileStore, tree: Followed | None) -> AsyncIterator[None]:
    """Beside the server, over a connection of its own, which holds the lock of the root."""
    if tree is None:
        yield
        return
    engine = write_engine(dsn)
    task = asyncio.create_task(follow(engine, tree.root, tree.name, batch=files.batch))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await engine.dispose()


async def require_root(dsn: str, tree: Followed) -> None:
    """Refuses a name that belongs to another root, before anybody waits for what will never show."""
    engine = write_engine(dsn)
    try:
        async with engine.connect() as connection:
            root = (await connection.execute(select(trees.c.root).where(trees.c.name == tree.name))).scalar()
    finally:
        await engine.dispose()
    if root not in (None, str(tree.root)):
        message = f"the tree named {tree.name} was imported from another root: --as NAME, or import --replace-root"
        raise Refusal(Fault("--root", "ROOT_MISMATCH", message))
