"""The same graph as most would write it: Strawberry types, resolvers and DataLoaders over asyncpg."""

import base64
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import asyncpg
import strawberry
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.websockets import WebSocket
from strawberry.asgi import GraphQL
from strawberry.dataloader import DataLoader
from strawberry.extensions import ParserCache, ValidationCache

from bench.peers.running import run

DEFECTS = """
SELECT listed.* FROM unnest($1::bigint[]) AS asked (id), LATERAL (
    SELECT defects.* FROM defects JOIN agents ON agents.id = agent_pk
    WHERE agent_pk = asked.id AND defects.retired_at IS NULL AND manifest_state <> 'INVALID'
    ORDER BY position, defects.id LIMIT 10
) listed
"""

ASSESSMENTS = """
SELECT listed.* FROM unnest($1::bigint[]) AS asked (id), LATERAL (
    SELECT * FROM assessments WHERE defect_pk = asked.id AND fault_code IS NULL AND NOT echo ORDER BY id LIMIT 5
) listed
"""


def global_id(type_name: str, key: int) -> strawberry.ID:
    return strawberry.ID(base64.b64encode(f"{type_name}:{key}".encode()).decode())


def loader(pool: asyncpg.Pool, statement: str, parent: str) -> DataLoader[int, list[asyncpg.Record]]:
    async def load(keys: Sequence[int]) -> list[list[asyncpg.Record]]:
        found = defaultdict(list)
        for row in await pool.fetch(statement, list(keys)):
            found[row[parent]].append(row)
        return [found[key] for key in keys]

    return DataLoader(load)


@dataclass
class Context:
    pool: asyncpg.Pool
    defects: DataLoader[int, list[asyncpg.Record]] = field(init=False)
    assessments: DataLoader[int, list[asyncpg.Record]] = field(init=False)

    def __post_init__(self) -> None:
        self.defects = loader(self.pool, DEFECTS, "agent_pk")
        self.assessments = loader(self.pool, ASSESSMENTS, "defect_pk")


Info = strawberry.Info[Context, None]


@strawberry.type
class Assessment:
    id: strawberry.ID
    case_index: int
    attempt_id: str
    case_reproduced: bool | None
    judge_detected: bool | None
    reviewed_by: str
    rationale: str
    status: str


@strawberry.type
class AssessmentConnection:
    nodes: list[Assessment]


@strawberry.type
class Defect:
    key: strawberry.Private[int]
    id: strawberry.ID
    defect_id: str
    title: str
    revision: int

    @strawberry.field
    async def assessments(self, info: Info, first: int) -> AssessmentConnection:
        rows = await info.context.assessments.load(self.key)
        return AssessmentConnection(nodes=[shown(Assessment, row) for row in rows])


@strawberry.type
class DefectConnection:
    nodes: list[Defect]


@strawberry.type
class Agent:
    key: strawberry.Private[int]
    id: strawberry.ID
    agent_id: str
    name: str
    framework: str | None
    keeper: str
    source_sha256: str | None

    @strawberry.field
    async def defects(self, info: Info, first: int) -> DefectConnection:
        rows = await info.context.defects.load(self.key)
        return DefectConnection(nodes=[shown(Defect, row, key=row["id"]) for row in rows])


@strawberry.type
class AgentConnection:
    nodes: list[Agent]


def shown(type_: Any, row: asyncpg.Record, **values: Any) -> Any:
    names = [field.python_name for field in type_.__strawberry_definition__.fields]
    columns = {name: row[name] for name in names if name != "id" and name in row}
    return type_(id=global_id(type_.__name__, row["id"]), **columns, **values)


def agent_of(row: asyncpg.Record) -> Agent:
    agent: Agent = shown(Agent, row, key=row["id"])
    return agent


@strawberry.type
class Query:
    @strawberry.field
    async def agent(self, info: Info, agent_id: str) -> Agent | None:
        row = await info.context.pool.fetchrow("SELECT * FROM agents WHERE agent_id = $1", agent_id)
        return None if row is None else agent_of(row)

    @strawberry.field
    async def agents(self, info: Info, first: int) -> AgentConnection:
        listed = "SELECT * FROM agents WHERE retired_at IS NULL AND listed ORDER BY id LIMIT $1"
        rows = await info.context.pool.fetch(listed, first)
        return AgentConnection(nodes=[agent_of(row) for row in rows])


class View(GraphQL[Context, None]):
    async def get_context(self, request: Request | WebSocket, response: Response | WebSocket) -> Context:
        return Context(request.app.state.pool)


if __name__ == "__main__":
    schema = strawberry.Schema(Query, extensions=[ParserCache, ValidationCache])
    run([Route("/graphql", View(schema))])
