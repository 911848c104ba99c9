"""What writers of assessments hold while they write, and what changers of their ground hold.

Writers share the locks of a decision's ground, whose changers hold them alone, and take them in the order Suite,
agent, defect. Whoever changes an Attempt has locked its Suite. Writers of one identity wait for each other, and who
writes several has their Suites alone. Changers come one after the other: each judges by what the others left.
"""

import hashlib
from collections.abc import Collection

from sqlalchemy import ARRAY, BigInteger, ColumnElement, Text, any_, bindparam, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from resolvers.judgement import agents, defects, suites

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
        await connection.execute(OF_ONE, {"key": _key(identity)})
        break
    named = {name: sorted({identity[place] for identity in identities}) for name, place in PLACES.items()}
    # Of several, the locks would be too many for one transaction.
    await connection.execute(SHARED_SUITES if is_one else SUITES_ALONE, named)
    await connection.execute(SHARED_AGENTS, named)
    await connection.execute(SHARED_DEFECTS, named)


def _is_named(identity: ColumnElement[str], name: str) -> ColumnElement[bool]:
    return identity == any_(bindparam(name, type_=ARRAY(Text())))


PLACES = {"suite_ids": 0, "agent_ids": 1, "defect_ids": 4}

OF_ONE = select(func.pg_advisory_xact_lock(bindparam("key", type_=BigInteger())))
SUITES = select(suites.c.id).where(_is_named(suites.c.suite_id, "suite_ids")).order_by(suites.c.id)
AGENTS = select(agents.c.id).where(_is_named(agents.c.agent_id, "agent_ids")).order_by(agents.c.id)
DEFECTS = (
    select(defects.c.id)
    .join(agents, agents.c.id == defects.c.agent_pk)
    .where(_is_named(agents.c.agent_id, "agent_ids"), _is_named(defects.c.defect_id, "defect_ids"))
    .order_by(defects.c.id)
)
SHARED_SUITES = SUITES.with_for_update(read=True)
# References to them are let in.
SUITES_ALONE = SUITES.with_for_update(key_share=True)
SHARED_AGENTS = AGENTS.with_for_update(read=True)
SHARED_DEFECTS = DEFECTS.with_for_update(read=True, of=defects)


def _key(identity: Identity) -> int:
    digest = hashlib.blake2b(repr(identity).encode(errors="backslashreplace"), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)
