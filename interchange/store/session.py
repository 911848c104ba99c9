"""What the steps of one import share."""

from dataclasses import dataclass, field

from sqlalchemy.ext.asyncio import AsyncConnection

from interchange.records import Notice
from models.base import Keeper, ReasonCode


@dataclass(slots=True)
class Import:
    """An import on its way: under whose name it writes, and what it touched so far."""

    connection: AsyncConnection
    # None where the API shall keep what comes.
    tree_id: int | None
    actor: str
    notices: list[Notice] = field(default_factory=list)
    touched_agents: set[str] = field(default_factory=set)
    touched_suites: set[int] = field(default_factory=set)

    @property
    def keeper(self) -> Keeper:
        return Keeper.API if self.tree_id is None else Keeper.TREE

    def keeps(self, tree_id: int | None) -> bool:
        """Whether what that tree (or, with None, the API) keeps may be changed here."""
        return tree_id == self.tree_id

    def leave(self, what: str, owner: int | None, *, agent_id: str | None = None, suite_id: str | None = None) -> None:
        """Say that something stays as its owner has it."""
        code, whose = (ReasonCode.API_OWNED, "the API") if owner is None else (ReasonCode.TREE_OWNED, "another tree")
        message = f"{what} differs from the one that {whose} keeps, and was left out."
        self.notices.append(Notice(code, message, agent_id=agent_id, suite_id=suite_id))
