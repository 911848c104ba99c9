"""Values that GraphQL has no type for. What cannot be read is a fault of the request, told with its path."""

import datetime
import decimal
import re
from typing import NewType

import strawberry
from strawberry.types.scalar import ScalarDefinition

from resolvers.forms import instant

Sha256 = NewType("Sha256", str)
BigInt = NewType("BigInt", int)

DIGEST = re.compile("[0-9a-f]{64}")
INSTANT = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)")
LARGEST = 2**53 - 1


def read_digest(value: object) -> str:
    if isinstance(value, str) and DIGEST.fullmatch(value):
        return value
    raise ValueError("a Sha256 is 64 lowercase hexadecimal characters")


def read_instant(value: object) -> datetime.datetime:
    if not isinstance(value, str) or not INSTANT.fullmatch(value):
        raise ValueError("a DateTime is an RFC 3339 instant with an offset, such as 2026-10-02T12:00:00Z")
    if (found := instant(value)) is None:
        raise ValueError("a DateTime is an instant that exists, such as 2026-10-02T12:00:00Z")
    return found


def write_instant(value: datetime.datetime) -> str:
    return value.astimezone(datetime.UTC).isoformat().replace("+00:00", "Z")


def read_decimal(value: object) -> decimal.Decimal:
    try:
        number = decimal.Decimal(value) if isinstance(value, str) else None
    except decimal.InvalidOperation:
        number = None
    if number is None or not number.is_finite():
        raise ValueError('a Decimal is an exact number in a string, such as "0.25"')
    return number


def read_integer(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= LARGEST:
        return value
    raise ValueError("a BigInt is a whole number up to 2^53 - 1")


SCALARS: dict[object, ScalarDefinition] = {
    Sha256: strawberry.scalar(
        name="Sha256", description="64 lowercase hexadecimal characters.", serialize=str, parse_value=read_digest
    ),
    datetime.datetime: strawberry.scalar(
        name="DateTime",
        description="RFC 3339 instant; a value without an offset is refused; "
        "answers are UTC with `Z`, microseconds kept.",
        serialize=write_instant,
        parse_value=read_instant,
    ),
    decimal.Decimal: strawberry.scalar(
        name="Decimal",
        description="Exact decimal as a JSON string, for money.",
        serialize=str,
        parse_value=read_decimal,
    ),
    BigInt: strawberry.scalar(
        name="BigInt", description="Integer up to 2^53 - 1 as a JSON number.", serialize=int, parse_value=read_integer
    ),
}
