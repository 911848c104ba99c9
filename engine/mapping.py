"""How a type says what stands behind it.

    @backed(books, filters=("title", "author"), orders=("title",), visible=lambda row: row.c.sold_at.is_(None))
    class Book(Node):
        title: str                                                  # the column of that name
        year: int | None = column("published")                      # a column of another name
        age: int = computed(lambda book: 2026 - book.c.published)   # an expression over the row
        author: "Author" = one(lambda book, author: author.c.id == book.c.author_pk)
        reviews: Connection["Review"] = many(lambda book, review: review.c.book_pk == book.c.id)
        cost: "Cost" = embedded({"amount": lambda book: book.c.price})    # an object on the same row

    @backed()
    class Query:
        book: Book | None = lookup(lambda book, given: book.c.title == given["title"], title=Argument(str))
        books: Connection[Book] = many()

What a field is computed from can be arguments of its own: `computed(lambda book, given: …, arguments={…})`.
A list gets the arguments that the type in it allows: `where`, `orderBy`, `includeRetired` and those of pages.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar, dataclass_transform

import strawberry
from sqlalchemy import FromClause
from strawberry.types.arguments import StrawberryArgument
from strawberry.types.field import StrawberryField

from engine.inputs import list_arguments, own_arguments, target_of
from engine.sources import (
    Argument,
    Arguments,
    Backing,
    Condition,
    Embedded,
    Expression,
    Filter,
    Finder,
    Guard,
    NodeById,
    NodesByIds,
    Ordering,
    Relation,
    Rows,
    Source,
    Value,
)

__all__ = [
    "Argument",
    "Arguments",
    "Expression",
    "Filter",
    "backed",
    "column",
    "computed",
    "embedded",
    "items",
    "lookup",
    "many",
    "node",
    "nodes",
    "one",
]

T = TypeVar("T")


ASKED: Final = object()
"""What a backed field resolves to where graphql-core executes: the executor has the engine read it."""


class BackedField(StrawberryField):
    """A field that the engine reads; its arguments follow from the type it leads to."""

    source: Source

    @property
    def arguments(self) -> list[StrawberryArgument]:
        if self._arguments is None:
            self._arguments = self._declared()
        return self._arguments

    @arguments.setter
    def arguments(self, value: list[StrawberryArgument]) -> None:
        self._arguments = value

    def get_result(self, source: Any, info: Any, args: list[Any], kwargs: Any) -> Any:
        """Within an object that a resolver made itself, what it put there."""
        return ASKED if source is None else getattr(source, self.python_name)

    def _declared(self) -> list[StrawberryArgument]:
        match self.source:
            case Relation(shape="connection", arguments=arguments):
                return own_arguments(dict(arguments)) + list_arguments(target_of(self))
            case Relation(arguments=arguments) | Value(arguments=arguments):
                return own_arguments(dict(arguments))
            case NodeById():
                return own_arguments({"id": Argument(strawberry.ID)})
            case NodesByIds():
                return own_arguments({"ids": Argument(list[strawberry.ID])})
            case _:
                return []


def _field(source: Source, description: str | None) -> Any:
    field = BackedField(description=description)
    field.source = source
    return field


def column(name: str, *, description: str | None = None) -> Any:
    """The column of that name, where the field has another one or wants a description."""
    return _field(Value(lambda row: row.c[name]), description)


def computed(
    expression: Expression, *, arguments: Mapping[str, Argument] | None = None, description: str | None = None
) -> Any:
    return _field(Value(expression, dict(arguments or {})), description)


def embedded(
    values: Mapping[str, Expression] | None = None, *, when: Expression | None = None, description: str | None = None
) -> Any:
    """An object on the same row. `values` stand in for the type's own expressions, by Python name."""
    return _field(Embedded(dict(values or {}), when), description)


def one(
    on: Condition | None = None,
    *,
    rows: Rows | None = None,
    arguments: Mapping[str, Argument] | None = None,
    description: str | None = None,
) -> Any:
    return _field(Relation("one", on, rows, (), dict(arguments or {})), description)


def items(
    on: Condition | None = None,
    *,
    rows: Rows | None = None,
    order_by: Sequence[Ordering] = (),
    arguments: Mapping[str, Argument] | None = None,
    description: str | None = None,
) -> Any:
    """A plain list, for what cannot grow."""
    return _field(Relation("list", on, rows, tuple(order_by), dict(arguments or {})), description)


def many(
    on: Condition | None = None,
    *,
    rows: Rows | None = None,
    order_by: Sequence[Ordering] = (),
    arguments: Mapping[str, Argument] | None = None,
    description: str | None = None,
) -> Any:
    """A connection, paged by keyset."""
    return _field(Relation("connection", on, rows, tuple(order_by), dict(arguments or {})), description)


def lookup(
    on: Callable[[FromClause, Arguments], Any],
    *,
    description: str | None = None,
    **arguments: Argument,
) -> Any:
    """A root field that finds one by its arguments."""
    return one(lambda _parent, row, given: on(row, given), arguments=arguments, description=description)


def node(*, description: str | None = None) -> Any:
    return _field(NodeById(), description)


def nodes(*, description: str | None = None) -> Any:
    return _field(NodesByIds(), description)


@dataclass_transform(kw_only_default=True, field_specifiers=(column, computed, embedded, one, items, many))
def backed(
    rows: FromClause | Rows | None = None,
    *,
    key: str = "id",
    position: str | Sequence[str] = (),
    filters: Sequence[str | Filter] = (),
    orders: Sequence[str] = (),
    visible: Expression | None = None,
    find: Finder | None = None,
    guard: Guard | None = None,
    name: str | None = None,
) -> Callable[[type[T]], type[T]]:
    """A GraphQL type over these rows; its docstring is its description, and a bare annotation a column of that name.

    Without rows the type is embedded in another one's row, or every field that leads to it brings `rows` of its own.
    Lists are in the order of the columns in `position`, then of the key. `visible` is what lists show without
    `includeRetired`. Filters and orders name fields. `guard` stands before every statement that reads such rows,
    however they are reached. `find` finds a row by its key where the key itself is no indexed column.
    """

    def decorate(cls: type[T]) -> type[T]:
        for field in _bare_annotations(cls):
            setattr(cls, field, column(field))
        description = inspect.cleandoc(cls.__dict__["__doc__"]) if cls.__dict__.get("__doc__") else None
        made = strawberry.type(cls, name=name, description=description)
        made.__backing__ = Backing(  # type: ignore[attr-defined]
            origin=made,
            rows=rows,
            key=key,
            position=(position,) if isinstance(position, str) else tuple(position),
            filters=tuple(filters),
            orders=tuple(orders),
            visible=visible,
            find=find,
            guard=guard,
        )
        return made

    return decorate


def _bare_annotations(cls: type) -> list[str]:
    return [name for name in inspect.get_annotations(cls) if name not in cls.__dict__]
