"""What Postgres could not bring in line with what others did at the same time, and can when it is tried again."""

from typing import Final

from sqlalchemy.exc import DBAPIError

# Serialization failure and deadlock.
OF_ORDER: Final = frozenset({"40001", "40P01"})
# A row that another transaction was quicker to add, or to remove: found, or missed, the next time.
OF_ROWS: Final = frozenset({"23505", "23503"})
# Classes of errors: what no column takes, what no rule allows, and what is too much.
OF_DATA: Final = frozenset({"22", "23", "54"})


def is_transient(error: DBAPIError) -> bool:
    return getattr(error.orig, "sqlstate", None) in OF_ORDER | OF_ROWS


def is_out_of_order(error: DBAPIError) -> bool:
    return getattr(error.orig, "sqlstate", None) in OF_ORDER


def is_refused(error: Exception) -> bool:
    """For what was to be written, not for when: it would be refused whenever it is tried."""
    return isinstance(error, DBAPIError) and str(getattr(error.orig, "sqlstate", ""))[:2] in OF_DATA
