"""A manifest that came through the API: its defects become the API's."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, and_, func, select, update

from interchange.agents import MANIFEST
from interchange.documents import Object
from interchange.manifests import Manifest, defects_of, manifest_at
from interchange.reading import Fault, Place
from interchange.records import AgentRecord, DefectRecord
from interchange.sources import GROUND_TRUTH
from interchange.store.agents import Written, is_news, store_revisions, store_values
from interchange.store.session import Import
from interchange.uploads import Store, StoredEvidence, document, refusal, sizes_of
from models import Agent, Assessment, Defect, DefectRevision, Observation
from models.base import Keeper, ManifestState, ReasonCode, table
from resolvers.acting import OVERVIEW, Acting
from resolvers.confirming import locked_agent, next_position
from resolvers.errors import Refused, Subject
from resolvers.forms import MOST_RECORDS, objects, sha256
from resolvers.judgement import judge
from resolvers.sql import among

agents, defects, revisions, observations = table(Agent), table(Defect), table(DefectRevision), table(Observation)
assessments = table(Assessment)

PLACE = Place(GROUND_TRUTH, MANIFEST)
PATH = ("file_sha256",)


@dataclass(frozen=True, slots=True)
class ManifestImport:
    agent_pk: int
    created: int
    revised: int
    unchanged: int
    retired: int


async def take_manifest(acting: Acting, store: Store, agent_id: str, digest: str, *, replace: bool) -> ManifestImport:
    """Confirm and revise what the manifest says; `replace` retires what the API keeps and it no longer names."""
    agent = await locked_agent(acting, agent_id)
    manifest = await _read(acting, await document(acting.connection, store, digest, PATH), agent_id)
    standing = await _standing(acting, agent)
    written = await _written(acting, agent, manifest, standing)
    gone = _unnamed(manifest, standing) if replace else []
    _require_room(agent, manifest, standing, gone)
    await _require_own_evidence(acting, agent, manifest, gone)
    session = Import(acting.connection, None, acting.actor)
    news = [defect for defect in written if is_news(session, defect)]
    await store_revisions(session, await store_values(session, news))
    await _retire(acting, gone)
    await _describe(acting, agent, manifest, digest)
    await judge(acting.connection, assessments.c.agent_id == agent_id)
    acting.topics.add(OVERVIEW)
    created = sum(defect.held is None or defect.held.retired_at is not None for defect in written)
    revised = sum(defect.renewed for defect in written) - created
    return ManifestImport(agent.id, created, revised, len(manifest.defects) - created - revised, len(gone))


async def _read(acting: Acting, data: bytes, agent_id: str) -> Manifest:
    try:
        document = await asyncio.to_thread(manifest_at, PLACE, data, agent_id)
        evidence = StoredEvidence(await sizes_of(acting.connection, _named_evidence(document)))
        return await asyncio.to_thread(defects_of, evidence, PLACE, document)
    except Fault as fault:
        raise refusal(fault, PATH) from fault


def _named_evidence(document: Object) -> set[str]:
    records = (record for defect in document["defects"] for record in objects(defect.get("observations")) or ())
    return {digest for record in records if (digest := sha256(record.get("evidence_sha256")))}


async def _standing(acting: Acting, agent: Row[Any]) -> dict[str, Row[Any]]:
    """All defects of the agent, retired ones too: a row keeps its id for ever."""
    rows = await acting.connection.execute(select(defects).where(defects.c.agent_pk == agent.id).with_for_update())
    return {row.defect_id: row for row in rows}


async def _written(acting: Acting, agent: Row[Any], manifest: Manifest, standing: dict[str, Row[Any]]) -> list[Written]:
    """What the API is to write: equal ones that a tree keeps stay the tree's."""
    record = AgentRecord(agent.agent_id, agent.name, None, None, None, ManifestState.VALID)
    first = 0 if agent.keeper == Keeper.API else await next_position(acting, agent)
    written = []
    for number, defect in enumerate(manifest.defects):
        held = standing.get(defect.defect_id)
        position = first + number if held is None or agent.keeper == Keeper.API else held.position
        candidate = Written(record, agent.id, defect, position, held)
        if not _is_tree_owned(held):
            written.append(candidate)
        elif candidate.renewed:
            raise _owned(agent, defect, held)
    return written


def _is_tree_owned(held: Row[Any] | None) -> bool:
    return held is not None and held.retired_at is None and held.keeper == Keeper.TREE


def _owned(agent: Row[Any], defect: DefectRecord, held: Row[Any] | None) -> Refused:
    message = (
        f"A project tree keeps the defect {defect.defect_id} with another record: "
        f"change it in {agent.unit_path}/{GROUND_TRUTH}/{MANIFEST} there."
    )
    return Refused(message, ReasonCode.TREE_OWNED, held and Subject(Defect, held.id))


def _unnamed(manifest: Manifest, standing: dict[str, Row[Any]]) -> list[Row[Any]]:
    named = {defect.defect_id for defect in manifest.defects}
    rows = (row for defect_id, row in standing.items() if defect_id not in named)
    return [row for row in rows if row.retired_at is None and row.keeper == Keeper.API]


def _require_room(agent: Row[Any], manifest: Manifest, standing: dict[str, Row[Any]], gone: Sequence[Row[Any]]) -> None:
    named = {defect.defect_id for defect in manifest.defects}
    present = {defect_id for defect_id, row in standing.items() if row.retired_at is None}
    if len(present | named) - len(gone) > MOST_RECORDS:
        message = f"A manifest holds at most {MOST_RECORDS} defects."
        raise Refused(message, ReasonCode.INVALID_FIELD, Subject(Agent, agent.id))


async def _require_own_evidence(acting: Acting, agent: Row[Any], manifest: Manifest, gone: Sequence[Row[Any]]) -> None:
    """One path has one digest per agent, over all defects that stay."""
    claims = {o.evidence_path: o.evidence_sha256 for defect in manifest.defects for o in defect.observations}
    left = {defect.defect_id for defect in manifest.defects} | {row.defect_id for row in gone}
    rows = await acting.connection.execute(
        select(defects.c.defect_id, observations.c.evidence_path, observations.c.evidence_sha256)
        .join(revisions, revisions.c.id == observations.c.revision_pk)
        .join(defects, and_(defects.c.id == revisions.c.defect_pk, defects.c.revision == revisions.c.revision))
        .where(defects.c.agent_pk == agent.id, defects.c.retired_at.is_(None))
    )
    for row in rows:
        if row.defect_id not in left and claims.get(row.evidence_path, row.evidence_sha256) != row.evidence_sha256:
            message = f"The agent has other evidence at {row.evidence_path}, of its defect {row.defect_id}."
            raise Refused(message, ReasonCode.EVIDENCE_DIGEST_MISMATCH)


async def _retire(acting: Acting, gone: Sequence[Row[Any]]) -> None:
    unnamed = among(defects.c.id, [row.id for row in gone])
    await acting.connection.execute(update(defects).where(unnamed).values(retired_at=func.now()))


async def _describe(acting: Acting, agent: Row[Any], manifest: Manifest, digest: str) -> None:
    """What the manifest says beside its defects is the agent's, where no tree has a manifest of its own."""
    if agent.keeper == Keeper.TREE:
        return
    values = {"manifest_state": ManifestState.VALID, "manifest_head": manifest.head, "manifest_sha256": digest}
    if any(agent._mapping[name] != value for name, value in values.items()):
        await acting.connection.execute(
            update(agents).where(agents.c.id == agent.id).values(updated_at=func.now(), **values)
        )
