import base64
import json
from itertools import product
from typing import Any

import asyncpg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.encode import write_global_id
from tests.engine.library import Desk, data, refusal, schema

FIELDS = ["TITLE", "YEAR", "GENRE", "ADDED_AT", "REVIEW_COUNT"]
SCHEMA = schema()

orders = st.lists(
    st.fixed_dictionaries({"field": st.sampled_from(FIELDS)}, optional={"direction": st.sampled_from(["ASC", "DESC"])}),
    max_size=3,
)
filters = st.sampled_from([None, {}, {"year": {"isNull": True}}, {"author": {"name": {"eq": "Bo"}}}])

LIST = """
query ($order: [BookOrder!], $where: BookFilter) {
  books(first: 500, orderBy: $order, where: $where) {
    nodes { id title year genre addedAt reviewCount }
    pageInfo { hasNextPage hasPreviousPage }
    totalCount
  }
}
"""

PAGE = """
query ($order: [BookOrder!], $where: BookFilter, $first: Int, $after: String, $last: Int, $before: String) {
  books(first: $first, after: $after, last: $last, before: $before, orderBy: $order, where: $where) {
    nodes { id }
    edges { cursor node { id } }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  }
}
"""


def sorted_as_asked(books: list[dict[str, Any]], order: list[dict[str, str]]) -> list[dict[str, Any]]:
    """Text by code point, nulls last either way, the key between equals."""
    names = {"TITLE": "title", "YEAR": "year", "GENRE": "genre", "ADDED_AT": "addedAt", "REVIEW_COUNT": "reviewCount"}
    books = sorted(books, key=lambda book: int(base64.b64decode(book["id"]).decode().partition(":")[2]))
    for term in reversed(order):
        name, backward = names[term["field"]], term.get("direction") == "DESC"
        present = [book for book in books if book[name] is not None]
        absent = [book for book in books if book[name] is None]
        # Sorting in reverse keeps the order of equals, as a stable sort does.
        books = sorted(present, key=lambda book: book[name], reverse=backward) + absent
    return books


async def read(desk: Desk, **variables: Any) -> dict[str, Any]:
    page: dict[str, Any] = (await data(SCHEMA, desk, PAGE, **variables))["books"]
    assert [edge["node"] for edge in page["edges"]] == page["nodes"]
    cursors = [edge["cursor"] for edge in page["edges"]]
    assert page["pageInfo"]["startCursor"] == (cursors[0] if cursors else None)
    assert page["pageInfo"]["endCursor"] == (cursors[-1] if cursors else None)
    return page


@given(orders, filters)
@settings(max_examples=60, deadline=None)
async def test_a_list_is_in_the_order_that_was_asked_for(
    shelves: asyncpg.Connection, order: list[dict[str, str]], where: Any
) -> None:
    books = (await data(SCHEMA, Desk(shelves), LIST, order=order, where=where))["books"]

    assert books["nodes"] == sorted_as_asked(books["nodes"], order)
    assert books["totalCount"] == len(books["nodes"])
    assert books["pageInfo"] == {"hasNextPage": False, "hasPreviousPage": False}


@given(orders, filters, st.sampled_from([1, 2, 7]), st.booleans())
@settings(max_examples=60, deadline=None)
async def test_pages_add_up_to_the_list_in_both_directions(
    shelves: asyncpg.Connection, order: list[dict[str, str]], where: Any, size: int, backward: bool
) -> None:
    desk = Desk(shelves)
    whole = (await data(SCHEMA, desk, LIST, order=order, where=where))["books"]["nodes"]
    asked: dict[str, Any] = {"last" if backward else "first": size, "order": order, "where": where}
    read_so_far: list[dict[str, str]] = []
    place, more = None, True

    while more:
        page = await read(desk, **asked, **{"before" if backward else "after": place})
        info = page["pageInfo"]
        assert info["hasNextPage" if backward else "hasPreviousPage"] is bool(read_so_far)
        read_so_far = page["nodes"] + read_so_far if backward else read_so_far + page["nodes"]
        place = info["startCursor" if backward else "endCursor"]
        more = info["hasPreviousPage" if backward else "hasNextPage"]
        assert more is (len(read_so_far) < len(whole))

    assert read_so_far == [{"id": book["id"]} for book in whole]


@given(orders, st.integers(0, 23), st.integers(0, 23), st.integers(0, 4), st.booleans())
@settings(max_examples=60, deadline=None)
async def test_a_page_can_lie_between_two_cursors(
    shelves: asyncpg.Connection, order: list[dict[str, str]], low: int, high: int, size: int, backward: bool
) -> None:
    desk = Desk(shelves)
    edges = (await read(desk, order=order, first=500))["edges"]
    between = [edge["node"] for edge in edges[low + 1 : high]]
    cursors = {"after": edges[low]["cursor"], "before": edges[high]["cursor"]}

    page = await read(desk, order=order, **cursors, **{"last" if backward else "first": size})

    kept = (between[-size:] if size else []) if backward else between[:size]
    assert page["nodes"] == kept
    overflows = len(between) > size
    assert page["pageInfo"]["hasNextPage"] is True
    assert page["pageInfo"]["hasPreviousPage"] is True
    assert overflows or len(kept) == len(between)


async def test_rows_that_come_and_go_between_pages_neither_repeat_nor_skip_others(own_desk: Desk) -> None:
    order = [{"field": "YEAR", "direction": "DESC"}]
    first = await read(own_desk, order=order, first=10)
    rest = await read(own_desk, order=order, first=500, after=first["pageInfo"]["endCursor"])
    last_read = int(base64.b64decode(first["nodes"][-1]["id"]).decode().partition(":")[2])
    await own_desk.connection.execute("DELETE FROM books WHERE id = $1", last_read)
    await own_desk.connection.execute(
        "INSERT INTO books SELECT 0, author_pk, title, 2009, rating, price, genre, in_print, added_at, notes,"
        " catalogue, tags, shelf, place FROM books WHERE id = 12"
    )

    again = await read(own_desk, order=order, first=500, after=first["pageInfo"]["endCursor"])

    assert again["nodes"] == rest["nodes"]


async def test_without_arguments_a_page_has_fifty_entries(own_desk: Desk) -> None:
    await own_desk.connection.execute("INSERT INTO reviews SELECT 'more' || n, 1, 1 FROM generate_series(1, 60) AS n")

    answer = await data(
        SCHEMA,
        own_desk,
        "query ($n: Int) { a: reviews { nodes { id } } b: reviews(first: $n) { nodes { id } } }",
        n=None,
    )

    assert [len(answer[key]["nodes"]) for key in "ab"] == [50, 50]


async def test_a_page_of_nothing_says_whether_there_is_more(desk: Desk) -> None:
    page = await read(desk, first=0)

    assert page["nodes"] == []
    assert page["pageInfo"] == {
        "hasNextPage": True,
        "hasPreviousPage": False,
        "startCursor": None,
        "endCursor": None,
    }


@pytest.mark.parametrize("where", ["{}", '{title: {eq: "no such"}}'])
@pytest.mark.parametrize("selection", ["hasPreviousPage", "__typename", "startCursor"])
async def test_a_page_of_any_size_has_one_page_info(desk: Desk, where: str, selection: str) -> None:
    answer = await data(SCHEMA, desk, f"{{ books(where: {where}) {{ pageInfo {{ {selection} }} }} }}")

    assert set(answer["books"]["pageInfo"]) == {selection}


async def test_the_count_alone_reads_no_page(desk: Desk) -> None:
    await data(SCHEMA, desk, "{ books { totalCount } }")

    assert "LIMIT" not in desk.asked[0]


async def test_the_count_is_not_made_unless_it_is_asked(desk: Desk) -> None:
    await data(SCHEMA, desk, "{ books { nodes { id } } }")

    assert "count" not in desk.asked[0]


async def test_a_list_is_in_its_declared_order_unless_another_is_asked(desk: Desk) -> None:
    answer = await data(SCHEMA, desk, "{ placed { nodes { place { number } } } books(first: 2) { nodes { id } } }")

    places = [node["place"]["number"] for node in answer["placed"]["nodes"] if node["place"]]
    assert places == sorted(places)
    assert answer["books"]["nodes"] == [{"id": write_global_id("Book", 1)}, {"id": write_global_id("Book", 2)}]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("first: 501", "books.first: a page has at most 500 entries, not 501"),
        ("last: 501", "books.last: a page has at most 500 entries, not 501"),
        ("first: -1", "books.first: a page cannot have -1 entries"),
        ("last: -1", "books.last: a page cannot have -1 entries"),
        ("first: 1, last: 1", "books: first and last cannot be asked at once"),
        ('after: "%%%"', "books.after: this is not a cursor that this server gave out"),
        ('before: ""', "books.before: this is not a cursor that this server gave out"),
    ],
)
@pytest.mark.parametrize("selection", ["totalCount", "nodes { id }"])
async def test_arguments_of_a_page_that_cannot_be_are_refused(
    desk: Desk, arguments: str, message: str, selection: str
) -> None:
    assert await refusal(SCHEMA, desk, f"{{ books({arguments}) {{ {selection} }} }}") == message
    assert desk.asked == []


async def test_a_refusal_names_the_argument_and_the_field(desk: Desk) -> None:
    text = "query ($n: Int) { authors { nodes { name own: books(first: $n) { totalCount } } } }"

    answer = await SCHEMA.execute(text, variable_values={"n": 501}, context_value=desk)

    assert answer.errors is not None
    assert answer.errors[0].path == ["authors"]
    assert answer.errors[0].extensions == {
        "code": "INVALID_ARGUMENT",
        "argument": ["authors", "nodes", "own", "first"],
    }


@pytest.mark.parametrize("order", [None, [{"field": "YEAR", "direction": "DESC"}], [{"field": "TITLE"}]])
async def test_a_cursor_of_another_order_is_refused(desk: Desk, order: Any) -> None:
    cursor = (await read(desk, first=1, order=[{"field": "YEAR"}]))["pageInfo"]["endCursor"]

    message = await refusal(SCHEMA, desk, PAGE, after=cursor, order=order)

    assert message == "books.after: this cursor belongs to another list or order"


def forged(*parts: Any) -> str:
    return base64.b64encode(json.dumps(parts).encode()).decode()


@pytest.mark.parametrize(
    ("order", "parts"),
    [
        *product(["YEAR"], [["2001", 1], [2001, "1"], [2001], [2001, 1, 1], [2001, 2**63], [True, 1], [{}, 1]]),
        *product(["TITLE"], [[1, 1], ["\0", 1], ["\ud800", 1]]),
        *product(["ADDED_AT"], [["yesterday", 1], [0, 1], ["2026-01-01", 1], ["9999-12-31T23:59:59-12:00", 1]]),
    ],
)
async def test_a_forged_cursor_is_refused(desk: Desk, order: str, parts: list[Any]) -> None:
    cursor = forged(f"Book {order.lower()} id", *parts)

    message = await refusal(SCHEMA, desk, PAGE, after=cursor, order=[{"field": order}])

    assert message == "books.after: this is not a cursor that this server gave out"


async def test_pages_of_pages_are_bounded_before_anything_is_read(desk: Desk) -> None:
    text = """
    query ($n: Int) {
      authors(first: 500) { nodes { books(first: 500) { nodes { reviews(first: $n) { nodes { slug } } } } } }
    }
    """

    assert "multiply to" in await refusal(SCHEMA, desk, text, n=500)
    assert desk.asked == []
    assert await data(SCHEMA, desk, text, n=1)


async def test_text_is_sorted_by_code_point_whatever_the_database_would_do(desk: Desk) -> None:
    made = schema()
    made.order_text_by("C")
    text = "query ($after: String) { books(first: 3, after: $after, orderBy: {field: TITLE}) { nodes { title year }"
    text += " pageInfo { endCursor } } }"

    first = (await data(made, desk, text))["books"]
    second = (await data(made, desk, text, after=first["pageInfo"]["endCursor"]))["books"]

    titles = [book["title"] for book in first["nodes"] + second["nodes"]]
    assert titles == ["A%0", "A%0", "A%1", "A%1", "B0", "B0"]
    assert all('.title COLLATE "C"' in sql for sql in desk.asked)
