"""Files that nothing refers to are swept after a day; whoever is about to refer to one keeps the sweep away."""

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

# Any number that nothing else in the database locks.
FILES_LOCK = 0x46494C45


async def hold_files(connection: AsyncConnection) -> None:
    """Nothing is swept until this transaction ends. To be called before bytes are put or looked for."""
    await connection.execute(select(func.pg_advisory_xact_lock_shared(FILES_LOCK)))


async def may_sweep(connection: AsyncConnection) -> bool:
    """Whether nobody holds files, who then wait until this transaction ends. A sweep can come again: it never waits."""
    return bool((await connection.execute(select(func.pg_try_advisory_xact_lock(FILES_LOCK)))).scalar_one())
