import json
from typing import Any

import orjson
import pytest

from engine.encode import write_global_id
from tests.engine.library import Desk, data, refusal, schema

EVERYTHING = """
{
  book(number: 1) {
    __typename id title year rating price genre inPrint addedAt notes catalogue tags reviewCount
    author { id name }
    sequel { title }
    place { __typename shelf number }
    cost { amount isKnown }
    best { slug stars }
    reviews(first: 2) { totalCount nodes { slug } }
  }
}
"""


async def test_one_statement_reads_every_shape_of_field(desk: Desk) -> None:
    answer = await data(schema(), desk, EVERYTHING)

    assert answer["book"] == {
        "__typename": "Book",
        "id": write_global_id("Book", 1),
        "title": "B0",
        "year": 2001,
        "rating": 1 / 3,
        "price": "1.50",
        "genre": "ESSAY",
        "inPrint": False,
        "addedAt": "2026-01-01T00:00:01.000001Z",
        "notes": {"zero": "\0", "price": 1.1},
        "catalogue": {"b": 1, "a": 100.0},
        "tags": ["x", "y1"],
        "reviewCount": 2,
        "author": {"id": write_global_id("Author", 2), "name": "Bo"},
        "sequel": None,
        "place": None,
        "cost": {"amount": "1.50", "isKnown": True},
        "best": [{"slug": "r24", "stars": 4}, {"slug": "r12", "stars": 2}],
        "reviews": {"totalCount": 2, "nodes": [{"slug": "r24"}, {"slug": "r12"}]},
    }
    assert len(desk.asked) == 1


async def test_a_computed_field_is_made_of_its_arguments(desk: Desk) -> None:
    query = """query ($mark: String!, $genre: Genre) {
      book(number: 1) { signed other: signed(mark: $mark) third: signed(mark: "-", genre: $genre) }
    }"""

    answer = await data(schema(), desk, query, mark="?", genre="NOVEL")

    assert answer["book"] == {"signed": "B0!", "other": "B0?", "third": "B0-NOVEL"}


async def test_json_goes_out_as_it_was_stored(desk: Desk) -> None:
    answer = await schema().execute("{ book(number: 1) { notes catalogue } }", context_value=desk)

    assert b'{"zero": "\\u0000", "price": 1.10}' in orjson.dumps(answer.data)
    assert b'{"b": 1, "a": 1e2}' in orjson.dumps(answer.data)


async def test_an_instant_without_microseconds_is_written_without_them(own_desk: Desk) -> None:
    await own_desk.connection.execute("UPDATE books SET added_at = '2026-01-01T02:00:00+02' WHERE id = 1")

    answer = await data(schema(), own_desk, "{ book(number: 1) { addedAt } }")

    assert answer == {"book": {"addedAt": "2026-01-01T00:00:00Z"}}


async def test_what_is_not_there_is_null(desk: Desk) -> None:
    assert await data(schema(), desk, "{ book(number: 999) { id } }") == {"book": None}


async def test_a_required_field_that_is_not_there_is_an_error(desk: Desk) -> None:
    answer = await schema().execute("{ requiredBook(number: 999) { id } }", context_value=desk)

    assert answer.data is None
    assert answer.errors is not None
    assert answer.errors[0].message == "Cannot return null for non-nullable field Query.requiredBook."
    assert answer.errors[0].path == ["requiredBook"]


async def test_rows_can_depend_on_the_row_around_them(desk: Desk) -> None:
    text = """
    { library {
        bookCount
        shelves { totalCount nodes { shelf books booksOnIt(first: 1) { totalCount nodes { title } } } }
        rooms { room shelves { nodes { shelf } } }
    } }
    """

    answer = await data(schema(), desk, text)

    shelf = {"books": 4, "booksOnIt": {"totalCount": 4, "nodes": [{"title": "ä0"}]}, "shelf": "A2"}
    assert answer["library"]["bookCount"] == 24
    assert answer["library"]["shelves"]["totalCount"] == 3
    assert answer["library"]["shelves"]["nodes"][2] == shelf
    names = [{"shelf": "A0"}, {"shelf": "A1"}, {"shelf": "A2"}]
    assert answer["library"]["rooms"] == [
        {"room": "A", "shelves": {"nodes": names}},
        {"room": "B", "shelves": {"nodes": []}},
    ]
    assert len(desk.asked) == 1


async def test_a_field_of_its_own_arguments_reads_ids_and_nothing(desk: Desk) -> None:
    text = """
    query ($slugs: [ID!]) {
      book(number: 1) { some: best(slugs: $slugs) { slug } all: best { slug } none: best(slugs: []) { slug } }
    }
    """

    answer = await data(schema(), desk, text, slugs=[write_global_id("Review", "r12")])

    assert answer["book"] == {"some": [{"slug": "r12"}], "all": [{"slug": "r24"}, {"slug": "r12"}], "none": []}


async def test_a_root_list_takes_arguments_of_its_own(desk: Desk) -> None:
    text = "query ($author: ID!) { ofAuthor(author: $author, first: 2) { totalCount nodes { author { name } } } }"

    answer = await data(schema(), desk, text, author=write_global_id("Author", 2))

    assert answer["ofAuthor"] == {"totalCount": 8, "nodes": [{"author": {"name": "Bo"}}] * 2}


async def test_aliases_fragments_and_directives_select_as_graphql_says(desk: Desk) -> None:
    text = """
    query ($with: Boolean!, $without: Boolean!) {
      a: book(number: 1) { ...Named author { born } t: title }
      b: book(number: 6) { ... on Book @include(if: $with) { title } year @skip(if: $without) }
      __typename
    }
    fragment Named on Book { author { name ... on Node { id } } title }
    """

    answer = await data(schema(), desk, text, **{"with": False, "without": False})
    other = await data(schema(), desk, text, **{"with": True, "without": True})

    author = {"name": "Bo", "id": write_global_id("Author", 2), "born": None}
    assert answer == {
        "a": {"author": author, "title": "B0", "t": "B0"},
        "b": {"year": 2000},
        "__typename": "Query",
    }
    assert other["b"] == {"title": "a0"}
    assert list(answer["a"]) == ["author", "title", "t"]


async def test_an_object_can_have_more_members_than_a_function_arguments(desk: Desk) -> None:
    aliases = " ".join(f"a{n}: title" for n in range(120))

    answer = await data(schema(), desk, f"{{ book(number: 1) {{ {aliases} author {{ name }} }} }}")

    assert len(answer["book"]) == 121
    assert answer["book"]["a119"] == "B0"
    assert answer["book"]["author"] == {"name": "Bo"}


@pytest.mark.parametrize("count", [1, 24])
async def test_the_number_of_statements_does_not_follow_the_number_of_rows(desk: Desk, count: int) -> None:
    text = "query ($n: Int) { books(first: $n) { nodes { author { books { nodes { reviews { totalCount } } } } } } }"

    answer = await data(schema(), desk, text, n=count)

    assert len(answer["books"]["nodes"]) == count
    assert len(desk.asked) == 1


async def test_each_root_field_is_one_statement(desk: Desk) -> None:
    await data(schema(), desk, "{ a: books { totalCount } b: books { totalCount } book(number: 1) { id } }")

    assert len(desk.asked) == 3


async def test_a_plain_field_and_introspection_stand_beside_backed_ones(desk: Desk) -> None:
    answer = await data(schema(), desk, '{ greeting book(number: 1) { title } __type(name: "Book") { name } }')

    assert answer == {"greeting": "hello", "book": {"title": "B0"}, "__type": {"name": "Book"}}


async def test_a_node_is_read_by_its_id_and_its_type(desk: Desk) -> None:
    text = "query ($id: ID!) { node(id: $id) { __typename id ... on Book { title } ... on Review { stars } } }"
    made = schema()

    book = await data(made, desk, text, id=write_global_id("Book", 1))
    review = await data(made, desk, text, id=write_global_id("Review", "r1"))
    nothing = await data(made, desk, text, id=write_global_id("Book", 999))

    assert book == {"node": {"__typename": "Book", "id": write_global_id("Book", 1), "title": "B0"}}
    assert review == {"node": {"__typename": "Review", "id": write_global_id("Review", "r1"), "stars": 1}}
    assert nothing == {"node": None}
    assert len(desk.asked) == 3


async def test_nodes_of_several_types_are_read_in_one_statement_and_keep_their_order(desk: Desk) -> None:
    text = "query ($ids: [ID!]!) { nodes(ids: $ids) { id } }"
    asked: list[tuple[str, int | str]] = [("Review", "r2"), ("Book", 2), ("Book", 999), ("Author", 3), ("Book", 2)]
    ids = [write_global_id(name, key) for name, key in asked]

    answer = await data(schema(), desk, text, ids=ids)

    assert answer["nodes"] == [{"id": ids[0]}, {"id": ids[1]}, None, {"id": ids[3]}, {"id": ids[1]}]
    assert len(desk.asked) == 1


async def test_no_nodes_need_no_statement(desk: Desk) -> None:
    assert await data(schema(), desk, "{ nodes(ids: []) { id } }") == {"nodes": []}
    assert desk.asked == []


@pytest.mark.parametrize(
    "id_",
    [
        *("", "x", "Qm9vazo", "Qm9vaw==", "4pi6"),
        *(write_global_id(name, 1) for name in ("Nothing", "Place", "String", "BookFilter")),
        *(write_global_id("Book", key) for key in ("", "one", "1.0", 2**63)),
    ],
)
async def test_an_id_that_nobody_gave_out_is_refused(desk: Desk, id_: str) -> None:
    text = "query ($id: ID!) { node(id: $id) { id } }"

    assert await refusal(schema(), desk, text, id=id_) == "node.id: this is not an id that this server gave out"


async def test_an_id_of_another_type_is_refused_where_one_type_is_meant(desk: Desk) -> None:
    text = "query ($id: ID!) { ofAuthor(author: $id) { totalCount } }"

    message = await refusal(schema(), desk, text, id=write_global_id("Book", 1))

    assert message == "ofAuthor.author: this is the id of another type than Author"


async def test_long_keys_have_ids_in_one_line(own_desk: Desk) -> None:
    await own_desk.connection.execute("INSERT INTO reviews VALUES ($1, 1, 1, '')", "long " * 40)
    id_ = write_global_id("Review", "long " * 40)

    answer = await data(schema(), own_desk, "query ($id: ID!) { node(id: $id) { id } }", id=id_)

    assert answer == {"node": {"id": id_}}


async def test_a_payload_refers_to_rows_that_the_engine_reads(desk: Desk) -> None:
    text = """
    mutation ($keys: [Int!]!) {
      lend(keys: $keys) {
        book { title author { name } } books { id } anything { __typename id ... on Review { stars } } note
      }
    }
    """

    answer = await data(schema(), desk, text, keys=[1, 0, 3])

    assert answer["lend"] == {
        "book": {"title": "B0", "author": {"name": "Bo"}},
        "books": [{"id": write_global_id("Book", 1)}, None, {"id": write_global_id("Book", 3)}],
        "anything": {"__typename": "Review", "id": write_global_id("Review", "r1"), "stars": 1},
        "note": "until Friday",
    }
    assert len(desk.asked) == 3


async def test_a_reference_to_a_row_that_is_gone_is_an_error_where_one_is_required(desk: Desk) -> None:
    message = await refusal(schema(), desk, "mutation { lend(keys: [999]) { book { title } } }")

    assert message == "Cannot return null for non-nullable field Receipt.book."


async def test_subscription_events_are_read_by_the_engine(desk: Desk) -> None:
    source: Any = await schema().subscribe("subscription { lent(keys: [1, 2]) { title } }", context_value=desk)

    events = [json.loads(orjson.dumps(event.data)) async for event in source]

    assert events == [{"lent": {"title": "B0"}}, {"lent": {"title": "ä0"}}]
