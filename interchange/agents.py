"""One registered agent: its unit's description, its manifest and the digest of its source."""

from dataclasses import dataclass, field
from pathlib import Path

from interchange.documents import Object, Undecodable, load_toml
from interchange.files import TreeFiles
from interchange.manifests import Manifest, parse_manifest
from interchange.reading import Fault, Place
from interchange.records import AgentRecord, KeptFile, Notice
from interchange.registry import Registration
from interchange.sources import GROUND_TRUTH
from models.base import ManifestState, ReasonCode
from resolvers.forms import SHORT_TEXT, identity, text

DESCRIPTION = "agent.toml"
MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class AgentReading:
    record: AgentRecord
    notices: list[Notice] = field(default_factory=list)
    files: list[KeptFile] = field(default_factory=list)


def read_agent(files: TreeFiles, registration: Registration) -> AgentReading:
    agent_id, unit = registration.agent_id, registration.unit
    if unit is None:
        return AgentReading(AgentRecord(agent_id, agent_id, None, None, None, ManifestState.INVALID))
    source = _source_digest(files, unit)
    return files.recall(("agent", registration, source), lambda: _Unit(files, unit).read(registration, source))


def check_manifest(path: Path) -> list[Notice]:
    """What makes a manifest invalid as a whole; `path` is the file or its unit."""
    path = path.absolute()
    manifest = path / GROUND_TRUTH / MANIFEST if path.is_dir() else path
    unit = _Unit(TreeFiles(manifest.parent.parent), "", Place(manifest.parent.name, manifest.name))
    try:
        unit.manifest(unit.identity())
    except Fault as fault:
        return [Notice(fault.code, fault.message)]
    return []


def unit_identity(unit: Path) -> str:
    """The agent_id in a unit's description."""
    return _Unit(TreeFiles(unit), "").identity()


def _source_digest(files: TreeFiles, unit: str) -> str | None:
    """None for a source that has no digest: a missing unit, or one with a link that leaves it."""
    try:
        return files.source_digest(unit) if (files.root / unit).is_dir() else None
    except (Fault, OSError):
        return None


class _Unit:
    def __init__(self, files: TreeFiles, unit: str, manifest: Place | None = None) -> None:
        self._files, self._unit = files, unit
        self._description = Place(unit, DESCRIPTION)
        self._manifest = manifest or Place(f"{unit}/{GROUND_TRUTH}", MANIFEST)
        self._kept: dict[Place, KeptFile] = {}

    def read(self, registration: Registration, source: str | None) -> AgentReading:
        notices, manifest, state = self._judged(registration)
        described = self._described()
        record = AgentRecord(
            agent_id=registration.agent_id,
            name=text(described.get("name")) or registration.agent_id,
            framework=text(described.get("framework")),
            unit_path=self._unit,
            source_sha256=source,
            manifest_state=state,
            description=self._kept.get(self._description),
            manifest=self._kept.get(self._manifest),
            head=manifest.head if manifest else None,
            defects=manifest.defects if manifest else [],
        )
        return AgentReading(record, notices, list(self._kept.values()))

    def identity(self) -> str:
        if (agent_id := identity(self._parsed().get("agent_id"))) is None:
            raise self._description.fault(ReasonCode.AGENT_TOML_INVALID, f"agent_id must be {SHORT_TEXT}")
        return agent_id

    def manifest(self, agent_id: str) -> Manifest:
        if self._parsed().get("agent_id") != agent_id:
            raise self._description.fault(
                ReasonCode.AGENT_IDENTITY_MISMATCH, "agent_id must be that of the registration"
            )
        return parse_manifest(self._files, self._manifest, self._bytes(self._manifest), agent_id)

    def _judged(self, registration: Registration) -> tuple[list[Notice], Manifest | None, ManifestState]:
        if self._files.is_absent(self._manifest):
            return [], None, ManifestState.MISSING if registration.is_sound else ManifestState.INVALID
        try:
            # Kept before anything is checked: an export writes a faulty manifest from its bytes.
            self._keep(self._manifest)
            if not registration.is_sound:
                return [], None, ManifestState.INVALID
            return [], self.manifest(registration.agent_id), ManifestState.VALID
        except Fault as fault:
            return [Notice(fault.code, fault.message, registration.agent_id)], None, ManifestState.INVALID

    def _described(self) -> Object:
        try:
            return self._parsed()
        except Fault:
            return {}

    def _parsed(self) -> Object:
        try:
            return load_toml(self._bytes(self._description))
        except Fault as fault:
            raise Fault(ReasonCode.AGENT_TOML_INVALID, fault.message) from fault
        except Undecodable as error:
            raise self._description.fault(ReasonCode.AGENT_TOML_INVALID, str(error)) from error

    def _keep(self, place: Place) -> None:
        try:
            self._bytes(place)
        except Fault:
            return

    def _bytes(self, place: Place) -> bytes:
        data, self._kept[place] = self._files.document(place)
        return data
