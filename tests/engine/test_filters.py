from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import asyncpg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.encode import write_global_id
from tests.engine.library import Desk, data, refusal, schema

SCHEMA = schema()
BOOKS = """
query ($where: BookFilter) {
  books(first: 500, where: $where) {
    totalCount
    nodes { id title year rating price genre inPrint addedAt reviewCount author { name born } }
  }
}
"""

START = datetime(2026, 1, 1, 0, 0, 0, 1, UTC)
TEXTS = ["", "a", "A", "b", "ä", "Ä", "%", "_", "\\", "a_b", "a%", "0", "1", "A%0"]

Book = dict[str, Any]
Operator = Callable[[Any, Any], bool]

# What each operator means, a null field matching none of them but `ne`.
OPERATORS: dict[str, Operator] = {
    "eq": lambda value, asked: value == asked,
    "in": lambda value, asked: value in asked,
    "gt": lambda value, asked: value > asked,
    "gte": lambda value, asked: value >= asked,
    "lt": lambda value, asked: value < asked,
    "lte": lambda value, asked: value <= asked,
    "contains": lambda value, asked: asked.lower() in value.lower(),
    "startsWith": lambda value, asked: value.lower().startswith(asked.lower()),
}

READERS: dict[str, Callable[[Any], Any]] = {"addedAt": datetime.fromisoformat, "price": Decimal, "reviews": int}


def matches_leaf(value: Any, asked: dict[str, Any], read: Callable[[Any], Any]) -> bool:
    def holds(name: str, operand: Any) -> bool:
        if name == "isNull":
            return (value is None) is operand
        if name == "ne":
            return value is None or bool(read(value) != read(operand))
        operands = [read(each) for each in operand] if name == "in" else read(operand)
        return value is not None and OPERATORS[name](read(value), operands)

    return all(holds(name, operand) for name, operand in asked.items())


def matches(book: Book, where: dict[str, Any]) -> bool:
    def holds(name: str, asked: Any) -> bool:
        match name:
            case "and":
                return all(matches(book, part) for part in asked)
            case "or":
                return not asked or any(matches(book, part) for part in asked)
            case "not":
                return is_empty(asked) or not matches(book, asked)
            case "author":
                return matches(book["author"], asked)
            case "reviews":
                return matches_leaf(book["reviewCount"], asked, int)
            case _:
                return matches_leaf(book[name], asked, READERS.get(name, lambda value: value))

    return all(holds(name, asked) for name, asked in where.items() if asked is not None)


def is_empty(where: dict[str, Any] | None) -> bool:
    """Whether a filter asks nothing, so that there is nothing to negate."""
    return all(
        asked is None
        or (name == "and" and all(is_empty(part) for part in asked))
        or (name == "or" and (not asked or any(is_empty(part) for part in asked)))
        or (name not in ("and", "or") and isinstance(asked, dict) and is_empty(asked))
        for name, asked in (where or {}).items()
    )


def leaf(operands: st.SearchStrategy[Any], *words: str) -> st.SearchStrategy[dict[str, Any]]:
    lists = st.lists(operands, max_size=3)
    optional = {word: lists if word == "in" else operands for word in words}
    return st.fixed_dictionaries({}, optional={**optional, "isNull": st.booleans()})


instants = st.integers(-1, 7).map(lambda seconds: (START + timedelta(seconds=seconds)).isoformat())
WORDS = "eq", "ne", "in", "contains", "startsWith"
text = leaf(st.sampled_from(TEXTS), *WORDS)
name = leaf(st.sampled_from(["Anna", "Bo", "Cyril", "B"]), *WORDS)
whole = leaf(st.integers(1998, 2004), "eq", "in", "gt", "gte", "lt", "lte")
leaves = {
    "title": text,
    "year": whole,
    "price": leaf(st.sampled_from(["1.5", "1.50", "3", "30.00"]), "eq", "gt", "gte", "lt", "lte"),
    "genre": leaf(st.sampled_from(["NOVEL", "ESSAY", "POEM"]), "eq", "ne", "in"),
    "inPrint": leaf(st.booleans(), "eq"),
    "addedAt": leaf(instants, "gt", "gte", "lt", "lte"),
    "reviews": leaf(st.integers(0, 4), "eq", "in", "gt", "lte"),
    "author": st.fixed_dictionaries(
        {}, optional={"name": name, "born": leaf(st.integers(1901, 1903), "eq", "gt", "lte", "in")}
    ),
}
fields = st.fixed_dictionaries({}, optional={name: st.none() | each for name, each in leaves.items()})
few_fields = st.sampled_from(sorted(leaves)).flatmap(lambda name: leaves[name].map(lambda asked: {name: asked}))
wheres = st.recursive(
    few_fields | fields,
    lambda inner: st.fixed_dictionaries(
        {}, optional={"and": st.lists(inner, max_size=2), "or": st.lists(inner, max_size=2), "not": inner}
    ),
    max_leaves=4,
)


@given(wheres)
@settings(max_examples=250, deadline=None)
async def test_a_filter_lets_through_what_it_says(shelves: asyncpg.Connection, where: dict[str, Any]) -> None:
    desk = Desk(shelves)
    every = (await data(SCHEMA, desk, BOOKS))["books"]["nodes"]

    answer = (await data(SCHEMA, desk, BOOKS, where=where))["books"]

    assert answer["nodes"] == [book for book in every if matches(book, where)]
    assert answer["totalCount"] == len(answer["nodes"])


@pytest.mark.parametrize("where", ["null", "{}", "{and: [], or: [], not: {}}", "{title: null, author: {}, or: [{}]}"])
async def test_an_empty_filter_is_no_filter(desk: Desk, where: str) -> None:
    answer = await data(SCHEMA, desk, f"{{ books(where: {where}) {{ totalCount }} }}")

    assert answer["books"]["totalCount"] == 24


async def test_literals_and_variables_filter_alike(desk: Desk) -> None:
    text = """
    query ($title: String, $genres: [Genre!], $one: Genre!, $missing: String) {
      a: books(where: {title: {contains: $title}, genre: {in: $genres}, or: [{title: {eq: $missing}}]}) { totalCount }
      b: books(where: {title: {contains: "a"}, genre: {in: [NOVEL, POEM]}}) { totalCount }
      c: books(where: {title: {contains: "a"}, genre: {in: [NOVEL, $one]}}) { totalCount }
    }
    """

    answer = await data(SCHEMA, desk, text, title="a", genres=["NOVEL", "POEM"], one="POEM")

    assert answer["a"] == answer["b"] == answer["c"] == {"totalCount": 8}


async def test_ids_filter_by_key(desk: Desk) -> None:
    text = 'query ($ids: [ID!]!) { books(where: {id: {in: $ids}, not: {id: {eq: "Qm9vazox"}}}) { nodes { id } } }'
    ids = [write_global_id("Book", key) for key in (1, 2, 999)]

    assert await data(SCHEMA, desk, text, ids=ids) == {"books": {"nodes": [{"id": ids[1]}]}}


@pytest.mark.parametrize("word", ["eq", "ne", "in", "contains", "startsWith"])
async def test_null_is_refused_where_a_value_is_compared(desk: Desk, word: str) -> None:
    message = await refusal(SCHEMA, desk, BOOKS, where={"or": [{"title": {word: None}}]})

    assert message == f"books.where.or.0.title.{word}: nothing equals null; isNull asks that"


async def test_null_for_is_null_asks_nothing(desk: Desk) -> None:
    assert (await data(SCHEMA, desk, BOOKS, where={"year": {"isNull": None}}))["books"]["totalCount"] == 24


@pytest.mark.parametrize("word", ["eq", "contains"])
@pytest.mark.parametrize(("value", "fault"), [("a\0", "the character U+0000"), ("\ud800", "half of a surrogate pair")])
async def test_text_that_postgres_cannot_hold_is_refused(desk: Desk, word: str, value: str, fault: str) -> None:
    message = await refusal(SCHEMA, desk, BOOKS, where={"title": {word: value}})

    assert message == f"books.where.title.{word}: text cannot hold {fault}"


async def test_an_id_of_another_type_is_refused_in_a_filter(desk: Desk) -> None:
    message = await refusal(SCHEMA, desk, BOOKS, where={"id": {"eq": write_global_id("Author", 1)}})

    assert message == "books.where.id.eq: this is the id of another type than Book"


async def test_a_filter_is_bounded_in_depth(desk: Desk) -> None:
    where: dict[str, Any] = {"year": {"eq": 2000}}
    for _ in range(13):
        where = {"not": where}

    assert "a filter is at most 12 deep" in await refusal(SCHEMA, desk, BOOKS, where=where)


async def test_retired_rows_are_listed_only_when_they_are_asked_for(desk: Desk) -> None:
    text = """
    query ($all: Boolean) {
      authors { totalCount }
      every: authors(includeRetired: $all) { nodes { name } }
      none: authors(includeRetired: null) { totalCount }
      author(name: "Cyril") { name }
    }
    """

    answer = await data(SCHEMA, desk, text, all=True)

    assert answer == {
        "authors": {"totalCount": 2},
        "every": {"nodes": [{"name": "Anna"}, {"name": "Bo"}, {"name": "Cyril"}]},
        "none": {"totalCount": 2},
        "author": {"name": "Cyril"},
    }


def test_input_types_follow_from_the_declaration() -> None:
    printed = str(SCHEMA)

    for expected in (
        "input StringFilter {\n  eq: String\n  ne: String\n  in: [String!]\n  contains: String\n"
        "  startsWith: String\n  isNull: Boolean\n}",
        "input BooleanFilter {\n  eq: Boolean\n  isNull: Boolean\n}",
        "input GenreFilter {\n  eq: Genre\n  ne: Genre\n  in: [Genre!]\n  isNull: Boolean\n}",
        "input IDFilter {\n  eq: ID\n  ne: ID\n  in: [ID!]\n  isNull: Boolean\n}",
        "input AuthorFilter {\n  name: StringFilter\n  born: IntFilter\n  and: [AuthorFilter!]\n"
        "  or: [AuthorFilter!]\n  not: AuthorFilter\n}",
        "input BookOrder {\n  field: BookOrderField!\n  direction: SortDirection! = ASC\n}",
        "enum BookOrderField {\n  TITLE\n  YEAR\n  GENRE\n  ADDED_AT\n  REVIEW_COUNT\n}",
        "  books(where: BookFilter, orderBy: [BookOrder!], first: Int, after: String, last: Int, before: String):"
        " BookConnection!",
    ):
        assert expected in printed
