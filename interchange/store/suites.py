"""Suites with their slots and Attempts, from a tree's records into the tables."""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    FromClause,
    Integer,
    Row,
    Text,
    and_,
    delete,
    exists,
    func,
    insert,
    select,
    update,
)

from interchange.decisions import check_claims
from interchange.records import AttemptRecord, SuiteFault, SuiteRecord
from interchange.store.assessments import store_sidecar
from interchange.store.faults import mark_faulty
from interchange.store.session import Import
from interchange.store.staging import drop, merge, stage
from models import Assessment, Attempt, Case, Suite, SuiteAgent, SuiteFile
from models.base import AssessmentStatus, ReasonCode, table
from resolvers.sql import among, not_among

suites, suite_agents, cases, attempts = table(Suite), table(SuiteAgent), table(Case), table(Attempt)
assessments, suite_files = table(Assessment), table(SuiteFile)

SLOT = ("suite_pk", "agent_id", "case_index")
CASE_VALUES = (
    "case_id",
    "artifact_path",
    "artifact_sha256",
    "artifact_fault",
    "artifact_file",
    "execution_status",
    "origin",
)
ATTEMPT_VALUES = (
    "attempt_number",
    "execution_status",
    "judge_status",
    "report",
    "has_report",
    "result",
    "result_sha256",
    "host_acceptance",
    "evidence_status",
    "host_trace_validation",
    "error",
    "refusal",
    "started_at",
    "finished_at",
)


async def store_suites(
    session: Import, records: Sequence[SuiteRecord], faults: Sequence[SuiteFault]
) -> list[SuiteRecord]:
    """Bring the Suites of a tree in step: a faulty one is left out, one that is gone is retired; answers what is kept.

    What the sidecar of a Suite that the API keeps says is no part of this: people decide through the API.
    """
    kept = []
    standing = await _standing(session, records)
    for record in records:
        row = standing.get(record.suite_id)
        if row is None or row.retired_at is not None or session.keeps(row.tree_id):
            await store_suite(session, record, row)
            kept.append(record)
        elif not await _is_equal(session, record, row):
            session.leave("This Suite", row.tree_id, suite_id=record.suite_id)
    sound = {record.suite_id for record in records}
    faulty = await mark_faulty(session, faults, sound)
    await _retire(session, sound | faulty)
    return kept


async def _standing(session: Import, records: Sequence[SuiteRecord]) -> dict[str, Row[Any]]:
    names = [record.suite_id for record in records]
    rows = await session.connection.execute(select(suites).where(among(suites.c.suite_id, names)))
    return {row.suite_id: row for row in rows}


async def _is_equal(session: Import, record: SuiteRecord, row: Row[Any]) -> bool:
    """Whether another keeper's Suite is this one. Of an API's, the sidecar may say what stands there, and no more."""
    if row.tree_id is not None:
        return bool(row.content_sha256 == record.content_sha256)
    if row.content_sha256 != record.ground_sha256:
        return False
    verdicts = await check_claims(session.connection, record.suite_id, record.sidecar)
    return all(verdict.code is None and not verdict.created for verdict in verdicts)


def _content(session: Import, record: SuiteRecord) -> str:
    """What people decide is no part of a Suite that the API keeps."""
    return record.ground_sha256 if session.tree_id is None else record.content_sha256


def _values(session: Import, record: SuiteRecord) -> dict[str, Any]:
    source = record.source
    return {
        "state": record.state,
        "provenance": record.provenance,
        "provenance_sha256": record.provenance_sha256,
        "origin_suite_id": record.origin_suite_id,
        "source_status": source.status,
        "sdk": source.sdk,
        "sdks": source.sdks,
        "configured_sdk": source.configured_sdk,
        "provider_modes": source.provider_modes,
        "evidence": source.evidence,
        "evaluator": source.evaluator,
        "keeper": session.keeper,
        "tree_id": session.tree_id,
        "directory": record.directory,
        "content_sha256": _content(session, record),
        "fault": None,
        "created_at": record.created_at,
        "retired_at": None,
    }


async def store_suite(session: Import, record: SuiteRecord, row: Row[Any] | None) -> int:
    pk = await _store_ground(session, record, row)
    if session.tree_id is None:
        await _keep_documents(session, pk, record)
    elif row is None or row.content_sha256 != record.content_sha256 or row.retired_at is not None:
        await store_sidecar(session, pk, record.sidecar)
    return pk


async def _store_ground(session: Import, record: SuiteRecord, row: Row[Any] | None) -> int:
    values = _values(session, record)
    if row is None:
        added = insert(suites).values(suite_id=record.suite_id, **values).returning(suites.c.id)
        pk = int((await session.connection.execute(added)).scalar_one())
    elif all(row._mapping[name] == value for name, value in values.items()):
        return int(row.id)
    else:
        pk = int(row.id)
        await session.connection.execute(
            update(suites).where(suites.c.id == pk).values(imported_at=func.now(), **values)
        )
    session.touched_suites.add(pk)
    if row is None or row.content_sha256 != values["content_sha256"]:
        await _store_slots(session, pk, record)
    return pk


async def _keep_documents(session: Import, pk: int, record: SuiteRecord) -> None:
    """No tree holds them, so that an export has them from here."""
    start = f"{record.directory}/" if record.directory else ""
    now = {document.path.removeprefix(start): document.sha256 for document in record.documents}
    of_suite = suite_files.c.suite_pk == pk
    rows = await session.connection.execute(select(suite_files.c.path, suite_files.c.sha256).where(of_suite))
    if {row.path: row.sha256 for row in rows} == now:
        return
    await session.connection.execute(delete(suite_files).where(of_suite))
    kept = [{"suite_pk": pk, "path": path, "sha256": sha256} for path, sha256 in now.items()]
    await session.connection.execute(insert(suite_files), kept)


async def _store_slots(session: Import, pk: int, record: SuiteRecord) -> None:
    connection = session.connection
    agents = await stage(
        connection,
        suite_agents,
        ("suite_pk", "agent_id", "position", "source_sha256", "case_count", "completed_case_count"),
        (
            (pk, agent.agent_id, position, agent.source_sha256, agent.case_count, agent.completed_case_count)
            for position, agent in enumerate(record.agents)
        ),
    )
    slots = await stage(connection, cases, (*SLOT, *CASE_VALUES), _case_rows(pk, record))
    tries = await stage(
        connection,
        attempts,
        ("attempt_id", "position", *ATTEMPT_VALUES),
        _attempt_rows(pk, record),
        Column("suite_pk", BigInteger),
        Column("agent_id", Text),
        Column("case_index", Integer),
    )
    of_suite = cases.c.suite_pk == pk
    await _unbind_lost_attempts(session, pk, tries)
    await merge(connection, suite_agents, agents, ("suite_pk", "agent_id"), suite_agents.c.suite_pk == pk)
    await merge(connection, cases, slots, SLOT, of_suite)
    found = select(cases.c.id.label("case_pk"), *(c for c in tries.c if c.name not in SLOT)).join(
        tries, and_(of_suite, cases.c.agent_id == tries.c.agent_id, cases.c.case_index == tries.c.case_index)
    )
    within = attempts.c.case_pk.in_(select(cases.c.id).where(of_suite))
    await merge(connection, attempts, found.subquery("found"), ("case_pk", "attempt_id"), within)
    await drop(connection, agents, slots, tries)


def _case_rows(pk: int, record: SuiteRecord) -> Iterator[tuple[Any, ...]]:
    for slot in record.slots:
        yield (
            pk,
            slot.agent_id,
            slot.case_index,
            slot.case_id,
            slot.artifact_path,
            slot.artifact_sha256,
            slot.artifact_fault,
            slot.artifact and slot.artifact.sha256,
            slot.execution_status,
            slot.origin,
        )


def _attempt_rows(pk: int, record: SuiteRecord) -> Iterator[tuple[Any, ...]]:
    for slot in record.slots:
        for position, attempt in enumerate(slot.attempts):
            yield (pk, slot.agent_id, slot.case_index, attempt.attempt_id, position, *_attempt_values(attempt))


def _attempt_values(attempt: AttemptRecord) -> Iterator[Any]:
    return (getattr(attempt, name) for name in ATTEMPT_VALUES)


async def _unbind_lost_attempts(session: Import, pk: int, tries: FromClause) -> None:
    """A decision about an Attempt that is going away stops counting before it goes."""
    held = and_(
        tries.c.agent_id == assessments.c.agent_id,
        tries.c.case_index == assessments.c.case_index,
        tries.c.attempt_id == assessments.c.attempt_id,
    )
    await session.connection.execute(
        update(assessments)
        .where(
            assessments.c.suite_pk == pk,
            assessments.c.attempt_pk.is_not(None),
            assessments.c.status != AssessmentStatus.WITHDRAWN,
            ~exists(select(tries.c.attempt_id).where(held)),
        )
        .values(status=AssessmentStatus.REFUSED, reason=ReasonCode.UNKNOWN_ATTEMPT, echo=False, attempt_pk=None)
    )


async def _retire(session: Import, present: set[str]) -> None:
    if session.tree_id is None:
        return
    gone = await session.connection.execute(
        update(suites)
        .where(
            suites.c.tree_id == session.tree_id,
            suites.c.retired_at.is_(None),
            not_among(suites.c.suite_id, sorted(present)),
        )
        .values(retired_at=func.now())
        .returning(suites.c.id)
    )
    for pk in gone.scalars().all():
        session.touched_suites.add(pk)
        await store_sidecar(session, pk, [])
