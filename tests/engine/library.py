"""A small domain that knows every shape the engine knows: a library."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, NewType

import asyncpg
import orjson
import strawberry
from sqlalchemy import (
    ARRAY,
    JSON,
    TIMESTAMP,
    BigInteger,
    Boolean,
    Column,
    Double,
    Enum,
    FromClause,
    Integer,
    MetaData,
    Numeric,
    Select,
    Table,
    Text,
    any_,
    func,
    literal,
    select,
    union_all,
)
from sqlalchemy.schema import CreateTable
from strawberry.schema.config import StrawberryConfig

from engine.execute import Schema
from engine.graph import Connection, Node
from engine.mapping import (
    Argument,
    Filter,
    backed,
    column,
    computed,
    embedded,
    items,
    lookup,
    many,
    node,
    nodes,
    one,
)
from engine.plans import DIALECT
from engine.references import present, ref

metadata = MetaData()

Json = NewType("Json", object)


@strawberry.enum
class Genre(StrEnum):
    NOVEL = "NOVEL"
    ESSAY = "ESSAY"
    POEM = "POEM"


authors = Table(
    "authors",
    metadata,
    Column("id", BigInteger, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("born", Integer),
    Column("closed_at", TIMESTAMP(timezone=True)),
)
books = Table(
    "books",
    metadata,
    Column("id", BigInteger, primary_key=True),
    Column("author_pk", BigInteger, nullable=False),
    Column("title", Text, nullable=False),
    Column("year", Integer),
    Column("rating", Double),
    Column("price", Numeric),
    Column("genre", Enum(Genre, native_enum=False)),
    Column("in_print", Boolean),
    Column("added_at", TIMESTAMP(timezone=True), nullable=False),
    Column("notes", JSON),
    Column("catalogue", Text),
    Column("tags", ARRAY(Text), nullable=False),
    Column("shelf", Text),
    Column("place", Integer),
)
reviews = Table(
    "reviews",
    metadata,
    Column("slug", Text, primary_key=True),
    Column("book_pk", BigInteger, nullable=False),
    Column("stars", Integer, nullable=False),
    Column("words", Text),
)


def review_count(book: FromClause) -> Any:
    return select(func.count()).where(reviews.c.book_pk == book.c.id).scalar_subquery()


def shelves(parent: FromClause | None) -> Select[Any]:
    """The shelves of a room, which is a column of the parent; null for all rooms."""
    assert parent is not None
    return (
        select(books.c.shelf.label("shelf"), func.count().label("books"), parent.c.room.label("room"))
        .where(books.c.shelf.is_not(None), (parent.c.room.is_(None)) | (books.c.shelf.startswith(parent.c.room)))
        .group_by(books.c.shelf)
    )


@backed(authors, filters=("name", "born"), orders=("name", "born"), visible=lambda row: row.c.closed_at.is_(None))
class Author(Node):
    """Somebody who writes."""

    name: str
    born: int | None
    books: Connection[Book] = many(lambda author, book: book.c.author_pk == author.c.id)


@backed()
class Place:
    shelf: str
    number: int | None = column("place")


@backed()
class Cost:
    amount: Decimal
    is_known: bool


@backed(
    books,
    filters=(
        "id",
        "title",
        "year",
        "rating",
        "price",
        "genre",
        "in_print",
        "added_at",
        "author",
        Filter("reviews", int, review_count),
    ),
    orders=("title", "year", "genre", "added_at", "review_count"),
)
class Book(Node):
    title: str
    year: int | None
    rating: float | None
    price: Decimal | None
    genre: Genre | None
    in_print: bool | None
    added_at: datetime
    notes: Json | None
    catalogue: Json | None
    tags: list[str]
    author: Author = one(lambda book, author: author.c.id == book.c.author_pk)
    sequel: Book | None = one(lambda book, sequel: sequel.c.id == book.c.id + 100)
    review_count: int = computed(review_count)
    signed: str = computed(
        lambda book, given: func.concat(book.c.title, given["mark"], given["genre"].name if given["genre"] else ""),
        arguments={"mark": Argument(str, default="!"), "genre": Argument(Genre | None)},
    )
    place: Place | None = embedded(when=lambda book: book.c.shelf.is_not(None))
    cost: Cost = embedded(
        {
            "amount": lambda book: func.coalesce(book.c.price, 0),
            "is_known": lambda book: book.c.price.is_not(None),
        }
    )
    reviews: Connection[Review] = many(
        lambda book, review: review.c.book_pk == book.c.id, order_by=(lambda review: review.c.stars.desc(),)
    )
    best: list[Review] = items(
        lambda book, review, given: (
            (review.c.book_pk == book.c.id) & (given["slugs"] is None or review.c.slug == any_(given["slugs"]))
        ),
        order_by=(lambda review: review.c.stars.desc(), lambda review: review.c.slug),
        arguments={"slugs": Argument(list[strawberry.ID] | None, of="Review")},
    )


@backed(reviews, key="slug", filters=("book",))
class Review(Node):
    slug: str
    stars: int
    words: str | None
    book: Book = one(lambda review, book: book.c.id == review.c.book_pk)


@backed(shelves, key="shelf")
class Shelf:
    shelf: str
    books: int
    books_on_it: Connection[Book] = many(lambda shelf, book: book.c.shelf == shelf.c.shelf)


@backed()
class Room:
    room: str
    shelves: Connection[Shelf] = many()


@backed(select(literal(None, Text).label("room")).subquery(), key="none")
class Library:
    book_count: int = computed(lambda _: select(func.count()).select_from(books).scalar_subquery())
    shelves: Connection[Shelf] = many()
    rooms: list[Room] = items(
        rows=lambda _: union_all(select(literal("A").label("room")), select(literal("B"))).subquery().select(),
        order_by=(lambda room: room.c.room,),
    )


@strawberry.type
class Loan:
    book: Book | None
    note: str


@strawberry.type
class Loss:
    book: Book | None
    fine: Node


@strawberry.type
class Receipt:
    book: Book
    books: list[Book | None]
    present: list[Book]
    loans: list[Loan | Loss | None]
    anything: Node | None
    note: str


@strawberry.type
class Query:
    node: Node | None = node()
    nodes: list[Node | None] = nodes()
    book: Book | None = lookup(lambda row, given: row.c.id == given["number"], number=Argument(int))
    required_book: Book = lookup(lambda row, given: row.c.id == given["number"], number=Argument(int))
    author: Author | None = lookup(lambda row, given: row.c.name == given["name"], name=Argument(str))
    books: Connection[Book] = many()
    authors: Connection[Author] = many()
    reviews: Connection[Review] = many()
    library: Library = one()
    placed: Connection[Book] = many(order_by=(lambda book: book.c.place,))
    of_author: Connection[Book] = many(
        lambda _, book, given: book.c.author_pk == given["author"],
        arguments={"author": Argument(strawberry.ID, of="Author")},
    )

    @strawberry.field
    def greeting(self) -> str:
        return "hello"


def _lent(key: int) -> Loan | Loss:
    if key % 2:
        return Loan(book=ref(Book, key) if key > 0 else None, note=f"loan of {key}")
    return Loss(book=ref(Book, key), fine=ref(Review, f"r{key}") if key % 4 else ref(Book, key))


@strawberry.type
class Mutation:
    @strawberry.mutation
    def lend(self, keys: list[int]) -> Receipt:
        return Receipt(
            book=ref(Book, keys[0]),
            books=[ref(Book, key) if key else None for key in keys],
            present=present(Book, keys),
            loans=[_lent(key) for key in keys],
            anything=ref(Review, "r1"),
            note="until Friday",
        )


@strawberry.type
class Subscription:
    @strawberry.subscription
    async def lent(self, keys: list[int]) -> Any:
        for key in keys:
            yield ref(Book, key)

    lent.type = Book


def schema(**options: Any) -> Schema:
    config = StrawberryConfig(
        scalar_map={
            datetime: strawberry.scalar(
                name="DateTime",
                serialize=lambda value: value.isoformat().replace("+00:00", "Z"),
                parse_value=datetime.fromisoformat,
            ),
            Json: strawberry.scalar(name="JSON", serialize=lambda value: value, parse_value=lambda value: value),
        }
    )
    return Schema(Query, mutation=Mutation, subscription=Subscription, config=config, **options)


@dataclass
class Desk:
    """A request's context on one connection, which keeps what was asked."""

    connection: asyncpg.Connection
    asked_with: list[tuple[str, Sequence[Any]]] = field(default_factory=list)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def asked(self) -> list[str]:
        return [sql for sql, _ in self.asked_with]

    async def fetch(self, sql: str, arguments: Sequence[Any]) -> str | None:
        self.asked_with.append((sql, arguments))
        async with self.turn:
            text: str | None = await self.connection.fetchval(sql, *arguments)
        return text


async def built(connection: asyncpg.Connection) -> None:
    for table in metadata.sorted_tables:
        await connection.execute(str(CreateTable(table).compile(dialect=DIALECT)))


async def filled(connection: asyncpg.Connection) -> None:
    """Twenty-four books by three authors, with ties and nulls in everything that can be sorted."""
    await connection.execute(
        """
        INSERT INTO authors VALUES (1, 'Anna', 1901, NULL), (2, 'Bo', NULL, NULL), (3, 'Cyril', 1903, now());
        INSERT INTO books
        SELECT n, 1 + n % 3, (ARRAY['a', 'B', 'ä', 'a_b', 'A%', 'c\\d'])[1 + n % 6] || n / 12,
               CASE WHEN n % 4 > 0 THEN 2000 + n % 3 END, CASE WHEN n % 5 > 0 THEN n / 3.0 END,
               CASE WHEN n % 3 > 0 THEN n * 1.50 END, (ARRAY['NOVEL', 'ESSAY', 'POEM', NULL])[1 + n % 4],
               (ARRAY[true, false, NULL])[1 + n % 3], timestamptz '2026-01-01T00:00:00.000001Z'
               + n % 7 * interval '1 s',
               '{"zero": "\\u0000", "price": 1.10}', '{"b": 1, "a": 1e2}', ARRAY['x', 'y' || n],
               CASE WHEN n % 2 = 0 THEN 'A' || n % 3 END, n % 3
        FROM generate_series(1, 24) AS n;
        INSERT INTO reviews SELECT 'r' || n, 1 + n % 12, n % 5, 'words ' || n FROM generate_series(1, 30) AS n;
        """
    )


async def data(schema: Schema, desk: Desk, text: str, **variables: Any) -> Any:
    """The data of an answer without errors, as a client reads it."""
    answer = await schema.execute(text, variable_values=variables, context_value=desk)
    assert answer.errors is None, answer.errors
    return json.loads(orjson.dumps(answer.data))


async def refusal(schema: Schema, desk: Desk, text: str, **variables: Any) -> str:
    """The message of the only error of an answer."""
    answer = await schema.execute(text, variable_values=variables, context_value=desk)
    assert answer.errors is not None, answer.data
    assert len(answer.errors) == 1, answer.errors
    return answer.errors[0].message
