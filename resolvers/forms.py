"""The forms that fields of other programs' records must have; None says that a value lacks its form."""

import re
from datetime import UTC, datetime
from typing import Any

from models.base import ReasonCode
from resolvers.errors import InvalidInput

UNSTORABLE = "Text cannot hold NUL or half of a surrogate pair."
WORDLESS = "This must be text that says something, without NUL and lone surrogates."

GREATEST_INTEGER = 2**31 - 1
MOST_RECORDS = 10_000
# Several of them together must fit into one entry of an index, which holds some 2,700 bytes.
LONGEST_IDENTITY = 500
# A path in a tree is a key as well, with the name of a document behind it.
LONGEST_PATH = 2_000
SHORT_TEXT = f"nonempty text of at most {LONGEST_IDENTITY} bytes"
SHORT_PATH = f"UTF-8 of at most {LONGEST_PATH} bytes"

# The driver takes the two ends of Python's time for infinity, which no clock showed.
_ENDLESS = (datetime.min, datetime.max)
_SHA256 = re.compile(r"[0-9a-f]{64}")
_UNFIT = re.compile("[\0\ud800-\udfff]")
_INSTANT = re.compile(r"[0-9W-]+[Tt ][0-9:.,]+(?:[Zz]|[+-][0-9:]+)")


def storable_text(value: Any) -> str | None:
    """Text that a database can keep: without NUL and lone surrogates."""
    return value if isinstance(value, str) and not _UNFIT.search(value) else None


def text(value: Any) -> str | None:
    """Storable text that says something: whitespace alone does not."""
    return value if isinstance(value, str) and value.strip() and storable_text(value) is not None else None


def identity(value: Any) -> str | None:
    """Text short enough to look a record up by it."""
    found = text(value)
    return found if found is not None and len(found.encode()) <= LONGEST_IDENTITY else None


def storable_path(value: str) -> str | None:
    """A path that records are kept under."""
    return value if storable_text(value) is not None and len(value.encode()) <= LONGEST_PATH else None


def sha256(value: Any) -> str | None:
    return value if isinstance(value, str) and _SHA256.fullmatch(value) else None


def integer(value: Any, least: int = 0, most: int = GREATEST_INTEGER) -> int | None:
    """A whole number within bounds; a boolean is none, though Python thinks so."""
    return value if type(value) is int and least <= value <= most else None


def instant(value: Any) -> datetime | None:
    """An ISO 8601 instant with an offset, in UTC."""
    if not isinstance(value, str) or not _INSTANT.fullmatch(value):
        return None
    try:
        found = datetime.fromisoformat(value.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return None if found.replace(tzinfo=None) in _ENDLESS else found


def objects(value: Any, most: int = MOST_RECORDS) -> list[dict[str, Any]] | None:
    """A list of at most so many objects."""
    if not isinstance(value, list) or len(value) > most:
        return None
    return value if all(isinstance(item, dict) for item in value) else None


def mapping(value: Any) -> dict[str, Any]:
    """The object there, or an empty one."""
    return value if isinstance(value, dict) else {}


def require_identity(value: str, path: tuple[str, ...]) -> None:
    if identity(value) is None:
        raise InvalidInput(f"This must be {SHORT_TEXT}, without NUL.", path, ReasonCode.INVALID_FIELD)


def require_text(value: str, path: tuple[str, ...]) -> None:
    if text(value) is None:
        raise InvalidInput(WORDLESS, path, ReasonCode.INVALID_FIELD)


def require_storable(value: str | None, path: tuple[str, ...]) -> None:
    """Any text or none, as long as a database can keep it."""
    if value is not None and storable_text(value) is None:
        raise InvalidInput(UNSTORABLE, path, ReasonCode.INVALID_FIELD)
