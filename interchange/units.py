"""Units as people add them to a tree, and as workers get them."""

import json
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from interchange.agents import unit_identity
from interchange.documents import Object, Undecodable, load_toml
from interchange.files import TreeFiles
from interchange.reading import Fault, Place, copy, resolve, shown
from interchange.registry import REGISTRY, locate_unit
from interchange.sources import GROUND_TRUTH, source_digest, source_files
from models.base import ReasonCode
from resolvers.forms import SHORT_PATH, storable_path

_DOCKERIGNORE = ".dockerignore"
_IGNORED = f"/{GROUND_TRUTH}/"


@dataclass(frozen=True, slots=True)
class AddedUnit:
    agent_id: str
    root: Path
    # Relative to the root.
    path: str
    # False where the registry named it already.
    is_new: bool


def add(path: Path, root: Path | None = None) -> AddedUnit:
    """Registers a unit in the nearest tree above it; every check comes before the first write."""
    unit = path.resolve()
    root = root.resolve() if root else _tree_above(unit)
    inner = _path_inside(root, unit)
    agent_id = unit_identity(unit)
    registry = _appendable(root, REGISTRY)
    extended = None if _is_registered(root, registry, agent_id, inner) else with_entry(registry, agent_id, inner)
    ignored = _appendable(unit, Place("", _DOCKERIGNORE))
    placeholder = _placeholder(unit)

    placeholder.parent.mkdir(exist_ok=True)
    if not os.path.lexists(placeholder):
        placeholder.touch()
    if _IGNORED not in ignored.split("\n"):
        _replace(unit / _DOCKERIGNORE, _with_line(ignored, _IGNORED))
    if extended is not None:
        (root / REGISTRY.path).parent.mkdir(exist_ok=True)
        _replace(root / REGISTRY.path, extended)
    return AddedUnit(agent_id, root, inner, is_new=extended is not None)


def stage(path: Path, destination: Path) -> str:
    """Copies a unit's execution source and nothing else; answers its digest."""
    unit, destination = path.resolve(), destination.absolute()
    if destination.resolve().is_relative_to(unit):
        raise Fault(ReasonCode.PATH_ESCAPE, "the destination must lie outside the unit")
    if os.path.lexists(destination) and (not destination.is_dir() or any(destination.iterdir())):
        raise Fault(ReasonCode.NOT_A_REGULAR_FILE, "the destination must be new or an empty directory")
    destination.parent.mkdir(parents=True, exist_ok=True)
    digest = source_digest(unit)
    # Copied beside and moved at once: a destination is whole or not there.
    with TemporaryDirectory(dir=destination.parent, prefix=".staging-") as temporary:
        source = Path(temporary) / "source"
        source.mkdir()
        for name in source_files(unit):
            _copy_source(unit, name, source / name)
        if source_digest(source) != digest:
            raise Fault(ReasonCode.FILE_UNAVAILABLE, "the unit's source changed while it was copied")
        source.rename(destination)
    return digest


def _tree_above(unit: Path) -> Path:
    registered = (above for above in unit.parents if (above / REGISTRY.path).exists())
    prepared = (above for above in unit.parents if (above / REGISTRY.path).parent.is_dir())
    if tree := next(registered, None) or next(prepared, None):
        return tree
    raise Fault(ReasonCode.FILE_UNAVAILABLE, f"no directory above the unit holds {REGISTRY.path}")


def _path_inside(root: Path, unit: Path) -> str:
    if not unit.is_relative_to(root) or unit == root:
        raise Fault(ReasonCode.PATH_ESCAPE, "the unit must be a directory inside the tree")
    inner = unit.relative_to(root).as_posix()
    if storable_path(inner) is None:
        raise Fault(ReasonCode.INVALID_FIELD, f"{shown(inner)}: the path of the unit must be {SHORT_PATH}")
    return inner


def _appendable(root: Path, place: Place) -> str:
    """The text of a file that a line may be added to; empty where there is no file yet."""
    files = TreeFiles(root)
    if files.is_absent(place):
        return ""
    if (root / place.path).is_symlink():
        raise place.fault(ReasonCode.NOT_A_REGULAR_FILE, "must be a file, not a link")
    data, _ = files.document(place)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise place.fault(ReasonCode.INVALID_FIELD, "must be UTF-8") from error


def _is_registered(root: Path, registry: str, agent_id: str, inner: str) -> bool:
    for number, entry in enumerate(_entries(registry)):
        is_here = _is_at(root, entry, inner)
        if entry.get("agent_id") == agent_id and is_here:
            return True
        if entry.get("agent_id") == agent_id:
            raise REGISTRY.fault(ReasonCode.DUPLICATE_AGENT, f"agents[{number}] names this agent at another path")
        if is_here:
            raise REGISTRY.fault(ReasonCode.AGENT_IDENTITY_MISMATCH, f"agents[{number}] names another agent here")
    return False


def _entries(registry: str) -> list[Object]:
    try:
        entries = load_toml(registry.encode()).get("agents", [])
    except Undecodable as error:
        raise REGISTRY.fault(ReasonCode.REGISTRY_INVALID, str(error)) from error
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise REGISTRY.fault(ReasonCode.REGISTRY_INVALID, "agents must be a list of tables")
    return entries


def _is_at(root: Path, entry: Object, inner: str) -> bool:
    try:
        return locate_unit(root, entry.get("path")) == inner
    except Fault:
        return False


def _placeholder(unit: Path) -> Path:
    directory = unit / GROUND_TRUTH
    if directory.is_symlink() or (directory.exists() and not directory.is_dir()):
        raise Fault(ReasonCode.NOT_A_REGULAR_FILE, f"{GROUND_TRUTH}: must be a directory")
    return directory / ".gitkeep"


def with_entry(registry: str, agent_id: str, inner: str) -> str:
    entry = f"[[agents]]\nagent_id = {toml_text(agent_id)}\npath = {toml_text(inner)}"
    extended = _with_line(registry + "\n" if registry.strip() else registry, entry)
    # An inline list of agents, for one, takes no further table.
    if len(_entries(extended)) != len(_entries(registry)) + 1:
        raise REGISTRY.fault(ReasonCode.REGISTRY_INVALID, "must list its agents as [[agents]] tables")
    return extended


def toml_text(value: str) -> str:
    """A basic string of TOML: escaped as in JSON, but for DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _with_line(text: str, line: str) -> str:
    separator = "" if not text or text.endswith("\n") else "\n"
    return f"{text}{separator}{line}\n"


def _replace(path: Path, text: str) -> None:
    """The file changes at once; whoever reads it sees the old text or the new one."""
    with TemporaryDirectory(dir=path.parent, prefix=f".{path.name}-") as temporary:
        replacement = Path(temporary) / path.name
        replacement.write_bytes(text.encode())
        if path.exists():
            shutil.copymode(path, replacement)
        replacement.replace(path)


def _copy_source(unit: Path, name: str, target: Path) -> None:
    place = Place("", name)
    if resolve(unit, place).relative_to(unit).parts[0] == GROUND_TRUTH:
        raise place.fault(ReasonCode.PATH_ESCAPE, f"must not be a link into {GROUND_TRUTH}/")
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("w+b") as body:
        copy(unit, place, sys.maxsize, body)
    shutil.copymode(unit / name, target)
