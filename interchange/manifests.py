"""A unit's manifest: confirmed defects with the evidence that they were repeated."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Protocol

from interchange.digests import digest_text
from interchange.documents import Object, Undecodable, canonical, object_at, storable
from interchange.reading import Fault, Place
from interchange.records import DefectRecord, KeptFile, ObservationRecord
from models.base import ReasonCode
from resolvers.forms import SHORT_TEXT, identity, instant, objects, sha256, text

SCHEMA = "abb.agent.ground_truth.v1"
LEAST_OBSERVATIONS = 2
_DEFECT_KEYS = {
    *("id", "title", "expected_behavior", "observed_behavior", "confirmed_by", "confirmed_at"),
    *("source_sha256", "case_sha256", "observations"),
}


@dataclass(frozen=True, slots=True)
class Manifest:
    head: str
    defects: list[DefectRecord]


class Evidence(Protocol):
    """Where the files lie that observations name."""

    def locate(self, place: Place) -> Hashable:
        """Where a name leads: the same for two names of one file. Raises PATH_ESCAPE."""
        ...

    def evidence(self, place: Place, claimed: object) -> KeptFile:
        """The file there; `claimed` is the digest that it should have."""
        ...


def parse_manifest(files: Evidence, place: Place, data: bytes, agent_id: str) -> Manifest:
    """The manifest, or the fault that makes it invalid as a whole."""
    return defects_of(files, place, manifest_at(place, data, agent_id))


def manifest_at(place: Place, data: bytes, agent_id: str) -> Object:
    """The document of this agent, whatever its defects."""
    document = object_at(place, data)
    if document.get("schema") != SCHEMA:
        raise place.fault(ReasonCode.UNSUPPORTED_SCHEMA, f"schema must be {SCHEMA}")
    if document.get("agent_id") != agent_id:
        raise place.fault(ReasonCode.AGENT_IDENTITY_MISMATCH, "agent_id must be that of the registration")
    if objects(document.get("defects")) is None:
        raise place.fault(ReasonCode.INVALID_FIELD, "defects must be a list of at most 10,000 objects")
    return document


def defects_of(files: Evidence, place: Place, document: Object) -> Manifest:
    records = document.pop("defects")
    seen: set[str] = set()
    defects = [_Defect(files, place, number, record, seen).read() for number, record in enumerate(records)]
    return Manifest(_canonical(place, document), defects)


def _canonical(place: Place, value: Any) -> str:
    try:
        return storable(canonical(value))
    except Undecodable as error:
        raise place.fault(ReasonCode.INVALID_JSON, str(error)) from error


class _Defect:
    """One record being read; every check raises the fault that is told."""

    def __init__(self, files: Evidence, place: Place, number: int, record: Object, seen: set[str]) -> None:
        self._files, self._place, self._record = files, place, record
        self._where = f"defects[{number}]"
        self._seen = seen

    def read(self) -> DefectRecord:
        # A dictionary of calls would read shorter, but the order of these lines is the order of the checks.
        defect_id = self._identity()
        title = self._text("title")
        expected = self._text("expected_behavior")
        observed = self._text("observed_behavior")
        confirmed_by = self._text("confirmed_by")
        if (confirmed_at := instant(self._record.get("confirmed_at"))) is None:
            raise self._fault(ReasonCode.INVALID_FIELD, "confirmed_at must be an ISO 8601 instant with an offset")
        source = self._digest("source_sha256")
        case = self._digest("case_sha256")
        observations = self._observations(case)
        record, digest = self._spelled()
        return DefectRecord(
            defect_id=defect_id,
            title=title,
            expected_behavior=expected,
            observed_behavior=observed,
            confirmed_by=confirmed_by,
            confirmed_at=confirmed_at,
            source_sha256=source,
            case_sha256=case,
            ground_truth_sha256=digest,
            record=record,
            extra=self._extra(),
            observations=observations,
        )

    def _identity(self) -> str:
        if (defect_id := identity(self._record.get("id"))) is None:
            raise self._fault(ReasonCode.INVALID_FIELD, f"id must be {SHORT_TEXT}")
        if defect_id in self._seen:
            raise self._fault(ReasonCode.DUPLICATE_DEFECT, "id must differ from that of every defect before it")
        self._seen.add(defect_id)
        return defect_id

    def _observations(self, case: str) -> list[ObservationRecord]:
        records = objects(self._record.get("observations"))
        if records is None:
            raise self._fault(ReasonCode.INVALID_FIELD, "observations must be a list of at most 10,000 objects")
        identities: set[str] = set()
        targets: set[Hashable] = set()
        read = [self._observation(n, record, case, identities, targets) for n, record in enumerate(records)]
        if len(read) < LEAST_OBSERVATIONS:
            raise self._fault(ReasonCode.TOO_FEW_OBSERVATIONS, "observations must be at least two")
        return read

    def _observation(
        self, number: int, record: Object, case: str, identities: set[str], targets: set[Hashable]
    ) -> ObservationRecord:
        where = f"observations[{number}]"
        if (observation_id := identity(record.get("id"))) is None:
            raise self._fault(ReasonCode.INVALID_FIELD, f"{where}.id must be {SHORT_TEXT}")
        if observation_id in identities:
            raise self._fault(ReasonCode.DUPLICATE_OBSERVATION, f"{where}.id must differ from those before it")
        if record.get("case_sha256") != case:
            raise self._fault(ReasonCode.OBSERVATION_CASE_MISMATCH, f"{where}.case_sha256 must be the defect's")
        identities.add(observation_id)
        path, evidence = self._evidence(where, record, targets)
        return ObservationRecord(observation_id, case, path, evidence.sha256, evidence)

    def _evidence(self, where: str, record: Object, targets: set[Hashable]) -> tuple[str, KeptFile]:
        if (path := text(record.get("evidence_path"))) is None:
            raise self._fault(ReasonCode.INVALID_FIELD, f"{where}.evidence_path must be nonempty text")
        if ".." in path.split("/"):
            raise self._fault(ReasonCode.PATH_ESCAPE, f"{where}.evidence_path must be without '..'")
        place = Place(self._place.directory, path)
        target = self._files.locate(place)
        if target in targets:
            raise self._fault(ReasonCode.DUPLICATE_EVIDENCE, f"{where}.evidence_path must name a file of its own")
        targets.add(target)
        claimed = record.get("evidence_sha256")
        evidence = self._files.evidence(place, claimed)
        if evidence.sha256 != claimed:
            raise self._fault(ReasonCode.EVIDENCE_DIGEST_MISMATCH, f"{where}.evidence_sha256 must be the file's digest")
        return path, evidence

    def _spelled(self) -> tuple[str, str]:
        try:
            record = canonical(self._record)
            return record, digest_text(record)
        except UnicodeEncodeError as error:
            raise self._fault(ReasonCode.INVALID_FIELD, "holds a lone surrogate and so has no digest") from error
        except Undecodable as error:
            raise self._place.fault(ReasonCode.INVALID_JSON, str(error)) from error

    def _extra(self) -> str | None:
        unknown = {key: value for key, value in self._record.items() if key not in _DEFECT_KEYS}
        return canonical(unknown) if unknown else None

    def _text(self, key: str) -> str:
        if (value := text(self._record.get(key))) is None:
            raise self._fault(ReasonCode.INVALID_FIELD, f"{key} must be nonempty text")
        return value

    def _digest(self, key: str) -> str:
        if (value := sha256(self._record.get(key))) is None:
            raise self._fault(ReasonCode.INVALID_FIELD, f"{key} must be 64 lowercase hexadecimal characters")
        return value

    def _fault(self, code: ReasonCode, message: str) -> Fault:
        return self._place.fault(code, f"{self._where}.{message}")
