"""How Postgres carries out the statements that the service ships."""

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import asyncpg
import orjson

from bench.questions import Question
from resolvers.access import LOCAL, Viewer
from schema.build import Schema, build

REPEATED = 15
"""More often than the five times after which Postgres may settle on a plan for all parameters."""

FEW = 2_000
"""Fewer rows than this are as well read one after the other."""


@dataclass
class Reader:
    """What a request brings, which remembers what it was asked."""

    connection: asyncpg.Connection
    viewer: Viewer = LOCAL
    asked: list[tuple[str, Sequence[Any]]] = field(default_factory=list)

    async def fetch(self, sql: str, arguments: Sequence[Any]) -> str | None:
        self.asked.append((sql, arguments))
        text: str | None = await self.connection.fetchval(sql, *arguments)
        return text


@dataclass(frozen=True)
class Explained:
    question: Question
    milliseconds: float
    planning: float
    pages: int
    scanned: Sequence[str]
    text: str


async def answered(schema: Schema, reader: Reader, text: str, variables: dict[str, Any]) -> dict[str, Any]:
    result = await schema.execute(text, variables, reader)
    assert not result.errors, result.errors
    assert len(reader.asked) == 1, f"{len(reader.asked)} statements for one root field"
    return result.data or {}


async def start_of(schema: Schema, connection: asyncpg.Connection, question: Question) -> str | None:
    if question.start is None:
        return None
    variables = {**question.variables, "size": 1, "where": question.start}
    data = await answered(schema, Reader(connection), question.text, variables)
    [fragment] = data.values()
    cursor: str | None = orjson.loads(orjson.dumps(fragment))["pageInfo"]["endCursor"]
    assert cursor, f"{question.name} begins nowhere"
    return cursor


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from nodes(inner)


def reads_all(node: Mapping[str, Any]) -> bool:
    read: float = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
    return node["Node Type"] == "Seq Scan" and read > FEW


async def explained(connection: asyncpg.Connection, question: Question) -> Explained:
    schema = build()
    cursor = await start_of(schema, connection, question)
    reader = Reader(connection)
    await answered(schema, reader, question.text, {**question.variables, "cursor": cursor})
    [(sql, arguments)] = reader.asked
    took = [await timed(connection, sql, arguments) for _ in range(REPEATED)]
    form = "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "
    [made] = json.loads(await connection.fetchval(form + sql, *arguments))
    plan = made["Plan"]
    scanned = sorted({each["Relation Name"] for each in nodes(plan) if reads_all(each)})
    lines = await connection.fetch("EXPLAIN (ANALYZE, BUFFERS) " + sql, *arguments)
    return Explained(
        question,
        statistics.median(took[REPEATED // 2 :]),
        made["Planning Time"],
        plan["Shared Hit Blocks"] + plan["Shared Read Blocks"],
        scanned,
        "\n".join(line[0] for line in lines),
    )


async def timed(connection: asyncpg.Connection, sql: str, arguments: Sequence[Any]) -> float:
    began = perf_counter()
    await connection.fetchval(sql, *arguments)
    return (perf_counter() - began) * 1000
