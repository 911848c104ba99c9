"""Which files an export consists of, decided whole before the first is written."""

import hashlib
import posixpath
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from interchange.agents import DESCRIPTION, MANIFEST
from interchange.discovery import PLAN, RESULTS
from interchange.documents import Undecodable, load_object, load_toml
from interchange.export import documents
from interchange.export.contents import Contents, HeldAgent, HeldSuite
from interchange.export.registry import Units
from interchange.files import TreeFiles
from interchange.reading import Fault, Place, shown
from interchange.registry import REGISTRY
from interchange.sidecars import SIDECAR
from interchange.sources import GROUND_TRUTH
from interchange.units import toml_text
from interchange.uploads import Store, checked
from models.base import Keeper, ManifestState, ReasonCode
from resolvers.errors import Refused

# Bytes that were made here, or the digest of bytes that are kept.
Content = bytes | str


def digest_of(content: Content) -> str:
    return content if isinstance(content, str) else hashlib.sha256(content).hexdigest()


@dataclass(slots=True)
class Decided:
    """Contents by path, what forbids to write any of them, and what is left out without harm."""

    files: dict[str, Content] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    notes: list[Fault] = field(default_factory=list)

    def put(self, path: str, content: Content, *, instead: bool = False) -> None:
        """`instead` of what was to be there before."""
        place = posixpath.normpath(path)
        if place.startswith(("/", "../")) or place in (".", ".."):
            raise Fault(ReasonCode.PATH_ESCAPE, f"{shown(path)}: must stay inside the tree")
        held = self.files.get(place)
        if held is not None and not instead and digest_of(held) != digest_of(content):
            raise Fault(ReasonCode.INVALID_FIELD, f"{shown(place)}: two files of different content would lie here")
        self.files[place] = content

    def finish(self) -> None:
        for path in self.files:
            if above := next((above for above in _above(path) if above in self.files), None):
                message = f"{shown(above)}: would have to be a file and a directory"
                self.faults.append(Fault(ReasonCode.NOT_A_REGULAR_FILE, message))


def _above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


async def decide(held: Contents, root: Path, store: Store, *, is_whole: bool = True) -> Decided:
    """`root` is what the tree will be written over, if it is there; a part of it is added to what lies there."""
    return await _Deciding(held, root, store, is_whole=is_whole).decide()


class _Deciding:
    def __init__(self, held: Contents, root: Path, store: Store, *, is_whole: bool) -> None:
        self._held, self._store = held, store
        self._target = TreeFiles(root)
        if not is_whole and not self._target.is_absent(REGISTRY):
            held.documents.pop(REGISTRY.path, None)
        self._decided = Decided()

    async def decide(self) -> Decided:
        await self._attempt(self._agents())
        left_out = await self._left_out()
        for suite in self._held.suites:
            directory = left_out.get(suite.suite_id) or suite.directory or f"{RESULTS}/{suite.suite_id}"
            await self._attempt(self._suite(suite, directory))
        self._decided.finish()
        return self._decided

    async def _attempt(self, step: Coroutine[Any, Any, None]) -> None:
        """Whatever is at fault is told, so that everything can be mended at once."""
        try:
            await step
        except Fault as fault:
            self._decided.faults.append(fault)

    async def _agents(self) -> None:
        units = Units(self._target.root, await self._kept(REGISTRY, self._held.documents.get(REGISTRY.path)))
        placed: list[tuple[HeldAgent, str]] = []
        # Trees first: the API's agents take what place is left.
        for agent in sorted(self._held.agents, key=lambda agent: agent.keeper != Keeper.TREE):
            await self._attempt(self._place(agent, units, placed))
        moved = {agent.unit_path: unit for agent, unit in placed if agent.keeper == Keeper.TREE}
        for path, digest in self._held.documents.items():
            self._decided.put(_moved(path, moved), digest)
        if units.is_extended:
            await self._attempt(self._made(REGISTRY, lambda: units.registry))
        for agent, unit in placed:
            await self._attempt(self._agent(agent, unit, is_sound=units.is_sound(agent.agent_id)))

    async def _place(self, agent: HeldAgent, units: Units, placed: list[tuple[HeldAgent, str]]) -> None:
        if agent.keeper == Keeper.API and agent.manifest_state == ManifestState.INVALID and agent.unit_path is None:
            message = f"agent {shown(agent.agent_id)}: was adopted without a unit, and is left out"
            self._decided.notes.append(Fault(ReasonCode.REGISTRY_INVALID, message))
        elif unit := units.of(agent):
            placed.append((agent, unit))

    async def _agent(self, agent: HeldAgent, unit: str, *, is_sound: bool) -> None:
        place = Place(f"{unit}/{GROUND_TRUTH}", MANIFEST)
        is_of_tree = agent.keeper == Keeper.TREE
        if agent.manifest_state == ManifestState.INVALID:
            return self._faulty(agent, place, unit, is_sound=is_sound)
        if not is_of_tree or (agent.defects and agent.manifest_state == ManifestState.MISSING):
            await self._describe(agent, Place(unit, DESCRIPTION))
        for defect in agent.defects:
            for path, digest in defect.evidence.items():
                self._decided.put(f"{unit}/{GROUND_TRUTH}/{path}", digest)
        if agent.defects or agent.manifest_state == ManifestState.VALID:
            kept = await self._kept(place, self._planned(place) or agent.manifest_sha256)
            await self._made(place, lambda: documents.manifest(agent, kept, place))
        return None

    def _faulty(self, agent: HeldAgent, place: Place, unit: str, *, is_sound: bool) -> None:
        """A faulty manifest is written as it was read; one that could not be read must be there already."""
        if agent.keeper == Keeper.API:
            for kept, path in (
                (agent.manifest_sha256, place.path),
                (agent.description_sha256, f"{unit}/{DESCRIPTION}"),
            ):
                if kept:
                    self._decided.put(path, kept)
        elif is_sound and place.path not in self._decided.files and self._target.is_absent(place):
            raise place.fault(ReasonCode.FILE_UNAVAILABLE, "could never be read, so that there is nothing to write")

    async def _describe(self, agent: HeldAgent, place: Place) -> None:
        """The unit must say whose it is, or its manifest would not count."""
        digest = self._planned(place) or agent.description_sha256
        kept = await self._kept(place, digest)
        if kept is None:
            self._decided.put(place.path, _description(agent))
        elif _agent_id(place, kept) != agent.agent_id:
            raise place.fault(ReasonCode.AGENT_IDENTITY_MISMATCH, f"must name the agent {shown(agent.agent_id)}")
        elif digest:
            self._decided.put(place.path, digest)

    async def _left_out(self) -> dict[str, str]:
        """Directories of the tree by the Suite there that somebody else keeps: a second one would be ambiguous."""
        told = {suite.directory for suite in self._held.suites if suite.keeper == Keeper.TREE}
        found = {}
        for path, digest in self._held.documents.items():
            directory, _, name = path.rpartition("/")
            if name == PLAN and directory not in told:
                found[await self._suite_id(Place(directory, PLAN), digest)] = directory
        return found

    async def _suite_id(self, place: Place, digest: str) -> str:
        try:
            return str(load_object(await self._fetched(place, digest)).get("suite_id"))
        except (Fault, Undecodable):
            return ""

    async def _suite(self, suite: HeldSuite, directory: str) -> None:
        if suite.is_legacy:
            message = f"Suite {suite.suite_id}: is a result log without a plan, which no tree holds, and is left out"
            self._decided.notes.append(Fault(ReasonCode.NO_PROVENANCE, message))
            return
        is_tree = suite.keeper == Keeper.TREE
        for path, digest in suite.documents.items():
            self._decided.put(f"{directory}/{path}", digest, instead=True)
        for path, digest in suite.artifacts.items():
            self._decided.put(f"{directory}/{path}", digest)
        place = Place(directory, SIDECAR)
        if is_tree and not suite.standing:
            return
        kept = await self._kept(place, self._planned(place))
        await self._made(place, lambda: documents.sidecar(place, suite.suite_id, kept, suite.standing, is_tree=is_tree))

    async def _made(self, place: Place, make: Callable[[], bytes | None]) -> None:
        if (data := make()) is not None:
            self._decided.put(place.path, data, instead=True)

    def _planned(self, place: Place) -> str | None:
        held = self._decided.files.get(posixpath.normpath(place.path))
        return None if held is None else digest_of(held)

    async def _kept(self, place: Place, digest: str | None) -> bytes | None:
        """The document as it was kept, else what the target holds, so that keys which nobody here knows stay."""
        if digest is not None:
            return await self._fetched(place, digest)
        if self._target.is_absent(place):
            return None
        return self._target.document(place)[0]

    async def _fetched(self, place: Place, digest: str) -> bytes:
        size = await self._store.size(digest)
        try:
            return b"".join([chunk async for chunk in checked(self._store, digest, size or 0)])
        except Refused as error:
            raise place.fault(error.code, error.message) from error


def _moved(path: str, units: dict[str | None, str]) -> str:
    """Where a document of a unit goes that links led to elsewhere."""
    for name in (DESCRIPTION, f"{GROUND_TRUTH}/{MANIFEST}"):
        if path.endswith(f"/{name}") and (unit := units.get(path.removesuffix(f"/{name}"))):
            return f"{unit}/{name}"
    return path


def _description(agent: HeldAgent) -> bytes:
    given = {"agent_id": agent.agent_id, "name": agent.name, "framework": agent.framework}
    if agent.name == agent.agent_id:
        del given["name"]
    return "".join(f"{key} = {toml_text(value)}\n" for key, value in given.items() if value is not None).encode()


def _agent_id(place: Place, data: bytes) -> object:
    try:
        return load_toml(data).get("agent_id")
    except Undecodable as error:
        raise place.fault(ReasonCode.AGENT_TOML_INVALID, str(error)) from error
