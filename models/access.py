"""Who may do what, and who did."""

from datetime import datetime

from sqlalchemy import DateTime, Index, func
from sqlmodel import Field, SQLModel

from models.base import Role, digests, identity, vocabulary

INSTANT = DateTime(timezone=True)
NOW = {"server_default": func.now()}


class ApiToken(SQLModel, table=True):
    """A bearer token. Only the digest of its secret is kept; the row stays when it is revoked."""

    __tablename__ = "api_tokens"
    __table_args__ = digests("secret_sha256")

    id: int | None = identity()
    name: str = Field(unique=True)
    role: Role = Field(sa_type=vocabulary(Role, "role"))
    secret_sha256: str = Field(unique=True)
    created_by: str
    created_at: datetime | None = Field(default=None, nullable=False, sa_type=INSTANT, sa_column_kwargs=NOW)
    last_used_at: datetime | None = Field(default=None, sa_type=INSTANT)
    expires_at: datetime | None = Field(default=None, sa_type=INSTANT)
    revoked_at: datetime | None = Field(default=None, sa_type=INSTANT)


class Action(SQLModel, table=True):
    """A mutation that changed something: who called it, when, and what it was about."""

    __tablename__ = "actions"
    __table_args__ = (Index(None, "at"), Index(None, "subject"))

    id: int | None = identity()
    at: datetime | None = Field(default=None, nullable=False, sa_type=INSTANT, sa_column_kwargs=NOW)
    actor: str
    mutation: str
    subject: str | None = None
