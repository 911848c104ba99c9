"""Pages by keyset: orders, cursors, and the rows beyond a cursor."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import (
    Boolean,
    ColumnElement,
    DateTime,
    Double,
    Float,
    FromClause,
    Integer,
    Numeric,
    String,
    Text,
    UnaryExpression,
    and_,
    cast,
    collate,
    func,
    or_,
    tuple_,
)
from sqlalchemy.sql import operators
from sqlalchemy.types import TIMESTAMP, BigInteger, TypeEngine

from engine.encode import as_text, constant, decoded, encoded
from engine.errors import InvalidArgument
from engine.sources import Ordering

DEFAULT_PAGE = 50
LARGEST_PAGE = 500


@dataclass(frozen=True)
class Term:
    """One thing that a list is sorted by. Nulls are last, either way."""

    name: str
    expression: Ordering
    descending: bool
    nullable: bool
    ending: str | None = None
    """What stands for null where values are compared."""

    def placed(self, row: FromClause) -> "Term":
        """The same term with nulls as the last instant there is, so that an index finds a place however far it is."""
        if not self.nullable or not isinstance(self.expression(row).type, DateTime):
            return self
        return replace(self, nullable=False, ending="-infinity" if self.descending else "infinity")

    def compared(self, value: ColumnElement[Any]) -> ColumnElement[Any]:
        if self.ending is None:
            return value
        return func.coalesce(value, cast(constant(self.ending), TIMESTAMP(timezone=True)))

    def collated(self, collation: str | None) -> "Term":
        """The same term for a database whose own order of text is another one."""

        def expression(row: FromClause) -> ColumnElement[Any]:
            value = self.expression(row)
            return collate(value, collation) if isinstance(value.type, String) and collation else value

        return self if collation is None else replace(self, expression=expression)

    def sorting(self, row: FromClause, *, backward: bool) -> UnaryExpression[Any]:
        value = self.compared(self.expression(row))
        sorted_ = value.desc() if self.descending is not backward else value.asc()
        if not self.nullable:
            return sorted_
        return sorted_.nulls_first() if backward else sorted_.nulls_last()

    def past(self, value: ColumnElement[Any], limit: ColumnElement[Any], *, backward: bool) -> ColumnElement[bool]:
        """Whether the value comes after the limit, in the direction of reading."""
        beyond = value < limit if self.descending is not backward else value > limit
        if not self.nullable:
            return beyond
        present, absent = (limit, value) if not backward else (value, limit)
        return or_(beyond, and_(present.is_not(None), absent.is_(None)))

    def up_to(self, value: ColumnElement[Any], limit: ColumnElement[Any], *, backward: bool) -> ColumnElement[bool]:
        return value <= limit if self.descending is not backward else value >= limit

    def same(self, value: ColumnElement[Any], limit: ColumnElement[Any]) -> ColumnElement[bool]:
        return value.is_not_distinct_from(limit) if self.nullable else value == limit


def term(name: str, ordering: Ordering, row: FromClause) -> Term:
    """A term from a declared ordering, which may end in .desc()."""
    made = ordering(row)
    if isinstance(made, UnaryExpression) and made.modifier is operators.desc_op:
        return Term(name, lambda row: _undirected(ordering(row)), True, _nullable(made.element))
    return Term(name, ordering, False, _nullable(made))


def _undirected(made: Any) -> ColumnElement[Any]:
    element: ColumnElement[Any] = made.element
    return element


def _nullable(value: Any) -> bool:
    return bool(getattr(value, "nullable", True))


class Order:
    """The whole order of a list; its last term is the key, so that no two rows are equal in it."""

    def __init__(self, list_name: str, terms: Sequence[Term]) -> None:
        self.terms = list(terms)
        words = (f"-{term.name}" if term.descending else term.name for term in terms)
        self.signature = f"{list_name} {' '.join(words)}"

    def sorting(self, row: FromClause, *, backward: bool) -> list[UnaryExpression[Any]]:
        return [term.sorting(row, backward=backward) for term in self.terms]

    def values(self, row: FromClause) -> list[ColumnElement[Any]]:
        return [term.expression(row) for term in self.terms]

    def beyond(
        self, row: FromClause, limits: Sequence[ColumnElement[Any]], *, backward: bool, inclusive: bool = False
    ) -> ColumnElement[bool]:
        """The rows after a place in this order, or before it when read backward."""
        values = [term.compared(value) for term, value in zip(self.terms, self.values(row), strict=True)]
        limits = [term.compared(limit) for term, limit in zip(self.terms, limits, strict=True)]
        directions = {term.descending for term in self.terms}
        if len(directions) == 1 and not any(term.nullable for term in self.terms):
            return _compared(values, limits, descending=self.terms[0].descending is not backward, inclusive=inclusive)
        return self._beyond(list(zip(self.terms, values, limits, strict=True)), backward, inclusive)

    def _beyond(
        self,
        terms: list[tuple[Term, ColumnElement[Any], ColumnElement[Any]]],
        backward: bool,
        inclusive: bool,
    ) -> ColumnElement[bool]:
        (term, value, limit), *rest = terms
        if not rest:
            compare = term.up_to if inclusive else term.past
            return compare(value, limit, backward=backward)
        beyond = or_(
            term.past(value, limit, backward=backward),
            and_(term.same(value, limit), self._beyond(rest, backward, inclusive)),
        )
        # Says no more than what follows, but an index can use it.
        return beyond if term.nullable else and_(term.up_to(value, limit, backward=backward), beyond)


def _compared(
    values: Sequence[ColumnElement[Any]],
    limits: Sequence[ColumnElement[Any]],
    *,
    descending: bool,
    inclusive: bool,
) -> ColumnElement[bool]:
    left: Any = values[0] if len(values) == 1 else tuple_(*values)
    right: Any = limits[0] if len(limits) == 1 else tuple_(*limits)
    compare: dict[tuple[bool, bool], Callable[[Any, Any], Any]] = {
        (False, False): operators.gt,
        (False, True): operators.ge,
        (True, False): operators.lt,
        (True, True): operators.le,
    }
    compared: ColumnElement[bool] = compare[descending, inclusive](left, right)
    return compared


def cursor(order: Order, values: Sequence[ColumnElement[Any]]) -> ColumnElement[Any]:
    """A place in this order, which names the order it was made for."""
    parts = [_portable(value) for value in values]
    return encoded(as_text(func.json_build_array(constant(order.signature), *parts)))


def _portable(value: ColumnElement[Any]) -> ColumnElement[Any]:
    return value if isinstance(value.type, Integer | Boolean | DateTime) else as_text(value)


def read_cursor(order: Order, types: Sequence[TypeEngine[Any]], text: str, path: tuple[str | int, ...]) -> list[Any]:
    try:
        signature, *parts = json.loads(decoded(text))
        if isinstance(signature, str) and signature != order.signature:
            raise InvalidArgument("this cursor belongs to another list or order", path)
        return [_parsed(type_, part) for type_, part in zip(types, parts, strict=True)]
    except (ValueError, TypeError, ArithmeticError, RecursionError):
        raise InvalidArgument("this is not a cursor that this server gave out", path) from None


def _parsed(type_: TypeEngine[Any], part: Any) -> Any:
    if part is None:
        return None
    if isinstance(type_, Boolean):
        return _exactly(bool, part)
    if isinstance(type_, Integer):
        return big_integer(_exactly(int, part))
    text: str = _exactly(str, part)
    if isinstance(type_, DateTime):
        return _instant(text)
    if isinstance(type_, Float):
        return float(text)
    if isinstance(type_, Numeric):
        return Decimal(text)
    if "\0" in text:
        raise ValueError(text)
    # Half of a surrogate pair raises here.
    text.encode()
    return text


def _instant(text: str) -> datetime:
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None:
        raise ValueError(text)
    return instant.astimezone(UTC)


def _exactly(type_: type, part: Any) -> Any:
    if type(part) is not type_:
        raise TypeError(part)
    return part


def big_integer(value: int) -> int:
    if not -(2**63) <= value < 2**63:
        raise ValueError(value)
    return value


def bindable(type_: TypeEngine[Any]) -> TypeEngine[Any]:
    """The type by which a cursor's value is bound."""
    if isinstance(type_, Boolean):
        return type_
    if isinstance(type_, Integer):
        return BigInteger()
    if isinstance(type_, DateTime):
        return TIMESTAMP(timezone=True)
    if isinstance(type_, Float):
        return Double()
    return Numeric() if isinstance(type_, Numeric) else Text()


def page_size(value: int, path: tuple[str | int, ...]) -> int:
    if value < 0:
        raise InvalidArgument(f"a page cannot have {value} entries", path)
    if value > LARGEST_PAGE:
        raise InvalidArgument(f"a page has at most {LARGEST_PAGE} entries, not {value}", path)
    return value
