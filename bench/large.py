"""A database as large as the costs to hold are promised for."""

from dataclasses import dataclass
from pathlib import Path

import asyncpg

SCRIPT = Path(__file__).with_name("large.sql")
TABLE = Path(__file__).with_name("table.sql")


@dataclass(frozen=True)
class Size:
    agents: int
    defects_of_an_agent: int
    suites: int
    agents_in_a_suite: int


FULL = Size(agents=1_000, defects_of_an_agent=20, suites=100, agents_in_a_suite=100)
SMALL = Size(agents=100, defects_of_an_agent=20, suites=20, agents_in_a_suite=10)


async def fill(connection: asyncpg.Connection, size: Size) -> None:
    await connection.execute("CREATE TEMPORARY TABLE size (agents int, defects int, suites int, agents_in_suite int)")
    await connection.execute(
        "INSERT INTO size VALUES ($1, $2, $3, $4)",
        size.agents,
        size.defects_of_an_agent,
        size.suites,
        size.agents_in_a_suite,
    )
    for statement in SCRIPT.read_text().split("\n\n"):
        await connection.execute(statement)


async def fill_table(connection: asyncpg.Connection) -> None:
    for statement in TABLE.read_text().split("\n\n"):
        await connection.execute(statement)
