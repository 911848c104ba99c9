"""What writers of assessments hold while they write, and what changers of their ground hold.

Writers share the locks of a decision's ground, whose changers hold them alone, and take them in the order Suite,
agent, defect. Whoever changes an Attempt has locked its Suite. Writers of one identity wait for each other, and who
writes several has their Suites alone. Changers come one after the other: each judges by what the others left.
"""

import hashlib
from collections.abc import Collection

from sqlalchemy import Select, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from resolvers.judgement import agents, defects, suites
from resolvers.sql import among

# Suite, agent, index, Attempt, defect: as a record claims them.
Identity = tuple[str, str, int, str, str]

# Any number that nothing else in the database locks.
GROUND_LOCK = 0x474E4452


async def change_ground(connection: AsyncConnection) -> None:
    """To be called before anything is read that the change rests on."""
    await connection.execute(select(func.pg_advisory_xact_lock(GROUND_LOCK)))


async def hold(connection: AsyncConnection, identities: Collection[Identity]) -> None:
    is_one = len(set(identities)) == 1
    for identity in identities if is_one else ():
        await connection.execute(select(func.pg_advisory_xact_lock(_key(identity))))
    suite_ids, agent_ids, defect_ids = ({identity[place] for identity in identities} for place in (0, 1, 4))
    its_suites = _in_order(select(suites.c.id).where(among(suites.c.suite_id, sorted(suite_ids))))
    its_agents = _in_order(select(agents.c.id).where(among(agents.c.agent_id, sorted(agent_ids))))
    its_defects = _in_order(
        select(defects.c.id)
        .join(agents, agents.c.id == defects.c.agent_pk)
        .where(among(agents.c.agent_id, sorted(agent_ids)), among(defects.c.defect_id, sorted(defect_ids)))
    )
    # Of several, the locks would be too many for one transaction. References to the Suites are let in.
    await connection.execute(its_suites.with_for_update(read=is_one, key_share=not is_one))
    await connection.execute(its_agents.with_for_update(read=True))
    await connection.execute(its_defects.with_for_update(read=True, of=defects))


def _in_order(rows: Select[tuple[int]]) -> Select[tuple[int]]:
    return rows.order_by(rows.selected_columns.id)


def _key(identity: Identity) -> int:
    digest = hashlib.blake2b(repr(identity).encode(errors="backslashreplace"), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)
