"""Tokens and roles."""

import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    DateTime,
    and_,
    column,
    exists,
    func,
    insert,
    or_,
    select,
    update,
    values,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from models import ApiToken
from models.base import ReasonCode, Role, table
from resolvers.acting import TOKENS, Acting
from resolvers.errors import Duplicate, Forbidden, InvalidInput, NotFound, Subject
from resolvers.forms import require_text
from resolvers.sql import among

tokens = table(ApiToken)

# Lets people and scanners of secrets see what a text is.
PREFIX = "assay_"
# Any number that nothing else in the database locks.
TOKENS_LOCK = 0x544F4B4E


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who calls, and what that one may do; `token` and `expires_at` are those of the token that says so."""

    name: str
    role: Role
    token: int | None = None
    expires_at: datetime | None = None


LOCAL = Viewer("local", Role.ADMIN)
"""Everybody on this machine, as long as no token was ever made."""


def may(viewer: Viewer, role: Role) -> bool:
    roles = list(Role)
    return roles.index(viewer.role) >= roles.index(role)


def require(viewer: Viewer, role: Role) -> None:
    if not may(viewer, role):
        raise Forbidden(role)


async def create(acting: Acting, name: str, role: Role, expires_at: datetime | None) -> tuple[int, str]:
    """The token's key, and its secret, which nobody can ask for again."""
    _require_name(name)
    if expires_at is not None and expires_at <= datetime.now(UTC):
        raise InvalidInput("A token must expire in the future.", ("expires_at",), ReasonCode.INVALID_FIELD)
    await acting.connection.execute(select(func.pg_advisory_xact_lock(TOKENS_LOCK)))
    await _require_free(acting.connection, name)
    if role is not Role.ADMIN and not await ever_made(acting.connection):
        message = "The first token must be an ADMIN's: from then on, only tokens open the door."
        raise InvalidInput(message, ("role",), ReasonCode.INVALID_FIELD)
    secret = PREFIX + secrets.token_urlsafe(32)
    added = insert(tokens).values(
        name=name, role=role, secret_sha256=digest_of(secret), created_by=acting.actor, expires_at=expires_at
    )
    key = int((await acting.connection.execute(added.returning(tokens.c.id))).scalar_one())
    acting.topics.add(TOKENS)
    return key, secret


async def revoke(acting: Acting, key: int) -> int:
    """A token that was revoked before stays as it is."""
    row = (await acting.connection.execute(select(tokens).where(tokens.c.id == key).with_for_update())).one_or_none()
    if row is None:
        raise NotFound("There is no token of this id.", ("id",))
    if row.revoked_at is None:
        await acting.connection.execute(update(tokens).where(tokens.c.id == key).values(revoked_at=func.now()))
        acting.topics.add(TOKENS)
    return key


def digest_of(secret: str) -> str:
    return sha256(secret.encode(errors="surrogatepass")).hexdigest()


async def find(connection: AsyncConnection, digest: str) -> Viewer | None:
    """Who the secret of this digest stands for, if it holds now."""
    row = (await connection.execute(select(tokens).where(tokens.c.secret_sha256 == digest, _holds()))).one_or_none()
    return None if row is None else Viewer(row.name, row.role, row.id, row.expires_at)


async def holding(connection: AsyncConnection, keys: Collection[int]) -> set[int]:
    """Those of these tokens that still hold."""
    held = select(tokens.c.id).where(among(tokens.c.id, sorted(keys)), _holds())
    return set((await connection.execute(held)).scalars())


async def ever_made(connection: AsyncConnection) -> bool:
    """Whether there ever was a token; revoked ones stay and count."""
    return bool((await connection.execute(select(exists(select(tokens))))).scalar_one())


async def any_holds(connection: AsyncConnection) -> bool:
    return bool((await connection.execute(select(exists(select(tokens).where(_holds()))))).scalar_one())


async def note_use(connection: AsyncConnection, used: Mapping[int, datetime]) -> None:
    """Writes when tokens were used, where no other process knew better."""
    seen = values(column("id", BigInteger), column("at", DateTime(timezone=True)), name="seen").data(list(used.items()))
    newer = or_(tokens.c.last_used_at.is_(None), tokens.c.last_used_at < seen.c.at)
    await connection.execute(update(tokens).where(tokens.c.id == seen.c.id, newer).values(last_used_at=seen.c.at))


def _holds() -> ColumnElement[bool]:
    unexpired = or_(tokens.c.expires_at.is_(None), tokens.c.expires_at > func.now())
    return and_(tokens.c.revoked_at.is_(None), unexpired)


def _require_name(name: str) -> None:
    require_text(name, ("name",))
    # As these, others act: who is nobody's token, and imports.
    if name == LOCAL.name or name.startswith("tree:"):
        raise InvalidInput(f"{name} is a name of the server's own.", ("name",), ReasonCode.INVALID_FIELD)


async def _require_free(connection: AsyncConnection, name: str) -> None:
    taken = select(tokens.c.id).where(tokens.c.name == name)
    key = (await connection.execute(taken)).scalar_one_or_none()
    if key is not None:
        raise Duplicate(f"There is or was a token {name}.", Subject(ApiToken, key))
