"""Runs that a command follows or cancels, by the ids that the graph shows."""

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from decimal import Decimal
from typing import Any, Final, Protocol

from sqlalchemy import exists, func, select, true
from sqlalchemy.ext.asyncio import AsyncConnection
from strawberry.utils.str_converters import to_camel_case

from engine.encode import read_global_id
from engine.errors import InvalidArgument
from models.base import RunItemStatus, RunStatus
from resolvers import ending
from resolvers.acting import Acting, announce
from resolvers.ending import items, runs
from resolvers.progress import progress_of
from server.door import FAILURES
from server.refusal import Fault, Refusal

# Between two looks.
PAUSE: Final = 0.25
# Longer than a worker that is there takes to find what was announced to nobody.
PATIENCE: Final = 3.0
LONGEST_KEY: Final = 18
MOST_REASONS: Final = 3


@dataclass(frozen=True, slots=True)
class Progress:
    total: int
    done: int
    succeeded: int
    failed: int
    cancelled: int
    out_of_budget: int
    remaining: int
    captured: int
    locked_skipped: int


@dataclass(frozen=True, slots=True)
class Look:
    """A run at one moment. `is_idle` as long as nobody holds an item of any run."""

    status: RunStatus
    progress: Progress
    cost: Decimal
    unpriced_calls: int
    has_ended: bool
    is_idle: bool = field(compare=False)

    def document(self) -> dict[str, Any]:
        """In the words of the graph."""
        return {
            "status": self.status,
            "progress": {to_camel_case(name): count for name, count in asdict(self.progress).items()},
            "cost": format(self.cost, "f"),
            "unpricedCalls": self.unpriced_calls,
        }


class Shown(Protocol):
    """How a run that is followed is shown."""

    def show(self, look: Look) -> None: ...

    def hint(self, message: str) -> None: ...


class Hints:
    """Each is given once."""

    def __init__(self, shown: Shown) -> None:
        self._shown = shown
        self._given: set[str] = set()

    def hint(self, message: str) -> None:
        if message not in self._given:
            self._shown.hint(message)
        self._given.add(message)


EMPTY = "Nothing was to be done: the scopes selected no cell and no score."
UNREACHABLE = "The database does not answer; looking again."
UNTAKEN = "Nobody takes the items up. Does a worker run (assay serve, or assay worker)?"


async def follow(connection: AsyncConnection, run_pk: int, shown: Shown) -> Look:
    """Show each change until the run has ended, and then why items of it failed."""
    seen, quiet, hints = await look_at(connection, run_pk), 0.0, Hints(shown)
    shown.show(seen)
    while not seen.has_ended:
        await asyncio.sleep(PAUSE)
        try:
            look = await look_at(connection, run_pk)
        except FAILURES:
            hints.hint(UNREACHABLE)
            await asyncio.sleep(PATIENCE)
            continue
        if look != seen:
            shown.show(look)
            seen, quiet = look, 0.0
        quiet = quiet + PAUSE if look.is_idle else 0.0
        if quiet > PATIENCE:
            hints.hint(UNTAKEN)
    for remark in await remarks(connection, run_pk, seen.progress):
        shown.hint(remark)
    return seen


async def remarks(connection: AsyncConnection, run_pk: int, ended: Progress) -> list[str]:
    if not ended.total:
        return [EMPTY]
    if not ended.failed:
        return []
    try:
        return await reasons(connection, run_pk)
    except FAILURES:
        # How the run ended is known, and is told without the reasons rather than not at all.
        return []


async def reasons(connection: AsyncConnection, run_pk: int) -> list[str]:
    """The commonest ones of the items that failed, each with their number."""
    count, kind, message = func.count(), items.c.error_kind, items.c.error_message
    found = (
        select(count, kind, message)
        .where(items.c.run_pk == run_pk, items.c.status == RunItemStatus.FAILED)
        .group_by(kind, message)
        .order_by(count.desc(), kind, message)
        .limit(MOST_REASONS)
    )
    async with connection.begin():
        return [f"{count} failed, {kind}: {message}" for count, kind, message in await connection.execute(found)]


async def look_at(connection: AsyncConnection, run_pk: int) -> Look:
    counted = progress_of(runs).lateral("progress")
    counts = [counted.c[each.name] for each in fields(Progress)]
    is_held = exists(select(items.c.id).where(items.c.token.is_not(None)))
    found = (
        select(runs.c.status, runs.c.cost, runs.c.unpriced_calls, runs.c.finished_at, is_held, *counts)
        .select_from(runs.join(counted, true()))
        .where(runs.c.id == run_pk)
    )
    async with connection.begin():
        row = (await connection.execute(found)).one_or_none()
    if row is None:
        raise Refusal(Fault("RUN_ID", "NOT_FOUND", "The run went with its benchmark."))
    status, cost, unpriced_calls, finished_at, held, *found_counts = row
    progress = Progress(*map(int, found_counts))
    return Look(RunStatus(status), progress, cost, unpriced_calls, finished_at is not None, not held)


async def find(connection: AsyncConnection, run_id: str) -> int:
    try:
        type_name, key = read_global_id(run_id, ())
    except InvalidArgument:
        type_name = key = ""
    is_key = type_name == "Run" and key.isdecimal() and len(key) <= LONGEST_KEY
    async with connection.begin():
        run_pk = await connection.scalar(select(runs.c.id).where(runs.c.id == int(key))) if is_key else None
    if run_pk is None:
        raise Refusal(Fault(run_id, "NOT_FOUND", "There is no such run."))
    return int(run_pk)


async def cancel(connection: AsyncConnection, run_pk: int, actor: str) -> Look:
    """How the run ended: cancelled now, or before by itself."""
    acting = Acting(connection, actor)
    async with connection.begin():
        await ending.cancel(acting, run_pk)
        await acting.note("cancel_run", f"Run:{run_pk}")
    async with connection.begin():
        await announce(connection, acting.topics)
    return await look_at(connection, run_pk)


def require_success(look: Look, run_id: str) -> None:
    if look.status == RunStatus.SUCCEEDED:
        return
    counts: Mapping[str, int] = {
        "failed": look.progress.failed,
        "cancelled": look.progress.cancelled,
        "out of budget": look.progress.out_of_budget,
    }
    told = ", ".join(f"{name} {count}" for name, count in counts.items() if count)
    message = f"The run was cancelled: {told or 'nothing was left to do'}."
    if look.status == RunStatus.FAILED:
        message = f"No item succeeded: {told}."
    raise Refusal(Fault(run_id, f"RUN_{look.status}", message))
