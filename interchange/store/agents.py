"""Agents and their defects, from a tree's records into the tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Row, and_, bindparam, func, insert, select, update

from interchange.records import AgentRecord, DefectRecord
from interchange.store.session import Import
from models import Agent, Defect, DefectRevision, Observation
from models.base import ManifestState, table
from resolvers.sql import among, not_among

agents, defects, revisions, observations = table(Agent), table(Defect), table(DefectRevision), table(Observation)


async def store_agents(session: Import, records: Sequence[AgentRecord]) -> None:
    """Bring the agents of a readable registry in step; those that it no longer names are retired."""
    standing = await _standing(session, records)
    ours: list[AgentRecord] = []
    for record in records:
        row = standing.get(record.agent_id)
        if row is None or row.retired_at is not None or session.keeps(row.tree_id):
            ours.append(record)
        elif await _differs(session, record, row):
            session.leave("This agent", row.tree_id, agent_id=record.agent_id)
    await _store_defects(session, await _store_values(session, ours, standing))
    await _retire(session, {record.agent_id for record in records})


async def hide_agents(session: Import) -> None:
    """While a tree's registry cannot be read, none of its agents is known, and none is gone."""
    hidden = await session.connection.execute(
        update(agents)
        .where(agents.c.tree_id == session.tree_id, agents.c.listed, agents.c.retired_at.is_(None))
        .values(listed=False, updated_at=func.now())
        .returning(agents.c.agent_id)
    )
    session.touched_agents.update(hidden.scalars())


async def _standing(session: Import, records: Sequence[AgentRecord]) -> dict[str, Row[Any]]:
    names = [record.agent_id for record in records]
    rows = await session.connection.execute(select(agents).where(among(agents.c.agent_id, names)))
    return {row.agent_id: row for row in rows}


def _values(session: Import, record: AgentRecord) -> dict[str, Any]:
    return {
        "name": record.name,
        "framework": record.framework,
        "source_sha256": record.source_sha256,
        "keeper": session.keeper,
        "tree_id": session.tree_id,
        "unit_path": record.unit_path,
        "manifest_state": record.manifest_state,
        "manifest_head": record.head,
        "description_sha256": record.description and record.description.sha256,
        "manifest_sha256": record.manifest and record.manifest.sha256,
        "listed": True,
        "retired_at": None,
    }


async def _store_values(
    session: Import, records: Sequence[AgentRecord], standing: Mapping[str, Row[Any]]
) -> list[tuple[int, AgentRecord]]:
    """Write what is new or differs; answers all of them by their keys."""
    new = [record for record in records if record.agent_id not in standing]
    known = [(standing[record.agent_id], record) for record in records if record.agent_id in standing]
    changed = [(row, record) for row, record in known if _is_changed(row, _values(session, record))]
    session.touched_agents.update(record.agent_id for record in (*new, *(record for _, record in changed)))
    await _change(session, changed)
    return [(int(row.id), record) for row, record in known] + await _add(session, new)


def _is_changed(row: Row[Any], values: Mapping[str, Any]) -> bool:
    return any(row._mapping[name] != value for name, value in values.items())


async def _change(session: Import, changed: Sequence[tuple[Row[Any], AgentRecord]]) -> None:
    if not changed:
        return
    named: dict[str, Any] = {name: bindparam(f"new_{name}") for name in _values(session, changed[0][1])}
    await session.connection.execute(
        update(agents).where(agents.c.id == bindparam("pk")).values(updated_at=func.now(), **named),
        [
            {"pk": row.id, **{f"new_{name}": value for name, value in _values(session, record).items()}}
            for row, record in changed
        ],
    )


async def _add(session: Import, new: Sequence[AgentRecord]) -> list[tuple[int, AgentRecord]]:
    if not new:
        return []
    keys = await session.connection.execute(
        insert(agents).returning(agents.c.id, sort_by_parameter_order=True),
        [{"agent_id": record.agent_id, **_values(session, record)} for record in new],
    )
    return list(zip((int(key) for key in keys.scalars()), new, strict=True))


async def _differs(session: Import, record: AgentRecord, row: Row[Any]) -> bool:
    """Whether another keeper's agent holds anything else than this record."""
    if (row.name, row.framework, row.manifest_state) != (record.name, record.framework, record.manifest_state):
        return True
    rows = await session.connection.execute(
        select(defects.c.defect_id, defects.c.ground_truth_sha256).where(
            defects.c.agent_pk == row.id, defects.c.retired_at.is_(None)
        )
    )
    return {tuple(held) for held in rows} != {(held.defect_id, held.ground_truth_sha256) for held in record.defects}


@dataclass(frozen=True, slots=True)
class Written:
    """A defect to write: `held` is its row where it has one already."""

    agent: AgentRecord
    agent_pk: int
    record: DefectRecord
    position: int
    held: Row[Any] | None

    @property
    def renewed(self) -> bool:
        held = self.held
        return (
            held is None or held.retired_at is not None or held.ground_truth_sha256 != self.record.ground_truth_sha256
        )

    @property
    def revision(self) -> int:
        return 1 if self.held is None else int(self.held.revision) + self.renewed


async def _store_defects(session: Import, kept: Sequence[tuple[int, AgentRecord]]) -> None:
    """An invalid manifest hides its defects without retiring them, so they stay as they are."""
    readable = [(pk, record) for pk, record in kept if record.manifest_state != ManifestState.INVALID]
    rows = await session.connection.execute(
        select(defects).where(among(defects.c.agent_pk, (pk for pk, _ in readable)))
    )
    standing = {(row.agent_pk, row.defect_id): row for row in rows}
    written = [
        Written(agent, pk, record, position, standing.pop((pk, record.defect_id), None))
        for pk, agent in readable
        for position, record in enumerate(agent.defects)
    ]
    written = [defect for defect in written if _is_ours(session, defect) and is_news(session, defect)]
    session.touched_agents.update(defect.agent.agent_id for defect in written)
    await store_revisions(session, await store_values(session, written))
    names = {pk: agent.agent_id for pk, agent in readable}
    await _retire_defects(session, [(names[pk], row) for (pk, _), row in standing.items()])


def _is_ours(session: Import, defect: Written) -> bool:
    held = defect.held
    if held is None or held.retired_at is not None or session.keeps(held.tree_id):
        return True
    if defect.renewed:
        session.leave(f"Defect {defect.record.defect_id}", held.tree_id, agent_id=defect.agent.agent_id)
    return False


def is_news(session: Import, defect: Written) -> bool:
    return defect.held is None or _is_changed(defect.held, _defect_values(session, defect))


async def store_values(session: Import, written: Sequence[Written]) -> list[tuple[int, Written]]:
    """Write the present state of defects; answers those that need a new revision, by their keys."""
    new = [defect for defect in written if defect.held is None]
    changed = [(int(defect.held.id), defect) for defect in written if defect.held is not None]
    if changed:
        named: dict[str, Any] = {name: bindparam(f"new_{name}") for name in _defect_values(session, changed[0][1])}
        await session.connection.execute(
            update(defects).where(defects.c.id == bindparam("pk")).values(**named),
            [
                {"pk": pk, **{f"new_{name}": value for name, value in _defect_values(session, defect).items()}}
                for pk, defect in changed
            ],
        )
    added: list[tuple[int, Written]] = []
    if new:
        keys = await session.connection.execute(
            insert(defects).returning(defects.c.id, sort_by_parameter_order=True),
            [
                {"agent_pk": defect.agent_pk, "defect_id": defect.record.defect_id, **_defect_values(session, defect)}
                for defect in new
            ],
        )
        added = list(zip(keys.scalars(), new, strict=True))
    return added + [(pk, defect) for pk, defect in changed if defect.renewed]


def _defect_values(session: Import, defect: Written) -> dict[str, Any]:
    record = defect.record
    return {
        "revision": defect.revision,
        "position": defect.position,
        "title": record.title,
        "expected_behavior": record.expected_behavior,
        "observed_behavior": record.observed_behavior,
        "confirmed_by": record.confirmed_by,
        "confirmed_at": record.confirmed_at,
        "source_sha256": record.source_sha256,
        "case_sha256": record.case_sha256,
        "ground_truth_sha256": record.ground_truth_sha256,
        "extra": record.extra,
        "keeper": session.keeper,
        "tree_id": session.tree_id,
        "retired_at": None,
    }


async def store_revisions(session: Import, renewed: Sequence[tuple[int, Written]]) -> None:
    if not renewed:
        return
    added = await session.connection.execute(
        insert(revisions).returning(revisions.c.id, sort_by_parameter_order=True),
        [
            {
                "defect_pk": pk,
                "revision": defect.revision,
                "ground_truth_sha256": defect.record.ground_truth_sha256,
                "record": defect.record.record,
                "recorded_by": session.actor,
            }
            for pk, defect in renewed
        ],
    )
    await session.connection.execute(
        insert(observations),
        [
            {
                "revision_pk": revision_pk,
                "position": position,
                "observation_id": observation.observation_id,
                "case_sha256": observation.case_sha256,
                "evidence_path": observation.evidence_path,
                "evidence_sha256": observation.evidence_sha256,
            }
            for revision_pk, (_, defect) in zip(added.scalars(), renewed, strict=True)
            for position, observation in enumerate(defect.record.observations)
        ],
    )


async def _retire_defects(session: Import, unnamed: Sequence[tuple[str, Row[Any]]]) -> None:
    """Defects that the manifest no longer names; only a tree retires what it kept."""
    gone = [(name, row) for name, row in unnamed if row.retired_at is None and row.tree_id is not None]
    gone = [(name, row) for name, row in gone if session.keeps(row.tree_id)]
    session.touched_agents.update(name for name, _ in gone)
    await _set_retired(session, among(defects.c.id, (row.id for _, row in gone)))


async def _retire(session: Import, named: set[str]) -> None:
    """What a tree no longer holds is retired; what the API keeps stays until someone retires it there."""
    if session.tree_id is None:
        return
    gone = await session.connection.execute(
        update(agents)
        .where(
            agents.c.tree_id == session.tree_id,
            agents.c.retired_at.is_(None),
            not_among(agents.c.agent_id, sorted(named)),
        )
        .values(retired_at=func.now(), updated_at=func.now())
        .returning(agents.c.id, agents.c.agent_id)
    )
    retired = gone.all()
    session.touched_agents.update(row.agent_id for row in retired)
    await _set_retired(
        session,
        and_(defects.c.tree_id == session.tree_id, among(defects.c.agent_pk, (row.id for row in retired))),
    )


async def _set_retired(session: Import, which: ColumnElement[bool]) -> None:
    await session.connection.execute(
        update(defects).where(which, defects.c.retired_at.is_(None)).values(retired_at=func.now())
    )
