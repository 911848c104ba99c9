import json
from collections.abc import AsyncIterator
from dataclasses import replace

import asyncpg
import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy.exc import SQLAlchemyError

from engine.encode import write_global_id
from server.database import write_engine
from tests.engine.library import Desk, data, schema
from tests.operations import Asked, Known, operations
from tests.plain import Plain

SCHEMA = schema()
ROOTS = (
    "node",
    "nodes",
    "book",
    "requiredBook",
    "author",
    "books",
    "authors",
    "reviews",
    "library",
    "placed",
    "ofAuthor",
)
BOOKS = [write_global_id("Book", key) for key in (1, 2, 13, 999)]
AUTHORS = [write_global_id("Author", key) for key in (1, 2, 3, 9)]
REVIEWS = [write_global_id("Review", key) for key in ("r1", "r2", "r13", "none")]

KNOWN = Known(
    texts=["", "a", "B0", "ä1", "%", "Anna", "Bo", "r1", "A0"],
    ids=[*BOOKS, *AUTHORS, *REVIEWS],
    ids_of={"author": AUTHORS, "slugs": REVIEWS, ".id": BOOKS},
    literals={
        "Int": ["0", "1", "2", "3", "1901", "2000", "2001", "2002"],
        "Float": ["1.0", "2.5"],
        "Decimal": ['"1.5"', '"3"', '"30.00"'],
        "DateTime": ['"2026-01-01T00:00:01.000001Z"', '"2026-01-01T02:00:03+02:00"'],
    },
)


@pytest.fixture(scope="module")
async def plain(shelves: asyncpg.Connection, library_dsn: str) -> AsyncIterator[Plain]:
    engine = write_engine(library_dsn)
    # One statement that fails must not fail the next ones.
    engine = engine.execution_options(isolation_level="AUTOCOMMIT")
    async with engine.connect() as connection:
        yield Plain(SCHEMA, connection)
    await engine.dispose()


@pytest.fixture(scope="module")
async def known(shelves: asyncpg.Connection) -> Known:
    """With cursors of the lists in their own order."""
    text = "{ books { edges { cursor } } placed { edges { cursor } } reviews { edges { cursor } } }"
    found = await data(SCHEMA, Desk(shelves), text)
    cursors = {f"Query.{field}": [edge["cursor"] for edge in page["edges"]] for field, page in found.items()}
    for field in ("Author.books", "Shelf.booksOnIt", "Query.ofAuthor"):
        cursors[field] = cursors["Query.books"]
    return replace(KNOWN, cursors=cursors)


@given(drawing=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
async def test_the_engine_answers_as_graphql_core_would(
    shelves: asyncpg.Connection, plain: Plain, known: Known, drawing: st.DataObject
) -> None:
    asked: Asked = drawing.draw(operations(plain.plain, known, ROOTS))

    expected = await plain.execute(asked.text, asked.variables)
    answer = await SCHEMA.execute(asked.text, variable_values=asked.variables, context_value=Desk(shelves))

    assert not [error for error in expected.errors or () if isinstance(error.original_error, SQLAlchemyError)]
    assert json.loads(orjson.dumps(answer.data)) == expected.data
    assert [error.path for error in answer.errors or ()] == [error.path for error in expected.errors or ()]
