"""Suites that were read before and cannot be told now: they stay, left out, until they can be again."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePosixPath

from sqlalchemy import select, update

from interchange.records import SuiteFault
from interchange.store.session import Import
from models import Suite
from models.base import ReasonCode, table
from resolvers.sql import among, not_among

suites = table(Suite)

Codes = Mapping[str, ReasonCode]


async def mark_faulty(session: Import, faults: Sequence[SuiteFault], sound: Collection[str]) -> set[str]:
    """Gives the Suites of a tree their faults, but for those that read well elsewhere; answers their identities."""
    if session.tree_id is None or not faults:
        return set()
    by_id = {fault.suite_id: fault.code for fault in faults}
    by_directory = {directory: fault.code for fault in faults for directory in fault.directories}
    rows = await session.connection.execute(
        select(suites.c.id, suites.c.suite_id, suites.c.directory, suites.c.fault).where(
            suites.c.tree_id == session.tree_id,
            suites.c.retired_at.is_(None),
            not_among(suites.c.suite_id, sorted(sound)),
        )
    )
    marked: set[str] = set()
    changed: dict[int, ReasonCode] = {}
    for row in rows:
        if code := by_id.get(row.suite_id) or _code_of(row.directory, by_directory):
            marked.add(row.suite_id)
            changed |= {row.id: code} if row.fault != code else {}
    await _store(session, changed)
    return marked


def _code_of(directory: str | None, by_directory: Codes) -> ReasonCode | None:
    """A directory that cannot be listed hides all that was read below it."""
    if directory is None:
        return None
    path = PurePosixPath(directory)
    return next((by_directory[str(above)] for above in (path, *path.parents) if str(above) in by_directory), None)


async def _store(session: Import, changed: Mapping[int, ReasonCode]) -> None:
    session.touched_suites.update(changed)
    for code in set(changed.values()):
        keys = [pk for pk, given in changed.items() if given == code]
        await session.connection.execute(update(suites).where(among(suites.c.id, keys)).values(fault=code))
