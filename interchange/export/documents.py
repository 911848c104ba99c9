"""Documents that an export writes anew, out of what was read and what the API added."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC
from typing import Any, Final

from sqlalchemy import Row

from interchange.digests import digest_json
from interchange.documents import Object, Undecodable, load_json, load_object
from interchange.export.contents import HeldAgent
from interchange.manifests import SCHEMA as MANIFEST_SCHEMA
from interchange.reading import DOCUMENT_LIMIT, MIB, Fault, Place
from interchange.records import SidecarRecord
from interchange.sidecars import SCHEMA as SIDECAR_SCHEMA
from interchange.sidecars import claim_of, records_at, sidecar_at
from models.base import ReasonCode
from resolvers.forms import MOST_RECORDS
from resolvers.judgement import VALUES

# The key under which a sidecar that nobody could read stays in the one that takes its place.
REPLACED: Final = "replaced"

Identity = tuple[str, int, str, str]


def manifest(agent: HeldAgent, kept: bytes | None, place: Place) -> bytes:
    """The manifest of the present defects: as it was kept where it says just that, with its own words where not."""
    document = _object(place, kept) if kept is not None else {}
    own = {digest: record for record in _own_defects(document) if (digest := _digest(record))}
    wanted = [defect.ground_truth_sha256 for defect in agent.defects]
    if kept is not None and list(own) == wanted and document.get("schema") == MANIFEST_SCHEMA:
        return kept
    head = {"schema": MANIFEST_SCHEMA, "agent_id": agent.agent_id}
    if agent.manifest_head:
        head = load_object(agent.manifest_head.encode())
    records = [own.get(defect.ground_truth_sha256) or load_json(defect.record.encode()) for defect in agent.defects]
    return _written(place, {**document, **head}, "defects", records)


def sidecar(
    place: Place, suite_id: str, kept: bytes | None, standing: Sequence[Row[Any]], *, is_tree: bool
) -> bytes | None:
    """The sidecar with the API's standing records; None where there is nothing to say.

    A tree's records stay as they are, but for those that the API's records refuse. Of a sidecar of the API's own only
    what stands is left.
    """
    if kept is None:
        head: Object = {"schema": SIDECAR_SCHEMA, "suite_id": suite_id}
        return _written(place, head, "assessments", list(map(_record, standing))) if standing else None
    try:
        head = sidecar_at(place, kept)
        if head.get("suite_id") != suite_id:
            raise place.fault(ReasonCode.SUITE_IDENTITY_MISMATCH, "suite_id must be that of the plan")
        records = records_at(place, head)
    except Fault:
        return _in_place_of(place, suite_id, kept, standing) if standing else kept
    merged = _merged(records, {_identity(row): row for row in standing}, is_tree=is_tree)
    return kept if merged == records else _written(place, head, "assessments", merged)


def _in_place_of(place: Place, suite_id: str, faulty: bytes, standing: Sequence[Row[Any]]) -> bytes:
    """What nobody could read stays whole, under a key that nobody knows."""
    head = {"schema": SIDECAR_SCHEMA, "suite_id": suite_id, REPLACED: _as_read(faulty)}
    return _written(place, head, "assessments", list(map(_record, standing)))


def _as_read(data: bytes) -> Any:
    try:
        return load_json(data)
    except Undecodable:
        return data.decode(errors="backslashreplace")


def _merged(records: Sequence[Object], standing: Mapping[Identity, Row[Any]], *, is_tree: bool) -> list[Object]:
    claimed = [_claimed(index, record) for index, record in enumerate(records)]
    repeated = _repeated(filter(None, claimed), standing)
    left, merged = dict(standing), []
    for record, claim in zip(records, claimed, strict=True):
        identity = _identity(claim) if claim else None
        if identity is None or identity not in standing:
            if is_tree:
                merged.append(record)
        elif identity in repeated:
            left.pop(identity, None)
            merged.append(record)
        elif row := left.pop(identity, None):
            merged.append(_record(row))
    return [*merged, *map(_record, left.values())]


def _repeated(claims: Iterable[SidecarRecord], standing: Mapping[Identity, Row[Any]]) -> set[Identity]:
    """Identities of which the records all say what stands, so that nothing need be added."""
    groups: dict[Identity, list[SidecarRecord]] = defaultdict(list)
    for claim in claims:
        groups[_identity(claim)].append(claim)
    return {
        identity
        for identity, group in groups.items()
        if identity in standing and len({claim.digest for claim in group}) == 1 and _same(group[0], standing[identity])
    }


def _same(claim: SidecarRecord, row: Row[Any]) -> bool:
    return claim.fault_code is None and all(getattr(claim, name) == row._mapping[name] for name in VALUES)


def _claimed(index: int, record: Object) -> SidecarRecord | None:
    try:
        return claim_of(index, record)
    except Fault:
        return None


def _identity(record: SidecarRecord | Row[Any]) -> Identity:
    return record.agent_id, record.case_index, record.attempt_id, record.defect_id


def _record(row: Row[Any]) -> Object:
    return {
        "agent_id": row.agent_id,
        "case_index": row.case_index,
        "attempt_id": row.attempt_id,
        "ground_truth_id": row.defect_id,
        "ground_truth_sha256": row.ground_truth_sha256,
        "case_sha256": row.case_sha256,
        "result_sha256": row.result_sha256,
        "case_reproduced": row.case_reproduced,
        "judge_detected": row.judge_detected,
        "reviewed_by": row.reviewed_by,
        "reviewed_at": row.reviewed_at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        "rationale": row.rationale,
    }


def _own_defects(document: Object) -> list[Object]:
    defects = document.get("defects")
    return [record for record in defects if isinstance(record, dict)] if isinstance(defects, list) else []


def _digest(record: Object) -> str | None:
    try:
        return digest_json(record)
    except ValueError:
        return None


def _object(place: Place, data: bytes) -> Object:
    try:
        return load_object(data)
    except Undecodable as error:
        raise place.fault(ReasonCode.INVALID_JSON, str(error)) from error


def _written(place: Place, head: Object, key: str, records: list[Object]) -> bytes:
    if len(records) > MOST_RECORDS:
        raise place.fault(ReasonCode.INVALID_FIELD, f"{key} would be more than {MOST_RECORDS}")
    document = {**head, key: records}
    # As people write it, unless that is too long or too deep, or holds what has no bytes but as an escape.
    forms: tuple[dict[str, Any], ...] = (
        {"ensure_ascii": False, "indent": 2},
        {"ensure_ascii": False, "separators": (",", ":")},
        {"ensure_ascii": True, "separators": (",", ":")},
    )
    for form in forms:
        try:
            data = f"{json.dumps(document, **form)}\n".encode()
        except (UnicodeEncodeError, RecursionError):
            continue
        if len(data) <= DOCUMENT_LIMIT:
            return data
    raise place.fault(ReasonCode.FILE_TOO_LARGE, f"would be larger than {DOCUMENT_LIMIT // MIB} MiB")
