"""Everything that can be computed again, computed again: digests, verdicts, sums and counts."""

import hashlib
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Select,
    Text,
    and_,
    cast,
    func,
    select,
    true,
    tuple_,
    union_all,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from interchange.digests import digest_json
from interchange.discovery import PLAN
from interchange.documents import Undecodable, load_object
from models import Agent, Assessment, Attempt, Case, Defect, DefectRevision, DefectSuite, File, Suite, SuiteAgent
from models import SuiteFile as SuiteFiles
from models import TreeFile as TreeFiles
from models.base import AssessmentStatus, table
from resolvers.judgement import differences

agents, defects, revisions = table(Agent), table(Defect), table(DefectRevision)
suites, suite_agents, cases, attempts = table(Suite), table(SuiteAgent), table(Case), table(Attempt)
assessments, defect_suites = table(Assessment), table(DefectSuite)
files, tree_files, suite_files = table(File), table(TreeFiles), table(SuiteFiles)

ROWS_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True)
class Difference:
    place: str
    code: str
    message: str


class Bytes(Protocol):
    """Where bytes are kept by their digest."""

    async def size(self, digest: str) -> int | None: ...

    def stream(self, digest: str, start: int, end: int) -> AsyncIterator[bytes]: ...


@dataclass(frozen=True, slots=True)
class Check:
    """A statement that answers the place of each row that is not as it should be."""

    places: Select[Any]
    code: str
    message: str


async def verify(connection: AsyncConnection, store: Bytes) -> AsyncIterator[Difference]:
    """What differs, in one state of the database."""
    await connection.execution_options(isolation_level="REPEATABLE READ")
    async with connection.begin():
        for check in _checks():
            rows = await connection.stream(check.places.execution_options(yield_per=ROWS_AT_ONCE))
            async for place in rows.scalars():
                yield Difference(place, check.code, check.message)
        async for difference in _files(connection, store):
            yield difference
        async for difference in _provenance(connection, store):
            yield difference


def _checks() -> Iterator[Check]:
    for which, message in (
        (_revisions(), "ground_truth_sha256 is not the digest of the record"),
        (_results(), "result_sha256 is not the digest of the result"),
        (_records(), "record_sha256 is not the digest of the record"),
    ):
        yield Check(which, "DIGEST_DIFFERS", message)
    yield Check(_verdicts(), "VERDICT_DIFFERS", "the stored status and reason are not those that its ground gives")
    yield Check(_sums(), "SUMS_DIFFER", "the stored sums are not those of the accepted assessments")
    yield Check(_counts(), "COUNTS_DIFFER", "the stored counts of Cases are not those of its slots")


def _is_not_digest_of(digest: ColumnElement[Any], text: ColumnElement[Any]) -> ColumnElement[bool]:
    return digest != func.encode(func.sha256(func.convert_to(cast(text, Text), "UTF8")), "hex")


def _place(*parts: Any) -> ColumnElement[str]:
    return func.concat_ws("/", *(cast(part, Text) for part in parts))


def _revisions() -> Select[Any]:
    return (
        select(_place("agents", agents.c.agent_id, "defects", defects.c.defect_id, revisions.c.revision))
        .select_from(
            revisions.join(defects, defects.c.id == revisions.c.defect_pk).join(
                agents, agents.c.id == defects.c.agent_pk
            )
        )
        .where(_is_not_digest_of(revisions.c.ground_truth_sha256, revisions.c.record))
    )


def _results() -> Select[Any]:
    slot = _place("suites", suites.c.suite_id, cases.c.agent_id, cases.c.case_index, attempts.c.attempt_id)
    return (
        select(slot)
        .select_from(
            attempts.join(cases, cases.c.id == attempts.c.case_pk).join(suites, suites.c.id == cases.c.suite_pk)
        )
        .where(_is_not_digest_of(attempts.c.result_sha256, attempts.c.result))
    )


def _records() -> Select[Any]:
    return _assessments().where(_is_not_digest_of(assessments.c.record_sha256, assessments.c.record))


def _verdicts() -> Select[Any]:
    return _assessments().where(assessments.c.id.in_(differences(true())))


def _assessments() -> Select[Any]:
    claimed = (assessments.c[name] for name in ("agent_id", "case_index", "attempt_id", "defect_id"))
    return select(_place("suites", suites.c.suite_id, *claimed)).join_from(
        assessments, suites, suites.c.id == assessments.c.suite_pk
    )


def _sums() -> Select[Any]:
    case_reproduced, judge_detected = assessments.c.case_reproduced, assessments.c.judge_detected
    meanings: Mapping[str, ColumnElement[bool]] = {
        "accepted": true(),
        "complete": and_(case_reproduced.is_not(None), judge_detected.is_not(None)),
        "reproduced": case_reproduced,
        "not_reproduced": ~case_reproduced,
        "detected": judge_detected,
        "not_detected": ~judge_detected,
        "judged": and_(case_reproduced, judge_detected.is_not(None)),
        "recalled": and_(case_reproduced, judge_detected),
    }
    key = ("defect_pk", "suite_pk")
    counted = (
        select(
            *(assessments.c[name] for name in key),
            *(func.count().filter(meaning).label(name) for name, meaning in meanings.items()),
        )
        .where(assessments.c.status == AssessmentStatus.ACCEPTED)
        .group_by(*(assessments.c[name] for name in key))
        .subquery("counted")
    )
    found, differing = _unlike(defect_suites, counted, key, tuple(meanings))
    defect_pk, suite_pk = (func.coalesce(defect_suites.c[name], counted.c[name]) for name in key)
    return (
        select(_place("agents", agents.c.agent_id, "defects", defects.c.defect_id, "suites", suites.c.suite_id))
        .select_from(
            found.join(defects, defects.c.id == defect_pk)
            .join(agents, agents.c.id == defects.c.agent_pk)
            .join(suites, suites.c.id == suite_pk)
        )
        .where(differing)
    )


def _counts() -> Select[Any]:
    key = ("suite_pk", "agent_id")
    counted = (
        select(
            *(cases.c[name] for name in key),
            func.count().label("case_count"),
            func.count().filter(cases.c.execution_status == "completed").label("completed_case_count"),
        )
        .group_by(*(cases.c[name] for name in key))
        .subquery("counted")
    )
    found, differing = _unlike(suite_agents, counted, key, ("case_count", "completed_case_count"))
    suite_pk, agent_id = (func.coalesce(suite_agents.c[name], counted.c[name]) for name in key)
    return (
        select(_place("suites", suites.c.suite_id, agent_id))
        .select_from(found.join(suites, suites.c.id == suite_pk))
        .where(differing)
    )


def _unlike(
    stored: FromClause, counted: FromClause, key: tuple[str, ...], names: tuple[str, ...]
) -> tuple[FromClause, ColumnElement[bool]]:
    """Stored figures beside counted ones, and where they differ; a missing row is one of zeros."""
    same_key = and_(*(stored.c[name] == counted.c[name] for name in key))
    held, right = ([func.coalesce(row.c[name], 0) for name in names] for row in (stored, counted))
    return stored.join(counted, same_key, full=True), tuple_(*held) != tuple_(*right)


async def _files(connection: AsyncConnection, store: Bytes) -> AsyncIterator[Difference]:
    rows = await connection.stream(select(files.c.sha256, files.c.size).execution_options(yield_per=ROWS_AT_ONCE))
    async for sha256, size in rows:
        place = f"files/{sha256}"
        held = await store.size(sha256)
        if held is None:
            yield Difference(place, "FILE_UNAVAILABLE", "the file store has no such file")
        elif held != size or await _digest(store, sha256, held) != sha256:
            yield Difference(place, "DIGEST_DIFFERS", "the file store holds other bytes under this digest")


async def _digest(store: Bytes, sha256: str, size: int) -> str:
    digest = hashlib.sha256()
    async for chunk in store.stream(sha256, 0, size):
        digest.update(chunk)
    return digest.hexdigest()


async def _provenance(connection: AsyncConnection, store: Bytes) -> AsyncIterator[Difference]:
    of_tree = _plans(tree_files, tree_files.c.tree_id == suites.c.tree_id).where(
        tree_files.c.path == func.concat(suites.c.directory, "/", PLAN)
    )
    of_api = _plans(suite_files, suite_files.c.suite_pk == suites.c.id).where(suite_files.c.path == PLAN)
    for suite_id, provenance, sha256, size in await connection.execute(union_all(of_tree, of_api)):
        if await _provenance_of(store, sha256, size) not in (provenance, None):
            yield Difference(f"suites/{suite_id}", "DIGEST_DIFFERS", "provenance_sha256 is not that of the kept plan")


def _plans(documents: FromClause, belongs: ColumnElement[bool]) -> Select[Any]:
    return (
        select(suites.c.suite_id, suites.c.provenance_sha256, documents.c.sha256, files.c.size)
        .join(documents, belongs)
        .join(files, files.c.sha256 == documents.c.sha256)
        .where(suites.c.fault.is_(None), suites.c.retired_at.is_(None))
    )


async def _provenance_of(store: Bytes, sha256: str, size: int) -> str | None:
    """None where the plan cannot be read back, which its file tells already."""
    if await store.size(sha256) != size:
        return None
    data = b"".join([chunk async for chunk in store.stream(sha256, 0, size)])
    try:
        plan = load_object(data)
    except Undecodable:
        return None
    return digest_json({"agents": plan.get("agents"), "configuration": plan.get("configuration")})
