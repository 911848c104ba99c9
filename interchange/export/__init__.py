"""A project tree out of the database: what was read, with what the API added to it."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy.ext.asyncio import AsyncConnection

from interchange.export.contents import contents
from interchange.export.deciding import decide
from interchange.export.writing import differing, lost, write
from interchange.reading import Fault
from interchange.uploads import Store
from resolvers.keeping import hold_files


class Barred(Exception):
    """Something cannot be written, and so nothing was."""

    def __init__(self, faults: Collection[Fault]) -> None:
        super().__init__("; ".join(fault.message for fault in faults))
        self.faults = faults


@dataclass(frozen=True, slots=True)
class Exported:
    # Relative to the root, in the order in which they were written.
    written: list[str]
    unchanged: int
    # What no tree can hold.
    notes: list[Fault] = field(default_factory=list)


async def export(
    connection: AsyncConnection, store: Store, root: Path, *, tree: str | None = None, only: Collection[str] = ()
) -> Exported:
    """Write a tree over whatever lies at `root`, or `only` what is about these agents.

    Raises Barred before anything is written.
    """
    root = await asyncio.to_thread(root.resolve)
    await connection.execution_options(isolation_level="REPEATABLE READ")
    async with connection.begin():
        await hold_files(connection)
        try:
            held = await contents(connection, tree, only)
        except Fault as fault:
            raise Barred([fault]) from fault
        decided = await decide(held, root, store, is_whole=not only)
        changed, barring = await asyncio.to_thread(differing, root, decided.files)
        faults = [*decided.faults, *barring, *await lost(decided.files, changed, store)]
        if faults:
            raise Barred(faults)
        try:
            await write(root, decided.files, changed, store)
        except Fault as fault:
            raise Barred([fault]) from fault
    return Exported(changed, len(decided.files) - len(changed), decided.notes)
