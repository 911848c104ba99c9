"""Confirming, revising and retiring defects through the API: the rules of a manifest, for one record at a time."""

from typing import Any

from sqlalchemy import Row, and_, func, insert, select, update

from models import Agent, Assessment, Defect, DefectRevision, ImportWarning, Observation
from models.base import AssessmentStatus, Keeper, ManifestState, ReasonCode, table
from resolvers.acting import OVERVIEW, Acting
from resolvers.agents import MANIFEST_SCHEMA
from resolvers.canonical import spelled
from resolvers.errors import Conflict, Duplicate, NotFound, Refused, Subject
from resolvers.findings import Finding, require_sound
from resolvers.forms import MOST_RECORDS, require_identity, require_text
from resolvers.judgement import judge
from resolvers.locks import change_ground

agents, defects, revisions, observations = table(Agent), table(Defect), table(DefectRevision), table(Observation)
assessments, warnings = table(Assessment), table(ImportWarning)

# What is left of the unit that a retired agent had.
RETURNED = {
    "listed": True,
    "source_sha256": None,
    "unit_path": None,
    "manifest_state": ManifestState.MISSING,
    "manifest_head": None,
    "manifest_sha256": None,
    "retired_at": None,
    "updated_at": func.now(),
}


async def register(acting: Acting, agent_id: str, name: str | None, framework: str | None) -> int:
    """A new agent, kept by the API; a retired one comes back as its."""
    require_identity(agent_id, ("agent_id",))
    for value, field in ((name, "name"), (framework, "framework")):
        if value is not None:
            require_text(value, (field,))
    values = {"name": name or agent_id, "framework": framework, "keeper": Keeper.API, "tree_id": None}
    row = await _agent_row(acting, agent_id)
    if row is not None and row.retired_at is None:
        raise Duplicate(f"An agent {agent_id} is registered.", Subject(Agent, row.id))
    if row is not None:
        await acting.connection.execute(update(agents).where(agents.c.id == row.id).values(**values, **RETURNED))
        key = int(row.id)
        if await _count_current(acting, key):
            await _configure(acting, await locked_agent(acting, agent_id))
    else:
        added = insert(agents).values(agent_id=agent_id, manifest_state=ManifestState.MISSING, listed=True, **values)
        key = int((await acting.connection.execute(added.returning(agents.c.id))).scalar_one())
    await _judge(acting, agent_id)
    return key


async def confirm(acting: Acting, agent_id: str, defect_id: str, finding: Finding) -> tuple[int, bool]:
    """The defect's key, and whether anything is new: an identical record is left as it is."""
    require_identity(defect_id, ("defect_id",))
    agent = await locked_agent(acting, agent_id)
    await require_sound(acting.connection, agent.id, defect_id, finding)
    record, digest = finding.spelled(defect_id)
    row = await _defect_row(acting, agent, defect_id)
    if row is None:
        await _require_room(acting, agent)
        position = await next_position(acting, agent)
        added = insert(defects).values(
            agent_pk=agent.id,
            defect_id=defect_id,
            revision=1,
            position=position,
            keeper=Keeper.API,
            tree_id=None,
            **_values(finding, digest),
        )
        key = int((await acting.connection.execute(added.returning(defects.c.id))).scalar_one())
        await _add_revision(acting, key, 1, finding, record, digest)
        await _configure(acting, agent)
    elif row.retired_at is not None:
        key = int(row.id)
        await _write_revision(acting, row, finding, record, digest)
    elif row.ground_truth_sha256 == digest:
        return int(row.id), False
    else:
        raise Duplicate(
            f"{agent_id} has a defect {defect_id} with another record: revise that one.", Subject(Defect, row.id)
        )
    await _judge(acting, agent_id, defect_id)
    return key, True


async def revise(acting: Acting, agent_id: str, defect_id: str, expected: str, finding: Finding) -> tuple[int, int]:
    """The defect's key, and how many assessments stopped counting."""
    agent, row = await _changeable(acting, agent_id, defect_id, expected)
    await require_sound(acting.connection, agent.id, defect_id, finding)
    record, digest = finding.spelled(defect_id)
    if digest == row.ground_truth_sha256:
        return int(row.id), 0
    standing = await _standing(acting, row)
    await _write_revision(acting, row, finding, record, digest)
    await _judge(acting, agent_id, defect_id)
    return int(row.id), len(standing - await _standing(acting, row))


async def retire(acting: Acting, agent_id: str, defect_id: str, expected: str) -> int:
    _, row = await _changeable(acting, agent_id, defect_id, expected)
    await acting.connection.execute(update(defects).where(defects.c.id == row.id).values(retired_at=func.now()))
    await _judge(acting, agent_id, defect_id)
    return int(row.id)


async def _agent_row(acting: Acting, agent_id: str) -> Row[Any] | None:
    await change_ground(acting.connection)
    found = select(agents).where(agents.c.agent_id == agent_id).with_for_update()
    return (await acting.connection.execute(found)).one_or_none()


async def locked_agent(acting: Acting, agent_id: str) -> Row[Any]:
    """The agent, held alone: its defects change one after the other."""
    require_text(agent_id, ("agent_id",))
    row = await _agent_row(acting, agent_id)
    if row is None or row.retired_at is not None:
        raise NotFound(f"No agent {agent_id} is registered.", ("agent_id",))
    if not row.listed:
        raise Refused(
            "The registry of the tree that keeps this agent cannot be read.",
            ReasonCode.REGISTRY_INVALID,
            Subject(Agent, row.id),
        )
    if row.manifest_state == ManifestState.INVALID:
        raise await _invalid_manifest(acting, row)
    return row


async def _invalid_manifest(acting: Acting, row: Row[Any]) -> Refused:
    told = select(warnings.c.code).where(warnings.c.agent_id == row.agent_id).order_by(warnings.c.id).limit(1)
    code = await acting.connection.scalar(told) or ReasonCode.INVALID_FIELD
    message = f"The manifest in {row.unit_path}/ground_truth is invalid and hides the agent's defects: mend it first."
    return Refused(message, code, Subject(Agent, row.id))


async def _defect_row(acting: Acting, agent: Row[Any], defect_id: str) -> Row[Any] | None:
    found = select(defects).where(defects.c.agent_pk == agent.id, defects.c.defect_id == defect_id).with_for_update()
    return (await acting.connection.execute(found)).one_or_none()


async def _changeable(acting: Acting, agent_id: str, defect_id: str, expected: str) -> tuple[Row[Any], Row[Any]]:
    require_text(defect_id, ("defect_id",))
    agent = await locked_agent(acting, agent_id)
    row = await _defect_row(acting, agent, defect_id)
    if row is None or row.retired_at is not None:
        raise NotFound(f"{agent_id} has no current defect {defect_id}.", ("defect_id",))
    subject = Subject(Defect, row.id)
    if row.keeper == Keeper.TREE:
        message = f"A project tree keeps this defect: change it in {agent.unit_path}/ground_truth/manifest.json there."
        raise Refused(message, ReasonCode.TREE_OWNED, subject)
    if row.ground_truth_sha256 != expected:
        raise Conflict("The defect was revised since that digest.", subject, row.revision)
    return agent, row


def _values(finding: Finding, digest: str) -> dict[str, Any]:
    extra = spelled(finding.extra) if finding.extra else None
    return {
        "title": finding.title,
        "expected_behavior": finding.expected_behavior,
        "observed_behavior": finding.observed_behavior,
        "confirmed_by": finding.confirmed_by,
        "confirmed_at": finding.confirmed_at,
        "source_sha256": finding.source_sha256,
        "case_sha256": finding.case_sha256,
        "ground_truth_sha256": digest,
        "extra": extra,
    }


async def _count_current(acting: Acting, agent_pk: int) -> int:
    current = and_(defects.c.agent_pk == agent_pk, defects.c.retired_at.is_(None))
    return (await acting.connection.execute(select(func.count()).where(current))).scalar_one()


async def _require_room(acting: Acting, agent: Row[Any]) -> None:
    if await _count_current(acting, agent.id) >= MOST_RECORDS:
        message = f"A manifest holds at most {MOST_RECORDS} defects."
        raise Refused(message, ReasonCode.INVALID_FIELD, Subject(Agent, agent.id))


async def next_position(acting: Acting, agent: Row[Any]) -> int:
    """After all places that a tree's manifest can give, in the order of confirmation."""
    last = await acting.connection.scalar(select(func.max(defects.c.position)).where(defects.c.agent_pk == agent.id))
    return MOST_RECORDS if last is None else max(MOST_RECORDS, last + 1)


async def _write_revision(acting: Acting, row: Row[Any], finding: Finding, record: str, digest: str) -> None:
    revision = row.revision + 1
    await acting.connection.execute(
        update(defects)
        .where(defects.c.id == row.id)
        .values(revision=revision, keeper=Keeper.API, tree_id=None, retired_at=None, **_values(finding, digest))
    )
    await _add_revision(acting, row.id, revision, finding, record, digest)


async def _add_revision(
    acting: Acting, defect_pk: int, revision: int, finding: Finding, record: str, digest: str
) -> None:
    added = insert(revisions).values(
        defect_pk=defect_pk,
        revision=revision,
        ground_truth_sha256=digest,
        record=record,
        recorded_by=acting.actor,
    )
    revision_pk = (await acting.connection.execute(added.returning(revisions.c.id))).scalar_one()
    await acting.connection.execute(
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
            for position, observation in enumerate(finding.observations)
        ],
    )


async def _configure(acting: Acting, agent: Row[Any]) -> None:
    """An agent that the API keeps has a manifest from its first defect on."""
    if agent.keeper == Keeper.TREE or agent.manifest_state == ManifestState.VALID:
        return
    head = spelled({"schema": MANIFEST_SCHEMA, "agent_id": agent.agent_id})
    await acting.connection.execute(
        update(agents)
        .where(agents.c.id == agent.id)
        .values(manifest_state=ManifestState.VALID, manifest_head=head, updated_at=func.now())
    )


async def _standing(acting: Acting, defect: Row[Any]) -> set[int]:
    accepted = and_(assessments.c.defect_pk == defect.id, assessments.c.status == AssessmentStatus.ACCEPTED)
    return set((await acting.connection.execute(select(assessments.c.id).where(accepted))).scalars())


async def _judge(acting: Acting, agent_id: str, defect_id: str | None = None) -> None:
    """Records about what changed count, or cease to, in the same transaction."""
    touched = assessments.c.agent_id == agent_id
    if defect_id is not None:
        touched = and_(touched, assessments.c.defect_id == defect_id)
    await judge(acting.connection, touched)
    acting.topics.add(OVERVIEW)
