"""One import of a project tree: a transaction in which readers see the old state or the new one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from sqlalchemy import delete, func, insert, or_, select, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from interchange.decisions import notices_of, record_claims
from interchange.records import KeptFile, Notice, SuiteRecord, TreeRecord
from interchange.store.agents import hide_agents, store_agents
from interchange.store.session import Import
from interchange.store.suites import store_suites
from models import Assessment, File, ImportWarning, Tree, TreeFile
from models.base import table
from resolvers.acting import Acting
from resolvers.judgement import judge
from resolvers.locks import change_ground
from resolvers.sql import among, not_among

files, trees, tree_files, warnings = table(File), table(Tree), table(TreeFile), table(ImportWarning)
assessments = table(Assessment)

# Half of the age at which files are swept that nothing refers to.
AGEING = func.now() - timedelta(hours=12)


class RootMismatch(Exception):
    """The name belongs to another root."""


@dataclass(frozen=True, slots=True)
class TreeImport:
    """What an import did. `changed` is false where the tree said nothing new."""

    changed: bool
    notices: list[Notice]


async def store_tree(
    connection: AsyncConnection, record: TreeRecord, *, name: str, root: Path, replace_root: bool = False
) -> TreeImport:
    """Bring what the tree of this name keeps in step with what was read of it."""
    await change_ground(connection)
    tree_id = await _tree(connection, record, name, root, replace_root)
    session = Import(connection, tree_id, f"tree:{name}")
    await _store(session, record)
    told = await _store_warnings(session, [*record.notices, *session.notices])
    written = await _store_documents(session, record.files)
    return TreeImport(told or written or bool(session.touched_agents or session.touched_suites), session.notices)


async def adopt_tree(connection: AsyncConnection, record: TreeRecord, *, actor: str) -> TreeImport:
    """Bring what was read in once, as if it had come through the API, which keeps it from then on."""
    await change_ground(connection)
    session = Import(connection, None, actor)
    kept = await _store(session, record)
    decided = 0
    for suite in kept:
        verdicts = await record_claims(Acting(connection, actor), suite.suite_id, suite.sidecar)
        session.notices.extend(notices_of(suite.suite_id, verdicts))
        decided += sum(verdict.created for verdict in verdicts)
    return TreeImport(bool(session.touched_agents or session.touched_suites or decided), session.notices)


async def _tree(connection: AsyncConnection, record: TreeRecord, name: str, root: Path, replace_root: bool) -> int:
    row = (await connection.execute(select(trees).where(trees.c.name == name))).one_or_none()
    present = {"root": str(root), "registry_valid": record.registry_valid}
    if row is None:
        added = insert(trees).values(name=name, **present).returning(trees.c.id)
        return int((await connection.execute(added)).scalar_one())
    if row.root != str(root) and not replace_root:
        raise RootMismatch(f"the tree named {name} was imported from another root; name this one, or replace the root")
    if (row.root, row.registry_valid) != (str(root), record.registry_valid):
        await connection.execute(update(trees).where(trees.c.id == row.id).values(**present))
    return int(row.id)


async def _store(session: Import, record: TreeRecord) -> list[SuiteRecord]:
    await store_files(session.connection, list(_kept(record)))
    # Suites first, as everybody takes these locks.
    kept = await store_suites(session, record.suites, record.suite_faults)
    if record.registry_valid:
        await store_agents(session, record.agents)
    else:
        await hide_agents(session)
    if session.touched_agents or session.touched_suites:
        touched = among(assessments.c.agent_id, sorted(session.touched_agents))
        await judge(session.connection, or_(touched, among(assessments.c.suite_pk, sorted(session.touched_suites))))
    return kept


def _kept(record: TreeRecord) -> Iterator[KeptFile]:
    yield from record.files
    for agent in record.agents:
        for defect in agent.defects:
            yield from (observation.evidence for observation in defect.observations)
    for suite in record.suites:
        yield from files_of(suite)


def files_of(suite: SuiteRecord) -> Iterator[KeptFile]:
    yield from suite.documents
    yield from (slot.artifact for slot in suite.slots if slot.artifact)


async def store_files(connection: AsyncConnection, kept: Sequence[KeptFile]) -> None:
    """Rows of bytes that are kept; those that were left out stay young as long as an import goes on bringing them."""
    sizes = {file.sha256: file.size for file in kept}
    named = among(files.c.sha256, sizes)
    await connection.execute(update(files).where(named, files.c.stored_at < AGEING).values(stored_at=func.now()))
    known = await connection.execute(select(files.c.sha256).where(named))
    for sha256 in known.scalars():
        del sizes[sha256]
    if sizes:
        await connection.execute(
            upsert(files).on_conflict_do_nothing(), [{"sha256": sha256, "size": size} for sha256, size in sizes.items()]
        )


async def _store_warnings(session: Import, notices: Sequence[Notice]) -> bool:
    said = ("code", "message", "agent_id", "suite_id", "assessment_index")
    rows = await session.connection.execute(
        select(*(warnings.c[name] for name in said))
        .where(warnings.c.tree_id == session.tree_id)
        .order_by(warnings.c.id)
    )
    now = [tuple(getattr(notice, name) for name in said) for notice in notices]
    if [tuple(row) for row in rows] == now:
        return False
    await session.connection.execute(delete(warnings).where(warnings.c.tree_id == session.tree_id))
    if now:
        await session.connection.execute(
            insert(warnings), [{"tree_id": session.tree_id, **dict(zip(said, row, strict=True))} for row in now]
        )
    return True


async def _store_documents(session: Import, documents: Sequence[KeptFile]) -> bool:
    rows = await session.connection.execute(
        select(tree_files.c.path, tree_files.c.sha256).where(tree_files.c.tree_id == session.tree_id)
    )
    held, now = {row.path: row.sha256 for row in rows}, {file.path: file.sha256 for file in documents}
    if held == now:
        return False
    of_tree = tree_files.c.tree_id == session.tree_id
    await session.connection.execute(delete(tree_files).where(of_tree, not_among(tree_files.c.path, sorted(now))))
    changed = [(path, sha256) for path, sha256 in now.items() if held.get(path) != sha256]
    if changed:
        insertion = upsert(tree_files)
        await session.connection.execute(
            insertion.on_conflict_do_update(
                index_elements=["tree_id", "path"], set_={"sha256": insertion.excluded.sha256}
            ),
            [{"tree_id": session.tree_id, "path": path, "sha256": sha256} for path, sha256 in changed],
        )
    return True
