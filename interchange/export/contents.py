"""What the database holds of one tree, and of what the API keeps, as it stands at one moment."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Row, and_, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from interchange.reading import Fault, shown
from interchange.registry import REGISTRY
from models import (
    Agent,
    Assessment,
    Case,
    Defect,
    DefectRevision,
    Observation,
    Suite,
    SuiteAgent,
    SuiteFile,
    Tree,
    TreeFile,
)
from models.base import AssessmentStatus, Keeper, ManifestState, Provenance, ReasonCode, table
from resolvers.agents import known
from resolvers.sql import among
from resolvers.suites import accepted

agents, defects, revisions, observations = table(Agent), table(Defect), table(DefectRevision), table(Observation)
suites, suite_agents, suite_files = table(Suite), table(SuiteAgent), table(SuiteFile)
cases, assessments = table(Case), table(Assessment)
trees, tree_files = table(Tree), table(TreeFile)


@dataclass(frozen=True, slots=True)
class HeldDefect:
    keeper: Keeper
    ground_truth_sha256: str
    # Canonical text.
    record: str
    # Digests by path below ground_truth/.
    evidence: dict[str, str]


@dataclass(frozen=True, slots=True)
class HeldAgent:
    agent_id: str
    name: str
    framework: str | None
    keeper: Keeper
    unit_path: str | None
    manifest_state: ManifestState
    manifest_head: str | None
    manifest_sha256: str | None
    description_sha256: str | None
    defects: list[HeldDefect]


@dataclass(frozen=True, slots=True)
class HeldSuite:
    suite_id: str
    keeper: Keeper
    is_legacy: bool
    agents: frozenset[str]
    directory: str
    # Digests by path below its directory: what the API keeps, and artifacts of whoever keeps it.
    documents: dict[str, str]
    artifacts: dict[str, str]
    # The API's standing assessments.
    standing: list[Row[Any]]


@dataclass(frozen=True, slots=True)
class Contents:
    # The tree's documents as they were read: digests by path.
    documents: dict[str, str]
    agents: list[HeldAgent]
    suites: list[HeldSuite]


async def contents(connection: AsyncConnection, tree: str | None, only: Collection[str] = ()) -> Contents:
    """Of the tree of this name, or of the only one; of `only` these agents, where some are named.

    Raises a Fault where that does not tell which.
    """
    tree_id = await _tree(connection, tree)
    rows = await connection.execute(select(tree_files).where(tree_files.c.tree_id == tree_id))
    documents = {row.path: row.sha256 for row in rows}
    agents, suites = await _agents(connection, tree_id), await _suites(connection, tree_id)
    return _about(only, Contents(documents, agents, suites)) if only else Contents(documents, agents, suites)


def _about(names: Collection[str], held: Contents) -> Contents:
    agents = [agent for agent in held.agents if agent.agent_id in names]
    if unknown := sorted(set(names) - {agent.agent_id for agent in agents}):
        raise Fault(ReasonCode.UNKNOWN_AGENT, f"no agent here is called {', '.join(map(shown, unknown))}")
    suites = [suite for suite in held.suites if not suite.agents.isdisjoint(names)]
    places = (*(agent.unit_path for agent in agents if agent.unit_path), *(suite.directory for suite in suites))
    starts = tuple(f"{place}/" for place in places if place)
    documents = {path: sha256 for path, sha256 in held.documents.items() if path.startswith((REGISTRY.path, *starts))}
    return Contents(documents, agents, suites)


async def _tree(connection: AsyncConnection, name: str | None) -> int | None:
    rows = (await connection.execute(select(trees.c.id, trees.c.name).order_by(trees.c.name))).all()
    if name is None and len(rows) < 2:
        return int(rows[0].id) if rows else None
    if chosen := [int(row.id) for row in rows if row.name == name]:
        return chosen[0]
    names = ", ".join(row.name for row in rows)
    raise Fault(ReasonCode.INVALID_FIELD, f"a tree must be named by --as, one of: {names}")


def _held(keeper: ColumnElement[Any], tree: ColumnElement[Any], tree_id: int | None) -> ColumnElement[bool]:
    return or_(keeper == Keeper.API, tree == tree_id)


async def _agents(connection: AsyncConnection, tree_id: int | None) -> list[HeldAgent]:
    rows = await connection.execute(
        select(agents)
        .where(_held(agents.c.keeper, agents.c.tree_id, tree_id), known(agents))
        .order_by(agents.c.agent_id)
    )
    found = rows.all()
    by_agent = await _defects(connection, [row.id for row in found])
    return [
        HeldAgent(
            agent_id=row.agent_id,
            name=row.name,
            framework=row.framework,
            keeper=row.keeper,
            unit_path=row.unit_path,
            manifest_state=row.manifest_state,
            manifest_head=row.manifest_head,
            manifest_sha256=row.manifest_sha256,
            description_sha256=row.description_sha256,
            defects=by_agent[row.id],
        )
        for row in found
    ]


async def _defects(connection: AsyncConnection, agent_pks: list[int]) -> dict[int, list[HeldDefect]]:
    rows = await connection.execute(
        select(
            defects.c.agent_pk, defects.c.keeper, revisions.c.id, revisions.c.record, revisions.c.ground_truth_sha256
        )
        .join(revisions, and_(revisions.c.defect_pk == defects.c.id, revisions.c.revision == defects.c.revision))
        .where(among(defects.c.agent_pk, agent_pks), defects.c.retired_at.is_(None))
        .order_by(defects.c.position, defects.c.id)
    )
    found = rows.all()
    evidence = await _evidence(connection, [row.id for row in found])
    held: dict[int, list[HeldDefect]] = defaultdict(list)
    for row in found:
        held[row.agent_pk].append(HeldDefect(row.keeper, row.ground_truth_sha256, row.record, evidence[row.id]))
    return held


async def _evidence(connection: AsyncConnection, revision_pks: list[int]) -> dict[int, dict[str, str]]:
    rows = await connection.execute(select(observations).where(among(observations.c.revision_pk, revision_pks)))
    held: dict[int, dict[str, str]] = defaultdict(dict)
    for row in rows:
        held[row.revision_pk][row.evidence_path] = row.evidence_sha256
    return held


async def _suites(connection: AsyncConnection, tree_id: int | None) -> list[HeldSuite]:
    rows = await connection.execute(
        select(suites)
        .where(_held(suites.c.keeper, suites.c.tree_id, tree_id), accepted(suites))
        .order_by(suites.c.suite_id)
    )
    found = rows.all()
    keys = [row.id for row in found]
    documents, artifacts = await _documents(connection, keys), await _artifacts(connection, keys)
    standing, named = await _standing(connection, keys), await _named(connection, keys)
    return [
        HeldSuite(
            suite_id=row.suite_id,
            keeper=row.keeper,
            is_legacy=row.provenance == Provenance.LEGACY,
            agents=frozenset(named[row.id]),
            directory=row.directory or "",
            documents=documents[row.id],
            artifacts=artifacts[row.id],
            standing=standing[row.id],
        )
        for row in found
    ]


async def _named(connection: AsyncConnection, suite_pks: list[int]) -> dict[int, set[str]]:
    columns = (suite_agents.c.suite_pk, suite_agents.c.agent_id)
    held: dict[int, set[str]] = defaultdict(set)
    for suite_pk, agent_id in await connection.execute(select(*columns).where(among(columns[0], suite_pks))):
        held[suite_pk].add(agent_id)
    return held


async def _documents(connection: AsyncConnection, suite_pks: list[int]) -> dict[int, dict[str, str]]:
    rows = await connection.execute(select(suite_files).where(among(suite_files.c.suite_pk, suite_pks)))
    held: dict[int, dict[str, str]] = defaultdict(dict)
    for row in rows:
        held[row.suite_pk][row.path] = row.sha256
    return held


async def _artifacts(connection: AsyncConnection, suite_pks: list[int]) -> dict[int, dict[str, str]]:
    columns = (cases.c.suite_pk, cases.c.artifact_path, cases.c.artifact_file)
    kept = and_(among(cases.c.suite_pk, suite_pks), cases.c.artifact_file.is_not(None))
    held: dict[int, dict[str, str]] = defaultdict(dict)
    for suite_pk, path, sha256 in await connection.execute(select(*columns).where(kept)):
        held[suite_pk][path] = sha256
    return held


async def _standing(connection: AsyncConnection, suite_pks: list[int]) -> dict[int, list[Row[Any]]]:
    rows = await connection.execute(
        select(assessments)
        .where(
            among(assessments.c.suite_pk, suite_pks),
            assessments.c.keeper == Keeper.API,
            assessments.c.status == AssessmentStatus.ACCEPTED,
        )
        .order_by(assessments.c.id)
    )
    held: dict[int, list[Row[Any]]] = defaultdict(list)
    for row in rows:
        held[row.suite_pk].append(row)
    return held
