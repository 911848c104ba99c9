"""What changed in benchmark tables a moment ago."""

from enum import StrEnum

from sqlalchemy import BigInteger, Index, text
from sqlmodel import Field, SQLModel

from models.base import identity, vocabulary


class ChangeKind(StrEnum):
    # The benchmark itself, or its tracks.
    TABLE = "TABLE"
    ROW = "ROW"
    CELL = "CELL"
    EXPECTED = "EXPECTED"
    # The scores of a cell.
    SCORE = "SCORE"
    ROW_REMOVED = "ROW_REMOVED"
    TRACK_REMOVED = "TRACK_REMOVED"
    # More at once than would be told one by one.
    MANY = "MANY"


class BenchmarkChange(SQLModel, table=True):
    """Written by triggers, in the transaction that made the change, and removed after a minute or so.

    There is no reference to the benchmark: what was removed is told of too.
    """

    __tablename__ = "benchmark_changes"
    __table_args__ = (Index(None, "benchmark_pk", "transaction_id"),)

    id: int | None = identity()
    benchmark_pk: int = Field(sa_type=BigInteger)
    transaction_id: int | None = Field(
        default=None,
        nullable=False,
        sa_type=BigInteger,
        sa_column_kwargs={"server_default": text("pg_current_xact_id()::text::bigint")},
    )
    kind: ChangeKind = Field(sa_type=vocabulary(ChangeKind, "kind"))
    row_pk: int | None = Field(default=None, sa_type=BigInteger)
    track_pk: int | None = Field(default=None, sa_type=BigInteger)
