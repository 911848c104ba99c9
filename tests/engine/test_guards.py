from typing import Any

import pytest
from graphql import GraphQLError
from sqlalchemy import FromClause

from engine.encode import write_global_id
from engine.execute import Schema
from engine.graph import Connection, Node
from engine.mapping import backed, many, node, nodes, one
from tests.engine.library import Desk, authors, books


def closed(context: Any) -> None:
    raise GraphQLError("closed stacks", extensions={"code": "CLOSED"})


def is_first(_parent: None, row: FromClause) -> Any:
    return row.c.id == 1


@backed(authors, guard=closed)
class Hidden(Node):
    name: str


@backed(books)
class Open(Node):
    title: str
    author: Hidden | None = one(lambda book, author: author.c.id == book.c.author_pk)


@backed()
class Query:
    node: Node | None = node()
    nodes: list[Node | None] = nodes()
    open: Open | None = one(is_first)
    hidden: Hidden | None = one(is_first)
    all_hidden: Connection[Hidden] = many()


SCHEMA = Schema(Query, types=[Open, Hidden])
HIDDEN, OPEN = write_global_id("Hidden", 1), write_global_id("Open", 1)


@pytest.mark.parametrize(
    "query",
    [
        "{ hidden { name } }",
        "{ hidden { __typename } }",
        "{ allHidden { nodes { name } } }",
        "{ allHidden { totalCount } }",
        "{ allHidden { pageInfo { hasNextPage } } }",
        "{ open { author { name } } }",
        f'{{ node(id: "{HIDDEN}") {{ id }} }}',
        f'{{ nodes(ids: ["{OPEN}", "{HIDDEN}"]) {{ id }} }}',
    ],
)
async def test_guarded_rows_are_not_read_whichever_way_leads_to_them(desk: Desk, query: str) -> None:
    answer = await SCHEMA.execute(query, context_value=desk)

    [error] = answer.errors or []
    assert (error.message, error.extensions) == ("closed stacks", {"code": "CLOSED"})
    assert desk.asked == []


async def test_what_is_not_guarded_is_read_as_ever(desk: Desk) -> None:
    answer = await SCHEMA.execute(f'{{ open {{ title }} node(id: "{OPEN}") {{ id }} }}', context_value=desk)

    assert answer.errors is None
    assert len(desk.asked) == 2
