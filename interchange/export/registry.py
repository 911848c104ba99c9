"""The registry that an export writes: as it was read, and with the agents of the API that it does not name."""

from pathlib import Path

from interchange.documents import Object
from interchange.export.contents import HeldAgent
from interchange.reading import DOCUMENT_LIMIT, MIB, Fault, shown
from interchange.registry import REGISTRY, locate_unit, registry_entries
from interchange.units import with_entry
from models.base import Keeper, ReasonCode

AGENTS = "resources/agents"
LONGEST_NAME = 255


class Units:
    """Where the unit of each agent is to lie below a root, whose links lead as they do there."""

    def __init__(self, root: Path, kept: bytes | None) -> None:
        self._root = root
        self._entries: list[Object] = []
        self._is_faulty = False
        self._taken: dict[str, str] = {}
        self._text = ""
        # What had to be added to is written anew.
        self.is_extended = False
        if kept is not None:
            self._take(kept)

    @property
    def registry(self) -> bytes:
        data = self._text.encode()
        if len(data) > DOCUMENT_LIMIT:
            message = f"would be larger than {DOCUMENT_LIMIT // MIB} MiB"
            raise REGISTRY.fault(ReasonCode.FILE_TOO_LARGE, message)
        return data

    def is_sound(self, agent_id: str) -> bool:
        """Whether the registry names one unit for this agent."""
        try:
            return self._named(agent_id) is not None
        except Fault:
            return False

    def of(self, agent: HeldAgent) -> str | None:
        """None where the agent never had a unit. An agent of the API that has no unit yet gets one."""
        if agent.keeper == Keeper.TREE:
            unit = self._named(agent.agent_id) if self.is_sound(agent.agent_id) else agent.unit_path
            if unit is not None:
                self._taken.setdefault(unit, agent.agent_id)
            return unit
        unit = self._named(agent.agent_id) or self._added(agent)
        if self._taken.setdefault(unit, agent.agent_id) != agent.agent_id:
            message = f"{shown(unit)}: holds the unit of another agent than {shown(agent.agent_id)}"
            raise Fault(ReasonCode.AGENT_IDENTITY_MISMATCH, message)
        return unit

    def _take(self, kept: bytes) -> None:
        try:
            self._entries = registry_entries(kept)
            self._text = kept.decode()
        except Fault:
            self._is_faulty = True

    def _named(self, agent_id: str) -> str | None:
        entries = [entry for entry in self._entries if entry.get("agent_id") == agent_id]
        if len(entries) > 1:
            raise REGISTRY.fault(ReasonCode.DUPLICATE_AGENT, f"names {shown(agent_id)} more than once")
        return locate_unit(self._root, entries[0].get("path")) if entries else None

    def _added(self, agent: HeldAgent) -> str:
        if self._is_faulty:
            message = f"is at fault, so that {shown(agent.agent_id)} cannot be added: mend it first"
            raise REGISTRY.fault(ReasonCode.REGISTRY_INVALID, message)
        unit = agent.unit_path or f"{AGENTS}/{_directory_name(agent.agent_id)}"
        self._text = with_entry(self._text, agent.agent_id, unit)
        self._entries.append({"agent_id": agent.agent_id, "path": unit})
        self.is_extended = True
        return unit


def _directory_name(agent_id: str) -> str:
    """Refuses what a file system, or a person reading it, could take for something else than one directory."""
    is_plain = agent_id.isprintable() and not {"/", "\\", ":"} & set(agent_id)
    is_whole = agent_id == agent_id.strip() and not agent_id.startswith(".") and not agent_id.endswith(".")
    if not is_plain or not is_whole or len(agent_id.encode()) > LONGEST_NAME:
        message = f"agent_id {shown(agent_id)}: is no safe name for a directory"
        raise Fault(ReasonCode.PATH_ESCAPE, message)
    return agent_id
