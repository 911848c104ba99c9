"""What Postgres could not bring in line with what others did at the same time, and can when it is tried again."""

from typing import Final

from sqlalchemy.exc import DBAPIError

# Serialization failure and deadlock.
OF_ORDER: Final = frozenset({"40001", "40P01"})
# A row that another transaction was quicker to add, or to remove: found, or missed, the next time.
OF_ROWS: Final = frozenset({"23505", "23503"})


def is_transient(error: DBAPIError) -> bool:
    return getattr(error.orig, "sqlstate", None) in OF_ORDER | OF_ROWS


def is_out_of_order(error: DBAPIError) -> bool:
    return getattr(error.orig, "sqlstate", None) in OF_ORDER
