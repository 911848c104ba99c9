"""Rows that the items of a list refer to are read together, each with what is selected at its place."""

import json

import orjson
import pytest

from engine.encode import write_global_id
from tests.engine.library import Desk, data, schema

LOANS = """
mutation ($keys: [Int!]!) {
  lend(keys: $keys) {
    loans {
      ... on Loan { book { title notes } }
      ... on Loss { book { year } fine { __typename id } }
    }
  }
}
"""


async def test_the_items_of_a_list_take_one_statement_for_each_place(desk: Desk) -> None:
    answer = await data(schema(), desk, LOANS, keys=[1, 2, 3, 4, 1])

    notes = {"zero": "\0", "price": 1.1}
    assert answer["lend"]["loans"] == [
        {"book": {"title": "B0", "notes": notes}},
        {"book": {"year": 2002}, "fine": {"__typename": "Review", "id": write_global_id("Review", "r2")}},
        {"book": {"title": "a_b0", "notes": notes}},
        {"book": {"year": None}, "fine": {"__typename": "Book", "id": write_global_id("Book", 4)}},
        {"book": {"title": "B0", "notes": notes}},
    ]
    assert len(desk.asked) == 3


async def test_an_item_without_a_row_is_null_among_others(desk: Desk) -> None:
    answer = await data(schema(), desk, LOANS, keys=[1, 999, -1])

    assert [item["book"] and item["book"]["title"] for item in answer["lend"]["loans"]] == ["B0", None, None]
    assert len(desk.asked) == 1


async def test_one_path_can_select_other_things_of_other_types(desk: Desk) -> None:
    made = schema()

    loan = await data(made, desk, LOANS, keys=[1])
    loss = await data(made, desk, LOANS, keys=[2])

    assert loan["lend"]["loans"][0]["book"].keys() == {"title", "notes"}
    assert loss["lend"]["loans"][0]["book"].keys() == {"year"}


@pytest.mark.parametrize("keys", [[999, 1, 998, 3], [1], [999]])
async def test_what_is_gone_is_left_out_where_only_what_is_there_was_asked_for(desk: Desk, keys: list[int]) -> None:
    query = "mutation ($keys: [Int!]!) { lend(keys: $keys) { note present { id } } }"

    answer = await data(schema(), desk, query, keys=keys)

    assert answer["lend"]["present"] == [{"id": write_global_id("Book", key)} for key in keys if key < 900]
    assert len(desk.asked) == 1


async def test_an_item_that_is_given_up_leaves_the_others_their_rows(desk: Desk) -> None:
    # The fine that is missing is known before the books are there.
    text = "mutation { lend(keys: [2, 998, 4]) { loans { ... on Loss { fine { __typename } book { year } } } } }"

    answer = await schema().execute(text, context_value=desk)

    assert answer.errors is not None
    assert [error.path for error in answer.errors] == [["lend", "loans", 1, "fine"]]
    loans = json.loads(orjson.dumps(answer.data))["lend"]["loans"]
    assert [loan and (loan["book"]["year"], loan["fine"]["__typename"]) for loan in loans] == [
        (2002, "Review"),
        None,
        (None, "Book"),
    ]
