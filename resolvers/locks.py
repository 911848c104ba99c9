"""What writers of assessments hold while they write.

They share the locks of a decision's ground, whose changers hold them alone, and take them in the order Suite, agent,
defect. Whoever changes an Attempt has locked its Suite. Writers of one identity wait for each other.
"""

import hashlib
from collections.abc import Collection
from typing import Any

from sqlalchemy import ARRAY, BigInteger, func, literal, select
from sqlalchemy.ext.asyncio import AsyncConnection

from resolvers.judgement import agents, defects, suites
from resolvers.sql import among

# Suite, agent, index, Attempt, defect: as a record claims them.
Identity = tuple[str, str, int, str, str]


async def hold(connection: AsyncConnection, identities: Collection[Identity], *, whole_suite: bool = False) -> None:
    """`whole_suite` keeps every other writer out of the Suites: the locks of one transaction are limited."""
    if not whole_suite:
        keys = func.unnest(literal(sorted({_key(identity) for identity in identities}), ARRAY(BigInteger)))
        await connection.execute(select(func.pg_advisory_xact_lock(keys.column_valued("key"))))
    for name, named in (
        (suites.c.suite_id, {identity[0] for identity in identities}),
        (agents.c.agent_id, {identity[1] for identity in identities}),
        (defects.c.defect_id, {identity[4] for identity in identities}),
    ):
        rows = select(name.table.c.id).where(among(name, sorted(named))).order_by(name.table.c.id)
        is_alone = whole_suite and name is suites.c.suite_id
        await connection.execute(rows.with_for_update(read=not is_alone))


def _key(identity: tuple[Any, ...]) -> int:
    digest = hashlib.blake2b(repr(identity).encode(errors="backslashreplace"), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)
