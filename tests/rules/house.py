"""A database with a tree's ground truth, and people who change it through mutations."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import orjson
from graphql import GraphQLUnionType
from obstore.store import MemoryStore
from sqlalchemy import delete, func, insert, literal_column, select, text, true, union_all
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlmodel import SQLModel
from starlette.requests import Request
from strawberry.types import ExecutionResult
from strawberry.utils.str_converters import capitalize_first

from interchange.imports import Imported, import_tree
from interchange.verify import verify
from models import File
from models.base import Role, table
from resolvers.access import LOCAL, Viewer
from resolvers.judgement import differences
from schema.build import Schema, build
from server.context import Context
from server.database import connected
from server.files import FileStore, file_store
from server.services import Services, services
from server.settings import Settings
from tests.interchange.building import sha256

Answer = dict[str, Any]

ANN = Viewer("ann", Role.ADMIN)
BEN = Viewer("ben", Role.REVIEWER)

ASSESSMENT = "id version status reason caseReproduced judgeDetected rationale groundTruthSha256"
WARNING = "code message agentId suiteId assessmentIndex"
DEFECT = "id groundTruthSha256 revision status retiredAt keeper"
SELECTED: Mapping[str, str] = {
    # Some codes can be null, and one name has one type in an answer.
    "InvalidInput": "message path fault: code",
    "NotFound": "message path",
    "Forbidden": "message required",
    "Duplicate": "message existing { __typename id }",
    "Conflict": f"message currentVersion existing {{ __typename id ... on Assessment {{ {ASSESSMENT} }} }}",
    "Refused": "message code subject { __typename id }",
    "RegisterAgentPayload": "agent { id agentId name framework keeper retiredAt groundTruth { status } }",
    "ConfirmDefectPayload": f"created defect {{ {DEFECT} }}",
    "ReviseDefectPayload": f"unboundAssessments defect {{ {DEFECT} }}",
    "RetireDefectPayload": f"defect {{ {DEFECT} }}",
    "RecordAssessmentPayload": f"created assessment {{ {ASSESSMENT} }}",
    "RecordAssessmentsPayload": "created unchanged refused outcomes { index created code message"
    f" assessment {{ {ASSESSMENT} }} conflict {{ {ASSESSMENT} }} }}",
    "ReviseAssessmentPayload": f"assessment {{ {ASSESSMENT} }}",
    "WithdrawAssessmentPayload": f"assessment {{ {ASSESSMENT} }}",
    "ClaimReviewPayload": "item { claimedBy claimedUntil defect { id } attempt { id } assessment { id } }",
    "ReleaseReviewPayload": "item { claimedBy claimedUntil defect { id } attempt { id } }",
    "ImportManifestPayload": "created revised unchanged retired agent { agentId groundTruth { status defectCount } }",
    "ImportSuitePayload": f"created accepted suite {{ suiteId keeper state caseCount }} warnings {{ {WARNING} }}",
    "ImportAssessmentsPayload": f"accepted unchanged suite {{ suiteId }} warnings {{ {WARNING} }}",
    "FreezeDiscoveryProtocolPayload": "protocol { id name budgetCases trials }",
    "AddTrialSuitePayload": "protocol { id trialSuites { trial evaluator suite { suiteId } } }",
}


@cache
def schema() -> Schema:
    return build()


@cache
def operation(mutation: str) -> str:
    """A mutation that asks for everything a person would want to know of its outcome."""
    name = capitalize_first(mutation)
    union = cast(GraphQLUnionType, schema()._schema.get_type(f"{name}Result"))
    members = " ".join(f"... on {member.name} {{ {SELECTED[member.name]} }}" for member in union.types)
    return f"mutation M($input: {name}Input!) {{ {mutation}(input: $input) {{ __typename {members} }} }}"


@dataclass
class House:
    services: Services
    files: FileStore = field(default_factory=lambda: FileStore(MemoryStore()))

    async def answer(self, query: str, viewer: Viewer = LOCAL, **variables: Any) -> ExecutionResult:
        app = SimpleNamespace(state=SimpleNamespace(files=self.files))
        context = Context(Request({"type": "http", "app": app}), self.services, viewer)
        return await schema().execute(query, variable_values=variables, context_value=context)

    async def ask(self, query: str, viewer: Viewer = LOCAL, **variables: Any) -> Answer:
        answer = await self.answer(query, viewer, **variables)
        assert answer.errors is None, answer.errors
        return cast(Answer, json.loads(orjson.dumps(answer.data)))

    async def act(self, mutation: str, given: Any, viewer: Viewer = ANN) -> Answer:
        return cast(Answer, (await self.ask(operation(mutation), viewer, input=given))[mutation])

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[AsyncConnection]:
        async with self.services.database.engine.connect() as connection:
            yield connection

    async def take(self, root: Path, name: str = "tree") -> Imported:
        async with self.connection() as connection:
            return await import_tree(connection, root, name, batch=self.files.batch)

    async def execute(self, statement: Any) -> list[Any]:
        async with self.services.database.engine.begin() as connection:
            result = await connection.execute(text(statement) if isinstance(statement, str) else statement)
            return [tuple(row) for row in result] if result.returns_rows else []

    async def keep(self, *bodies: bytes) -> list[str]:
        """Files that were sent, by their digests."""
        with self.files.batch() as keep:
            for body in bodies:
                keep(sha256(body), BytesIO(body))
        sent: list[dict[str, Any]] = [{"sha256": sha256(body), "size": len(body)} for body in bodies]
        await self.execute(insert(table(File)).values(sent))
        return [file["sha256"] for file in sent]

    async def send(self, body: bytes) -> str:
        """A file that was sent, with its bytes."""

        async def chunks() -> AsyncIterator[bytes]:
            yield body

        stored = await self.files.put(chunks())
        await self.execute(upsert(table(File)).values(sha256=stored.sha256, size=stored.size).on_conflict_do_nothing())
        return stored.sha256

    async def clear(self) -> None:
        """Without triggers and foreign keys; truncating so many tables would take longer than most tests."""
        async with self.services.database.engine.begin() as connection:
            await connection.execute(text("SET LOCAL session_replication_role = 'replica'"))
            for emptied in SQLModel.metadata.sorted_tables:
                await connection.execute(delete(emptied))

    async def image(self, *, besides: str = "") -> dict[str, str]:
        """What stands in every table."""
        marks = (
            select(literal_column(f"'{kept.name}'"), func.md5(func.string_agg(row.c.row, text("'' ORDER BY row"))))
            for kept in SQLModel.metadata.sorted_tables
            if kept.name != besides
            for row in [select(literal_column(f"{kept.name}::text").label("row")).select_from(kept).subquery()]
        )
        return dict(await self.execute(union_all(*marks)))

    async def assert_sound(self) -> None:
        """Every verdict and every sum is the one that its ground gives."""
        assert await self.execute(differences(true())) == []
        async with self.connection() as connection:
            found = [difference async for difference in verify(connection, self.files)]
        assert not found, found


@asynccontextmanager
async def house(dsn: str, directory: Path, **settings: Any) -> AsyncIterator[House]:
    chosen = Settings(**{"data_dir": directory, "worker": False, **settings})
    async with connected(dsn, chosen) as database, services(database, dsn, file_store(chosen), chosen) as running:
        yield House(running)
