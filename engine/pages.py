"""One connection: the rows it ranges over, the page of them that is asked for, and what is said about it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, FromClause, Subquery, and_, false, func, or_, true
from sqlalchemy.dialects.postgresql import aggregate_order_by
from strawberry.types.base import StrawberryOptional

from engine.collect import Selected
from engine.encode import empty_list
from engine.errors import InvalidArgument
from engine.paging import DEFAULT_PAGE, Order, Term, bindable, cursor, page_size, read_cursor, term
from engine.rows import Found
from engine.sources import Backing, Ordering, Value
from engine.values import Parameters

PLACE = "place_in_page"
NEXT = "has_next"
SORT = "sort_"


def order_of_list(
    backing: Backing,
    declared: Sequence[Ordering],
    asked: Sequence[Mapping[str, Any]] | None,
    row: FromClause,
    collation: str | None,
) -> Order:
    """The order that is asked for, else the declared one, else by position; the key decides between equals."""
    terms = list(_asked(backing, asked)) or [term(str(place), each, row) for place, each in enumerate(declared)]
    terms = terms or [term(name, _column(name), row) for name in backing.position]
    terms.append(Term(backing.key, _column(backing.key), False, False))
    return Order(backing.name, [each.collated(collation).placed(row) for each in terms])


def _asked(backing: Backing, asked: Sequence[Mapping[str, Any]] | None) -> Iterator[Term]:
    seen: set[str] = set()
    for each in asked or ():
        name = each["field"].value
        if name in seen:
            continue
        seen.add(name)
        field = backing.field(name)
        if not isinstance(field.source, Value):
            raise LookupError(f"{backing.name}.{name} is nothing to sort by")
        descending = each["direction"].name == "DESC"
        yield Term(name, field.source.expression, descending, isinstance(field.type, StrawberryOptional))


def _column(name: str) -> Ordering:
    return lambda row: row.c[name]


class Page:
    """Which rows of a list a page holds, by first, after, last and before."""

    def __init__(self, field: Selected, found: Found, order: Order, parameters: Parameters) -> None:
        self.field = field
        self.found = found
        self.order = order
        self.parameters = parameters
        arguments = field.arguments
        first, last = arguments.get("first"), arguments.get("last")
        if first is not None and last is not None:
            raise InvalidArgument("first and last cannot be asked at once", field.path, field.nodes)
        self.backward = last is not None
        self.size = first if first is not None else last if last is not None else DEFAULT_PAGE
        self.entries()  # Refused even where no rows are selected.
        self.after = self._limits("after")
        self.before = self._limits("before")

    def _limits(self, name: str) -> list[ColumnElement[Any]] | None:
        template = self.field.arguments.get(name)
        if template is None:
            return None
        order, path = self.order, (*self.field.path, name)
        types = [value.type for value in order.values(self.found.row)]

        def part(place: int) -> Callable[[str], Any]:
            return lambda text: read_cursor(order, types, text, path)[place]

        return [self.parameters.bind(template, bindable(type_), part(place)) for place, type_ in enumerate(types)]

    def entries(self, more: int = 0) -> ColumnElement[int]:
        path = (*self.field.path, "last" if self.backward else "first")
        return self.parameters.count(self.size, lambda value: page_size(value, path) + more)

    def rows(self, *, numbered: bool, with_cursors: bool) -> Subquery:
        """The page, with one row more where the rows are numbered, to know whether there is one."""
        row, order = self.found.row, self.order
        sorting = order.sorting(row, backward=self.backward)
        columns: list[ColumnElement[Any]] = list(row.c)
        if with_cursors:
            columns += [value.label(f"{SORT}{place}") for place, value in enumerate(order.values(row))]
        if numbered:
            columns.append(func.row_number().over(order_by=sorting).label(PLACE))
            columns.append(func.lead(true()).over(order_by=sorting).label(NEXT))
        within = self.found.narrowed(
            None if self.after is None else order.beyond(row, self.after, backward=False),
            None if self.before is None else order.beyond(row, self.before, backward=True),
        )
        return within.selecting(*columns).order_by(*sorting).limit(self.entries(1 if numbered else 0)).subquery()

    def has_rows_past(self, limits: list[ColumnElement[Any]] | None, *, backward: bool) -> ColumnElement[bool]:
        """Whether there are rows at the limit or on the other side of it."""
        if limits is None:
            return false()
        past = self.order.beyond(self.found.row, limits, backward=backward, inclusive=True)
        sorting = self.order.sorting(self.found.row, backward=backward)
        # The nearest one: whether there is any at all might be looked for from the wrong end of the table.
        nearest = self.found.narrowed(past).selecting(true()).order_by(*sorting).limit(1).scalar_subquery()
        return func.coalesce(nearest, false())


class Shown:
    """The rows of a page while they are gathered into JSON."""

    def __init__(self, page: Page, *, numbered: bool, with_cursors: bool) -> None:
        self.page = page
        self.numbered = numbered
        self.rows = page.rows(numbered=numbered, with_cursors=with_cursors)

    @property
    def within(self) -> ColumnElement[bool]:
        place: ColumnElement[int] = self.rows.c[PLACE]
        return place <= self.page.entries()

    @property
    def cursor(self) -> ColumnElement[Any]:
        terms = range(len(self.page.order.terms))
        return cursor(self.page.order, [self.rows.c[f"{SORT}{place}"] for place in terms])

    def gathered(self, value: ColumnElement[Any]) -> ColumnElement[Any]:
        """A list of this value for each row; the rows already come in their order."""
        if not self.numbered:
            return func.coalesce(func.json_agg(value), empty_list())
        backward = self.page.backward
        ordered: Any = aggregate_order_by(value, self.rows.c[PLACE].desc()) if backward else value
        return func.coalesce(func.json_agg(ordered).filter(self.within), empty_list())

    def has_more(self, *, backward: bool) -> ColumnElement[Any]:
        page = self.page
        limits = page.after if backward else page.before
        beyond = page.has_rows_past(limits, backward=backward)
        if page.backward is not backward:
            return beyond
        overflows = func.count() > page.entries()
        return overflows if limits is None else or_(overflows, beyond)

    def edge_cursor(self, *, start: bool) -> ColumnElement[Any]:
        place, size = self.rows.c[PLACE], self.page.entries()
        first_read = place == 1
        last_read = or_(place == size, and_(place < size, self.rows.c[NEXT].is_(None)))
        met = and_(first_read, self.within) if start is not self.page.backward else last_read
        return func.max(self.cursor).filter(met)
