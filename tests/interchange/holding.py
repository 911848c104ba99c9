"""A database with its files, written to as an import and as the API would."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from obstore.store import MemoryStore
from sqlalchemy import delete, literal_column, select, text, union_all
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlmodel import SQLModel

from interchange.export import Exported, export
from interchange.imports import Imported, adopt, import_tree, read
from models import Agent, Assessment, Attempt, Case, Defect, File, Suite
from models.assessments import IDENTITY
from models.base import AssessmentStatus, table
from resolvers import recording
from resolvers.acting import Acting
from resolvers.decisions import Decision
from resolvers.documents import overview_document
from resolvers.findings import Finding, Repetition
from resolvers.judgement import VALUES
from resolvers.recording import Outcome
from resolvers.review import queue
from server.files import FileStore
from tests.interchange.building import SOURCE, sha256

agents, defects, suites, cases, attempts = table(Agent), table(Defect), table(Suite), table(Case), table(Attempt)
assessments, files = table(Assessment), table(File)

CASE = sha256(b"a case that a person repeated")
REVIEWED_AT = datetime(2026, 11, 1, 9, 30, 0, 123456, tzinfo=UTC)


@dataclass
class Holding:
    connection: AsyncConnection
    files: FileStore = field(default_factory=lambda: FileStore(MemoryStore()))

    async def clear(self) -> None:
        """Without triggers and foreign keys; truncating so many tables would take longer than most tests."""
        async with self.connection.begin():
            await self.connection.execute(text("SET LOCAL session_replication_role = 'replica'"))
            for emptied in SQLModel.metadata.sorted_tables:
                await self.connection.execute(delete(emptied))

    async def take(self, root: Path, name: str = "tree") -> Imported:
        return await import_tree(self.connection, root, name, batch=self.files.batch)

    async def adopt(self, root: Path) -> Imported:
        return await adopt(self.connection, await read(root.resolve(), self.files.batch), actor="ann")  # noqa: ASYNC240

    async def write(self, root: Path, name: str | None = None, *only: str) -> Exported:
        return await export(self.connection, self.files, root, tree=name, only=only)

    @asynccontextmanager
    async def acting(self, actor: str = "reviewer-9") -> AsyncIterator[Acting]:
        async with self.connection.begin():
            yield Acting(self.connection, actor)

    async def send(self, data: bytes) -> str:
        """As POST /files does."""

        async def chunks() -> AsyncIterator[bytes]:
            yield data

        stored = await self.files.put(chunks())
        async with self.connection.begin():
            row = insert(files).values(sha256=stored.sha256, size=stored.size).on_conflict_do_nothing()
            await self.connection.execute(row)
        return stored.sha256

    async def finding(self, name: str = "new", *, source: str = SOURCE, **changes: Any) -> Finding:
        """A defect that somebody confirmed, its evidence sent before."""
        runs = [Repetition(f"run-{n}", CASE, f"observations/{name}/run-{n}.zip", "") for n in range(2)]
        sent = [await self.send(f"{name} {n}".encode()) for n in range(2)]
        observations = [
            Repetition(run.observation_id, CASE, run.evidence_path, digest)
            for run, digest in zip(runs, sent, strict=True)
        ]
        values: dict[str, Any] = {
            "title": f"Forgets the {name} é",
            "expected_behavior": "Keeps it",
            "observed_behavior": "Loses it",
            "confirmed_by": "reviewer-9",
            "confirmed_at": REVIEWED_AT,
            "source_sha256": source,
            "case_sha256": CASE,
            "observations": observations,
            "extra": {"severity": 1e5, "note": "kept"},
        }
        return Finding(**{**values, **changes})

    async def decide(self, *decisions: Decision) -> list[Outcome]:
        async with self.acting() as acting:
            return await recording.record(acting, decisions)

    async def waiting(self) -> list[Decision]:
        """A decision about each pair that waits for one."""
        pairs = queue().subquery("pairs")
        found = (
            select(pairs.c.suite_id, pairs.c.agent_id, cases.c.case_index, attempts.c.attempt_id, defects.c.defect_id)
            .add_columns(defects.c.ground_truth_sha256, cases.c.artifact_sha256, attempts.c.result_sha256)
            .select_from(pairs)
            .join(attempts, attempts.c.id == pairs.c.attempt_pk)
            .join(cases, cases.c.id == attempts.c.case_pk)
            .join(defects, defects.c.id == pairs.c.defect_pk)
            .order_by(pairs.c.suite_id, attempts.c.id, defects.c.id)
        )
        words: tuple[Any, ...] = (True, None, "reviewer-9", REVIEWED_AT, "Ran it again: é.")
        return [Decision(*row, *words) for row in await self.rows(found)]

    async def rows(self, query: Any) -> list[Any]:
        async with self.connection.begin():
            return [tuple(row) for row in await self.connection.execute(query)]

    async def accepted(self) -> set[Any]:
        columns = (suites.c.suite_id, *(assessments.c[name] for name in (*IDENTITY[1:], *VALUES)))
        standing = assessments.c.status == AssessmentStatus.ACCEPTED
        return set(await self.rows(select(*columns).join_from(assessments, suites).where(standing)))

    async def versions(self) -> list[Any]:
        """Every row with the transaction that wrote it last: the same as long as nothing was written."""
        written: list[Any] = [
            select(
                literal_column(f"'{t.name}'"),
                literal_column("ctid::text").label("place"),
                literal_column("xmin::text").label("writer"),
            ).select_from(t)
            for t in SQLModel.metadata.sorted_tables
        ]
        return await self.rows(union_all(*written).order_by(text("1, 2")))

    async def overview(self) -> Any:
        """Warnings apart."""
        [(document,)] = await self.rows(overview_document())
        found = json.loads(document)
        for part in (found, found["ground_truth"]):
            del part["warnings"]
        return found


def bytes_of(root: Path) -> dict[str, bytes]:
    """The files below a directory, which need not be there."""
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}
