"""The registry of a tree: which agents it has, and where their units lie."""

import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from interchange.documents import Undecodable, load_toml
from interchange.files import TreeFiles
from interchange.reading import Fault, Place
from interchange.records import KeptFile, Notice
from models.base import ReasonCode
from resolvers.forms import SHORT_PATH, SHORT_TEXT, identity, storable_path, text

REGISTRY = Place("", "resources/registry.toml")


@dataclass(frozen=True, slots=True)
class Registration:
    agent_id: str
    # Relative to the tree and free of links; None where the registration names none.
    unit: str | None
    is_sound: bool = True


@dataclass(frozen=True, slots=True)
class Registry:
    is_valid: bool
    registrations: list[Registration] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    file: KeptFile | None = None


def read_registry(files: TreeFiles) -> Registry:
    if files.is_absent(REGISTRY):
        return Registry(is_valid=True)
    kept = None
    try:
        data, kept = files.document(REGISTRY)
        entries = registry_entries(data)
    except Fault as fault:
        notice = Notice(ReasonCode.REGISTRY_INVALID, fault.message)
        return Registry(is_valid=False, notices=[notice], file=kept)
    return _Reading(files.root).registry(entries, kept)


def registry_entries(data: bytes) -> list[dict[str, Any]]:
    try:
        entries = load_toml(data).get("agents")
    except Undecodable as error:
        raise REGISTRY.fault(ReasonCode.REGISTRY_INVALID, str(error)) from error
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise REGISTRY.fault(ReasonCode.REGISTRY_INVALID, "agents must be a list of tables")
    return entries


def locate_unit(root: Path, path: Any) -> str:
    """A unit's directory as the registry writes it, with its links resolved."""
    if (name := text(path)) is None:
        raise Fault(ReasonCode.INVALID_FIELD, "path must be nonempty text")
    target = Path(os.path.realpath(root / name))
    if name.startswith("/") or not target.is_relative_to(root) or target == root:
        raise Fault(ReasonCode.PATH_ESCAPE, "path must lead to a directory inside the tree")
    if (unit := storable_path(target.relative_to(root).as_posix())) is None:
        raise Fault(ReasonCode.INVALID_FIELD, f"path must lead to a directory whose path is {SHORT_PATH}")
    return unit


class _Reading:
    def __init__(self, root: Path) -> None:
        self._root = root
        self._units: dict[str, str | None] = {}
        self._entries: Counter[str] = Counter()
        self._notices: list[Notice] = []

    def registry(self, entries: list[dict[str, Any]], kept: KeptFile) -> Registry:
        for number, entry in enumerate(entries):
            self._read(f"agents[{number}]", entry)
        registrations = [
            Registration(agent_id, unit, is_sound=unit is not None and self._entries[agent_id] == 1)
            for agent_id, unit in self._units.items()
        ]
        return Registry(True, registrations, self._notices, kept)

    def _read(self, where: str, entry: dict[str, Any]) -> None:
        if (agent_id := identity(entry.get("agent_id"))) is None:
            return self._tell(ReasonCode.REGISTRY_INVALID, f"{where} must have an agent_id of {SHORT_TEXT}")
        self._entries[agent_id] += 1
        if self._entries[agent_id] > 1:
            return self._tell(
                ReasonCode.DUPLICATE_AGENT, f"{where}.agent_id must differ from those before it", agent_id
            )
        try:
            self._units[agent_id] = locate_unit(self._root, entry.get("path"))
        except Fault as fault:
            self._units[agent_id] = None
            self._tell(fault.code, f"{where}.{fault.message}", agent_id)
        return None

    def _tell(self, code: ReasonCode, message: str, agent_id: str | None = None) -> None:
        self._notices.append(Notice(code, f"{REGISTRY.path}: {message}", agent_id))
