import json
from typing import Any

import orjson
import pytest
from graphql import parse

from engine.encode import write_global_id
from engine.execute import Schema
from engine.limits import Limits
from engine.plans import Recent
from tests.engine.library import Desk, data, refusal, schema

LIST = """
query ($where: BookFilter, $order: [BookOrder!], $first: Int, $after: String, $with: Boolean = false) {
  books(where: $where, orderBy: $order, first: $first, after: $after) {
    nodes { title author @include(if: $with) { name } }
    pageInfo { endCursor }
  }
}
"""


async def compiled_for(made: Schema, desk: Desk, *requests: dict[str, Any]) -> list[int]:
    """How many statements were compiled after each of these requests."""
    counts = []
    for variables in requests:
        await data(made, desk, LIST, **variables)
        counts.append(made.engine.counters.compiled)
    return counts


async def test_other_values_of_the_same_shape_compile_nothing(desk: Desk) -> None:
    made = schema()
    cursor = (await data(schema(), desk, LIST, first=1))["books"]["pageInfo"]["endCursor"]

    first, second = await compiled_for(
        made,
        desk,
        {"where": {"title": {"contains": "a", "in": ["a", "b"]}}, "first": 3, "after": cursor},
        {"where": {"title": {"in": [], "contains": "ä"}}, "first": 0, "after": cursor},
    )

    assert (first, second) == (1, 1)
    assert desk.asked[-1] == desk.asked[-2]


@pytest.mark.parametrize(
    "other",
    [
        {"where": {"title": {"contains": "a"}, "year": None}},
        {"where": {"title": {"startsWith": "a"}}},
        {"where": {"year": {"isNull": True}}},
        {"where": {"year": {"isNull": False}}},
        {"where": {"genre": {"eq": "POEM"}}},
        {"where": None},
        {"order": [{"field": "TITLE"}]},
        {"order": [{"field": "TITLE", "direction": "DESC"}]},
        {"order": [{"field": "YEAR"}]},
        {"first": None},
        {"with": True},
    ],
)
async def test_another_shape_is_another_plan(desk: Desk, other: dict[str, Any]) -> None:
    assert await compiled_for(schema(), desk, {"where": {"title": {"contains": "a"}}}, other) == [1, 2]


async def test_plans_do_not_keep_what_one_request_gave(desk: Desk) -> None:
    made = schema()

    answers = [
        await data(
            made, desk, "query ($n: Int!, $f: Int) { book(number: $n) { reviews(first: $f) { totalCount } } }", n=n, f=f
        )
        for n, f in [(1, 1), (2, 500), (1, 1), (13, 0)]
    ]

    assert [answer["book"]["reviews"]["totalCount"] for answer in answers] == [2, 3, 2, 0]
    with_error = await refusal(made, desk, LIST, first=501)
    assert with_error == "books.first: a page has at most 500 entries, not 501"
    assert len((await data(made, desk, LIST, first=2))["books"]["nodes"]) == 2


async def test_types_of_nodes_pick_among_plans(desk: Desk) -> None:
    made = schema()
    text = "query ($ids: [ID!]!) { nodes(ids: $ids) { id } }"

    for keys in ([("Book", 1)], [("Book", 2), ("Book", 3)], [("Author", 1), ("Book", 1)], [("Book", 1), ("Author", 2)]):
        await data(made, desk, text, ids=[write_global_id(*key) for key in keys])

    assert made.engine.counters.compiled == 2


async def test_a_document_is_parsed_and_validated_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    made = schema()
    parsed = []

    def counting(*given: Any, **options: Any) -> Any:
        parsed.append(given)
        return parse(*given, **options)

    monkeypatch.setattr("engine.execute.parse", counting)
    for number in (1, 2):
        await data(made, desk, "query ($n: Int!) { book(number: $n) { id } }", n=number)

    assert len(parsed) == 1


async def test_a_query_of_rows_is_answered_without_graphql_core(desk: Desk) -> None:
    made, slow = schema(), schema(lean=False)
    text = "query ($n: Int!) { a: book(number: $n) { title } __typename b: authors { nodes { name } } }"

    answer, other = await data(made, desk, text, n=1), await data(slow, desk, text, n=1)

    assert answer == other
    assert list(answer) == ["a", "__typename", "b"]
    assert (made.engine.counters.lean, slow.engine.counters.lean) == (1, 0)
    assert made.engine.counters.fell_back == 0


async def test_a_query_of_something_else_is_counted(desk: Desk) -> None:
    made = schema()

    await data(made, desk, "{ greeting }")
    await data(made, desk, "{ __schema { queryType { name } } __typename }")

    assert made.engine.counters.fell_back == 1


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        ("query ($n: Int!) { book(number: $n) { id } }", {"n": "one"}),
        ("query ($n: Int!) { book(number: $n) { id } }", {}),
        ("{ requiredBook(number: 999) { id } a: book(number: 1) { id } }", {}),
        ('{ a: node(id: "x") { id } b: book(number: 1) { id } }', {}),
        ("{ books(first: 501) { totalCount } }", {}),
        ("{ nothing }", {}),
        ("{ book(number: 1) }", {}),
        ("{", {}),
        ("query A { __typename } query B { __typename }", {}),
    ],
)
async def test_errors_are_the_same_with_and_without_the_lean_path(desk: Desk, text: str, variables: Any) -> None:
    answers = [
        await made.execute(text, variable_values=variables, context_value=desk)
        for made in (schema(), schema(lean=False))
    ]

    lean, slow = ([error.formatted for error in answer.errors or ()] for answer in answers)
    assert lean == slow
    assert lean
    assert orjson.dumps(answers[0].data) == orjson.dumps(answers[1].data)


async def test_an_operation_is_picked_by_its_name(desk: Desk) -> None:
    text = "query A { book(number: 1) { title } } query B { book(number: 2) { title } }"
    made = schema()

    answer = await made.execute(text, operation_name="B", context_value=desk)

    assert json.loads(orjson.dumps(answer.data)) == {"book": {"title": "ä0"}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{ " + " ".join(f"a{n}: __typename" for n in range(51)) + " }", "an operation has at most 50 root fields"),
        ("{ ...F } fragment F on Query { " + "greeting " * 51 + "}", "an operation has at most 50 root fields"),
        ("{ book(number: 1) " + "{ sequel " * 24 + "{ id }" + " }" * 25, "fields nest at most 24 deep"),
        (
            "{ book(number: 1) { " + " ".join(f"a{n}: title" for n in range(5001)) + " } }",
            "an answer selects at most 5000 fields",
        ),
        (
            "{ books(first: 1) { nodes { " + " ".join(f"a{n}: reviews {{ totalCount }}" for n in range(100)) + " } } }",
            "an answer holds at most 100 different lists",
        ),
        (
            "{ books(where: {or: [" + '{title: {eq: "a"}}' * 1000 + "]}) { totalCount } }",
            "filters have at most 1,000 conditions: `in` takes many values as one",
        ),
        ("{ " + "greeting " * 20_001 + "}", "Syntax Error: Document contains more than 20000 tokens. Parsing aborted."),
    ],
)
async def test_an_operation_is_bounded(desk: Desk, text: str, message: str) -> None:
    assert await refusal(schema(), desk, text) == message
    assert desk.asked == []


async def test_the_deepest_selection_still_compiles(desk: Desk) -> None:
    text = "{ books(first: 1) { nodes { " + "reviews(first: 1) { nodes { book { " * 7 + "id" + " } } }" * 7 + " } } }"

    assert await data(schema(), desk, text)
    assert len(desk.asked) == 1


async def test_bounds_can_be_set(desk: Desk) -> None:
    made = schema(limits=Limits(nodes=10, ids=1))

    assert "11 entries, more than the 10" in await refusal(made, desk, "{ books(first: 11) { nodes { id } } }")
    assert "at most 1 ids" in await refusal(made, desk, '{ nodes(ids: ["a", "b"]) { id } }')


async def test_a_long_document_is_answered_and_not_kept(desk: Desk) -> None:
    made = schema()
    text = "{ book(number: 1) { title } } #" + "x" * 40_000

    assert await data(made, desk, text) == {"book": {"title": "B0"}}
    assert len(made._documents) == 0


def test_what_was_not_used_for_longest_is_forgotten_first() -> None:
    kept: Recent[str, int] = Recent(10)

    for place, name in enumerate("abc"):
        kept.keep(name, place, weight=3)
    kept.get("a")
    kept.keep("d", 3, weight=4)

    assert [kept.get(name) for name in "abcd"] == [0, None, 2, 3]
    kept.keep("e", 4, weight=11)
    assert len(kept) == 0
