"""The records of one sidecar into the table of assessments. Whether they count is judged afterwards, with the rest."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, bindparam, func, insert, select, update

from interchange.records import SidecarRecord
from interchange.store.session import Import
from models import Assessment
from models.base import AssessmentStatus, ReasonCode, table
from resolvers.sql import among

assessments = table(Assessment)

Identity = tuple[str, int, str, str]


@dataclass(slots=True)
class _Plan:
    """What becomes of the rows that a tree holds of one Suite."""

    added: list[SidecarRecord]
    # Rows whose words change, and so their version.
    revised: list[tuple[Row[Any], SidecarRecord]]
    # Rows that merely stand elsewhere in the file now.
    moved: list[tuple[Row[Any], SidecarRecord]]
    withdrawn: list[Row[Any]]


async def store_sidecar(session: Import, suite_pk: int, records: Sequence[SidecarRecord]) -> None:
    """Bring what a tree says about one Suite in step; what it no longer holds is withdrawn."""
    rows = await session.connection.execute(
        select(assessments).where(assessments.c.suite_pk == suite_pk, assessments.c.tree_id == session.tree_id)
    )
    plan = _plan(rows.all(), records)
    await _withdraw(session, plan.withdrawn)
    await _move(session, plan.moved)
    await _revise(session, plan.revised)
    await _add(session, suite_pk, plan.added)


def _identity(record: SidecarRecord | Row[Any]) -> Identity:
    return (record.agent_id, record.case_index, record.attempt_id, record.defect_id)


def _plan(rows: Iterable[Row[Any]], records: Sequence[SidecarRecord]) -> _Plan:
    """Pair rows with records: the same words first, then the same identity, those withdrawn last of all.

    A faulty record is never a version of a sound one, so that the history of an Assessment has no gaps.
    """
    plan = _Plan([], [], [], [])
    free: dict[tuple[Identity, bool], list[Row[Any]]] = {}
    for row in sorted(rows, key=lambda row: (row.status == AssessmentStatus.WITHDRAWN, row.id)):
        free.setdefault((_identity(row), row.fault_code is None), []).append(row)
    unpaired = []
    for record in records:
        candidates = free.get((_identity(record), record.fault_code is None), [])
        same = next((row for row in candidates if _is_live(row) and row.record_sha256 == record.digest), None)
        if same is None:
            unpaired.append((record, candidates))
            continue
        candidates.remove(same)
        if (same.sidecar_index, same.fault_step) != (record.index, record.fault_step):
            plan.moved.append((same, record))
    for record, candidates in unpaired:
        if candidates:
            plan.revised.append((candidates.pop(0), record))
        else:
            plan.added.append(record)
    plan.withdrawn = [row for rows in free.values() for row in rows if _is_live(row)]
    return plan


def _is_live(row: Row[Any]) -> bool:
    return bool(row.status != AssessmentStatus.WITHDRAWN)


def _values(session: Import, record: SidecarRecord) -> dict[str, Any]:
    return {
        "ground_truth_sha256": record.ground_truth_sha256,
        "case_sha256": record.case_sha256,
        "result_sha256": record.result_sha256,
        "case_reproduced": record.case_reproduced,
        "judge_detected": record.judge_detected,
        "reviewed_by": record.reviewed_by,
        "reviewed_at": record.reviewed_at,
        "rationale": record.rationale,
        "keeper": session.keeper,
        "tree_id": session.tree_id,
        "record": record.record,
        "record_sha256": record.digest,
        "sidecar_index": record.index,
        "fault_step": record.fault_step,
        "fault_code": record.fault_code,
        "recorded_by": session.actor,
        # Until it is judged, which happens in the same transaction.
        "status": AssessmentStatus.REFUSED,
        "reason": record.fault_code or ReasonCode.UNKNOWN_DEFECT,
        "echo": False,
        "trial": False,
    }


async def _add(session: Import, suite_pk: int, records: Sequence[SidecarRecord]) -> None:
    if not records:
        return
    await session.connection.execute(
        insert(assessments),
        [
            {
                "suite_pk": suite_pk,
                "agent_id": record.agent_id,
                "case_index": record.case_index,
                "attempt_id": record.attempt_id,
                "defect_id": record.defect_id,
                "version": 1,
                **_values(session, record),
            }
            for record in records
        ],
    )


async def _revise(session: Import, revised: Sequence[tuple[Row[Any], SidecarRecord]]) -> None:
    if not revised:
        return
    named: dict[str, Any] = {name: bindparam(f"new_{name}") for name in _values(session, revised[0][1])}
    await session.connection.execute(
        update(assessments)
        .where(assessments.c.id == bindparam("pk"))
        .values(version=assessments.c.version + 1, recorded_at=func.now(), **named),
        [
            {"pk": row.id, **{f"new_{name}": value for name, value in _values(session, record).items()}}
            for row, record in revised
        ],
    )


async def _move(session: Import, moved: Sequence[tuple[Row[Any], SidecarRecord]]) -> None:
    if not moved:
        return
    await session.connection.execute(
        update(assessments)
        .where(assessments.c.id == bindparam("pk"))
        .values(sidecar_index=bindparam("index"), fault_step=bindparam("step"), fault_code=bindparam("code")),
        [
            {"pk": row.id, "index": record.index, "step": record.fault_step, "code": record.fault_code}
            for row, record in moved
        ],
    )


async def _withdraw(session: Import, rows: Sequence[Row[Any]]) -> None:
    if not rows:
        return
    await session.connection.execute(
        update(assessments)
        .where(among(assessments.c.id, [row.id for row in rows]))
        .values(
            status=AssessmentStatus.WITHDRAWN,
            reason=None,
            echo=False,
            version=assessments.c.version + 1,
            recorded_by=session.actor,
            recorded_at=func.now(),
        )
    )
