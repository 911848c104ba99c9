"""Words that SQLAlchemy lacks."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import (
    ARRAY,
    BindParameter,
    ColumnElement,
    Double,
    FromClause,
    Text,
    all_,
    any_,
    bindparam,
    case,
    cast,
    column,
    func,
    literal,
    select,
)
from sqlalchemy.types import TypeEngine

UNRESERVED = "^[A-Za-z0-9._~-]+$"
# The 97.5 % quantile of the normal distribution.
Z = 1.959963984540054


def among(column: ColumnElement[Any], values: Iterable[Any]) -> ColumnElement[bool]:
    """One of these values, sent as one array: the statement stays the same however many there are."""
    return column == any_(_array(column, values))


def not_among(column: ColumnElement[Any], values: Iterable[Any]) -> ColumnElement[bool]:
    return column != all_(_array(column, values))


def _array(column: ColumnElement[Any], values: Iterable[Any]) -> BindParameter[Any]:
    return literal(list(values), ARRAY(column.type))


def sent(name: str, columns: Mapping[str, TypeEngine[Any]], rows: Sequence[Sequence[Any]]) -> FromClause:
    """Rows sent as one array for each column: the statement stays the same however many there are."""
    given = (literal([row[place] for row in rows], ARRAY(type_)) for place, type_ in enumerate(columns.values()))
    return _unnested(name, columns, given)


def to_send(name: str, columns: Mapping[str, TypeEngine[Any]]) -> FromClause:
    """The same for a statement that is built once: `arrays` gives the rows of each execution."""
    given = (bindparam(f"{name}_{column}", type_=ARRAY(type_)) for column, type_ in columns.items())
    return _unnested(name, columns, given)


def arrays(name: str, columns: Mapping[str, TypeEngine[Any]], rows: Sequence[Sequence[Any]]) -> dict[str, list[Any]]:
    return {f"{name}_{column}": [row[place] for row in rows] for place, column in enumerate(columns)}


def _unnested(name: str, columns: Mapping[str, TypeEngine[Any]], given: Iterable[BindParameter[Any]]) -> FromClause:
    named = (column(name, type_) for name, type_ in columns.items())
    return func.unnest(*given).table_valued(*named).render_derived(name)


def constant(word: str) -> ColumnElement[str]:
    """A word that stands in the statement itself: only with constants is a partial index known to do."""
    return literal(str(word), Text, literal_execute=True)


def total(column: ColumnElement[Any]) -> ColumnElement[int]:
    """A sum that is 0 where there is nothing to add."""
    return func.coalesce(func.sum(column), 0)


def url_segment(text: ColumnElement[str]) -> ColumnElement[str]:
    """A text as one segment of a path, percent-encoded where it must be."""
    octets = func.convert_to(text, "UTF8")
    place = func.generate_series(0, func.octet_length(octets) - 1).column_valued("place")
    octet = func.get_byte(octets, place)
    character = func.chr(octet)
    plain = octet.between(33, 126) & character.regexp_match(UNRESERVED)
    escaped = func.concat("%", func.upper(func.lpad(func.to_hex(octet), 2, "0")))
    encoded = select(
        func.aggregate_strings(case((plain, character), else_=escaped), "").aggregate_order_by(place)
    ).scalar_subquery()
    return case((text.regexp_match(UNRESERVED), text), else_=encoded)


def proportion(numerator: str, denominator: str) -> dict[str, Callable[[FromClause], ColumnElement[Any]]]:
    """A share of two columns with its 95% Wilson interval, null where there is nothing to share.

    Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 22 (1927).
    """

    def count(row: FromClause) -> ColumnElement[float]:
        return cast(func.nullif(row.c[denominator], 0), Double)

    def share(row: FromClause) -> ColumnElement[Any]:
        return row.c[numerator] / count(row)

    def bound(row: FromClause, sign: int) -> ColumnElement[Any]:
        n, p = count(row), share(row)
        spread = Z * func.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n))
        return (p + Z * Z / (2 * n) + sign * spread) / (1 + Z * Z / n)

    return {
        "numerator": lambda row: row.c[numerator],
        "denominator": lambda row: row.c[denominator],
        "value": share,
        # Rounding must not carry a bound past the certain ends.
        "lower": lambda row: func.greatest(bound(row, -1), cast(0 * count(row), Double)),
        "upper": lambda row: func.least(bound(row, 1), cast(0 * count(row) + 1, Double)),
    }
