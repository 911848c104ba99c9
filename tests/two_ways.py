"""One operation executed by the engine and by graphql-core alone, over one database."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import asyncpg
import orjson
from sqlalchemy.exc import SQLAlchemyError

from schema.build import Schema, build
from server.database import SERVER_SETTINGS, write_engine
from tests.engine.library import Desk
from tests.operations import Asked, Known
from tests.plain import Plain


def found(answer: Any, *names: str) -> list[str]:
    """Every text under these names, wherever it stands."""
    if isinstance(answer, list):
        return sorted({text for each in answer for text in found(each, *names)})
    if not isinstance(answer, dict):
        return []
    here = {value for name, value in answer.items() if name in names and isinstance(value, str)}
    return sorted(here | {text for value in answer.values() for text in found(value, *names)})


@dataclass
class TwoWays:
    """`known` is what operations are drawn from."""

    schema: Schema
    desk: Desk
    plain: Plain
    known: Known

    async def require_agreement(self, asked: Asked) -> None:
        expected = await self.plain.execute(asked.text, asked.variables)
        answer = await self.schema.execute(asked.text, variable_values=asked.variables, context_value=self.desk)

        assert not [error for error in expected.errors or () if isinstance(error.original_error, SQLAlchemyError)]
        assert json.loads(orjson.dumps(answer.data)) == expected.data
        assert [error.path for error in answer.errors or ()] == [error.path for error in expected.errors or ()]


@asynccontextmanager
async def two_ways(dsn: str, query: str, known: Callable[[dict[str, Any]], Known]) -> AsyncIterator[TwoWays]:
    """What the answer to a query holds is known."""
    desk = Desk(await asyncpg.connect(dsn, server_settings=SERVER_SETTINGS))
    # One statement that fails must not fail the next ones.
    engine = write_engine(dsn).execution_options(isolation_level="AUTOCOMMIT")
    async with engine.connect() as connection:
        made = build()
        answer = await made.execute(query, context_value=desk)
        assert answer.errors is None
        yield TwoWays(made, desk, Plain(made, connection), known(json.loads(orjson.dumps(answer.data))))
    await engine.dispose()
    await desk.connection.close()
