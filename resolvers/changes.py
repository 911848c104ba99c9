"""What changed in a benchmark since somebody looked, by the transactions that were not yet to be seen then.

A snapshot of Postgres says which transactions it sees. What one writes is to be seen only from its commit on, however
long ago it began; so what a look shows is what the snapshot of the look before did not see.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    FromClause,
    Row,
    Select,
    Text,
    and_,
    cast,
    delete,
    exists,
    false,
    func,
    literal,
    not_,
    or_,
    select,
)
from sqlalchemy import BigInteger as Counted
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.types import UserDefinedType

from models import BenchmarkChange
from models.base import table
from models.changes import ChangeKind
from resolvers.scores import scores
from resolvers.sql import among
from resolvers.tables import benchmarks

changes = table(BenchmarkChange)

# Who missed more than this does better to read the table anew.
MOST: Final = 1_000


class Snapshot(UserDefinedType[str]):
    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "pg_snapshot"


class TransactionId(UserDefinedType[str]):
    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "xid8"


@dataclass(frozen=True, slots=True)
class TableChange:
    """`snapshot` is what to ask with the next time. Where `resync` holds, too much changed, or nobody knows what."""

    snapshot: str
    resync: bool = False
    is_table: bool = False
    rows: Sequence[int] = ()
    cells: Sequence[str] = ()
    expected: Sequence[int] = ()
    # Of cells that changed, of rows of which something else is expected, and those that were computed.
    scores: Sequence[int] = ()
    removed_rows: Sequence[int] = ()
    removed_tracks: Sequence[int] = ()

    @property
    def is_any(self) -> bool:
        lists = (self.rows, self.cells, self.expected, self.scores, self.removed_rows, self.removed_tracks)
        return self.resync or self.is_table or any(lists)


async def since(connection: AsyncConnection, benchmark_pk: int, snapshot: str | None) -> TableChange | None:
    """What changed since a snapshot was taken, or just a new one; None where there is no such benchmark."""
    found = (await connection.execute(_look(benchmark_pk, snapshot))).all()
    now, is_there = found[0].now, found[0].is_there
    if not is_there:
        return None
    noted = [row for row in found if row.kind is not None]
    if snapshot is None or len(noted) > MOST or any(row.kind == ChangeKind.MANY for row in noted):
        return TableChange(now, resync=True)
    told = _told(now, noted)
    return TableChange(now, resync=True) if len(told.scores) > MOST else told


def _look(benchmark_pk: int, snapshot: str | None) -> Select[Any]:
    is_there = exists(select(benchmarks.c.id).where(benchmarks.c.id == benchmark_pk))
    now = select(cast(func.pg_current_snapshot(), Text).label("now"), is_there.label("is_there")).subquery("looked")
    unseen = false() if snapshot is None else _unseen(snapshot)
    noted = (
        select(changes.c.kind, changes.c.row_pk, changes.c.track_pk)
        .where(changes.c.benchmark_pk == benchmark_pk, unseen)
        .distinct()
        .limit(MOST + 1)
        .subquery("noted")
    )
    return select(now, noted, _scores_of(noted)).select_from(now.outerjoin(noted, literal(True)))


def _scores_of(noted: FromClause) -> ColumnElement[Any]:
    """The scores that a change may have made, or turned stale."""
    score = scores.alias("touched_score")
    of_cell = among(noted.c.kind, (ChangeKind.CELL, ChangeKind.SCORE)) & (score.c.track_pk == noted.c.track_pk)
    meant = select(score.c.id).where(
        score.c.row_pk == noted.c.row_pk, or_(of_cell, noted.c.kind == ChangeKind.EXPECTED)
    )
    return func.array(meant.limit(MOST + 1).scalar_subquery(), type_=ARRAY(Counted)).label("scores")


def _unseen(snapshot: str) -> ColumnElement[bool]:
    seen = cast(literal(snapshot, Text), Snapshot)
    transaction = cast(cast(changes.c.transaction_id, Text), TransactionId)
    return and_(
        # By index: what is older was seen.
        changes.c.transaction_id >= _oldest_running(seen),
        not_(func.pg_visible_in_snapshot(transaction, seen)),
    )


def _oldest_running(snapshot: ColumnElement[Any]) -> ColumnElement[int]:
    return cast(cast(func.pg_snapshot_xmin(snapshot), Text), Counted)


def _told(now: str, noted: Sequence[Row[Any]]) -> TableChange:
    removed = {row.row_pk for row in noted if row.kind == ChangeKind.ROW_REMOVED}
    gone = {row.track_pk for row in noted if row.kind == ChangeKind.TRACK_REMOVED}

    def left(kind: ChangeKind) -> list[int]:
        return sorted(row.row_pk for row in noted if row.kind == kind and row.row_pk not in removed)

    cells = sorted(
        (row.row_pk, row.track_pk)
        for row in noted
        if row.kind == ChangeKind.CELL and row.row_pk not in removed and row.track_pk not in gone
    )
    return TableChange(
        now,
        is_table=any(row.kind in (ChangeKind.TABLE, ChangeKind.TRACK_REMOVED) for row in noted),
        rows=left(ChangeKind.ROW),
        cells=[f"{row_pk}-{track_pk}" for row_pk, track_pk in cells],
        expected=left(ChangeKind.EXPECTED),
        scores=sorted({key for row in noted for key in row.scores}),
        removed_rows=sorted(removed),
        removed_tracks=sorted(gone),
    )


async def forget(connection: AsyncConnection, before: int | None) -> int:
    """Remove the changes of transactions before that one; gives the one to name after everybody has looked again."""
    if before is not None:
        await connection.execute(delete(changes).where(changes.c.transaction_id < before))
    oldest = await connection.execute(select(_oldest_running(func.pg_current_snapshot())))
    return int(oldest.scalar_one())
