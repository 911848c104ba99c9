"""Project trees that were imported, the bytes that are kept, and what an import had to say."""

from datetime import datetime

from sqlalchemy import BigInteger, DateTime, Index, func
from sqlmodel import Field, SQLModel

from models.base import ReasonCode, digests, identity, reference, vocabulary


class File(SQLModel, table=True):
    """Bytes in the file store, by their digest."""

    __tablename__ = "files"
    __table_args__ = digests("sha256")

    sha256: str = Field(primary_key=True)
    size: int = Field(sa_type=BigInteger)
    # What was found when the bytes were sent; null for what came with a tree.
    media_type: str | None = None
    stored_at: datetime | None = Field(
        default=None, nullable=False, sa_type=DateTime(timezone=True), sa_column_kwargs={"server_default": func.now()}
    )


class Tree(SQLModel, table=True):
    """A project tree by the name it was imported as; the name remembers its root."""

    __tablename__ = "trees"

    id: int | None = identity()
    name: str = Field(unique=True)
    root: str
    registry_valid: bool = True


class TreeFile(SQLModel, table=True):
    """A document of a tree as it was last read: what an export writes again."""

    __tablename__ = "tree_files"

    tree_id: int = reference("trees.id", primary_key=True, ondelete="CASCADE")
    path: str = Field(primary_key=True)
    sha256: str = Field(foreign_key="files.sha256", index=True)


class ImportWarning(SQLModel, table=True):
    """What the last import of a tree left out and why; what depends on other records is derived from those instead."""

    __tablename__ = "import_warnings"
    __table_args__ = (Index(None, "tree_id"),)

    id: int | None = identity()
    tree_id: int = reference("trees.id", ondelete="CASCADE")
    code: ReasonCode = Field(sa_type=vocabulary(ReasonCode, "code"))
    message: str
    agent_id: str | None = None
    suite_id: str | None = None
    assessment_index: int | None = None
