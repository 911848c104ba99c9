"""The assessments beside a Suite: what each record claims, and where its form is at fault."""

from dataclasses import dataclass, field
from typing import Any

from interchange.digests import digest_text
from interchange.documents import Object, Undecodable, canonical, object_at
from interchange.files import TreeFiles
from interchange.reading import Fault, Place
from interchange.records import KeptFile, Notice, SidecarRecord
from models.base import ReasonCode
from resolvers.forms import SHORT_TEXT, identity, instant, integer, objects, sha256, text

SCHEMA = "abb.ground_truth.assessments.v1"
SIDECAR = "ground_truth/assessments.json"

# Places in the order of checks, where a fault of form may lie; SidecarRecord names them all.
_GROUND_TRUTH, _DECISIONS, _CONTRADICTION, _REVIEW, _CASE, _RESULT = 4, 6, 7, 8, 11, 15
# A decision that is there but neither true, false nor null.
_FORMLESS = object()


@dataclass(frozen=True, slots=True)
class Sidecar:
    records: list[SidecarRecord] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    file: KeptFile | None = None
    # What stands there, in a word: it changes whenever anything above does.
    mark: str = "absent"


def read_sidecar(files: TreeFiles, directory: str, suite_id: str) -> Sidecar:
    place = Place(directory, SIDECAR)
    if files.is_absent(place):
        return Sidecar()
    kept = None
    try:
        data, kept = files.document(place)
        document = sidecar_at(place, data)
        if document.get("suite_id") != suite_id:
            raise place.fault(ReasonCode.SUITE_IDENTITY_MISMATCH, "suite_id must be that of the plan")
        claims, notices = claims_at(place, suite_id, records_at(place, document))
    except Fault as fault:
        notice = Notice(fault.code, fault.message, suite_id=suite_id)
        return Sidecar(notices=[notice], file=kept, mark=kept.sha256 if kept else fault.code)
    return Sidecar(claims, notices, kept, kept.sha256)


def sidecar_at(place: Place, data: bytes) -> Object:
    """The document, whichever Suite it is about."""
    document = object_at(place, data)
    if document.get("schema") != SCHEMA:
        raise place.fault(ReasonCode.UNSUPPORTED_SCHEMA, f"schema must be {SCHEMA}")
    return document


def records_at(place: Place, document: Object) -> list[Object]:
    records = objects(document.get("assessments"))
    if records is None:
        raise place.fault(ReasonCode.INVALID_FIELD, "assessments must be a list of at most 10,000 objects")
    return records


def claims_at(place: Place, suite_id: str, records: list[Object]) -> tuple[list[SidecarRecord], list[Notice]]:
    """Equal records of one identity count once; different ones all stay, for whoever finds the conflict."""
    claims: dict[tuple[Any, ...], SidecarRecord] = {}
    notices = []
    for index, record in enumerate(records):
        try:
            claim = claim_of(index, record)
        except Fault as fault:
            message = place.fault(fault.code, f"assessments[{index}].{fault.message}").message
            notices.append(Notice(fault.code, message, suite_id=suite_id, assessment_index=index))
            continue
        identity = claim.agent_id, claim.case_index, claim.attempt_id, claim.defect_id, claim.digest
        claims.setdefault(identity, claim)
    return list(claims.values()), notices


def claim_of(index: int, record: Object) -> SidecarRecord:
    """Raises the fault of a record without a sound identity, which claims nothing."""
    case_index = integer(record.get("case_index"))
    if case_index is None:
        raise Fault(ReasonCode.INVALID_FIELD, "case_index must be an integer from 0 to 2147483647")
    spelled, digest = _spelled(record)
    step, code = form_fault(record) or (None, None)
    case_reproduced, judge_detected = _decision(record, "case_reproduced"), _decision(record, "judge_detected")
    return SidecarRecord(
        index=index,
        agent_id=_identity(record, "agent_id"),
        case_index=case_index,
        attempt_id=_identity(record, "attempt_id"),
        defect_id=_identity(record, "ground_truth_id"),
        digest=digest,
        record=spelled,
        fault_step=step,
        fault_code=code,
        ground_truth_sha256=sha256(record.get("ground_truth_sha256")),
        case_sha256=sha256(record.get("case_sha256")),
        result_sha256=sha256(record.get("result_sha256")),
        case_reproduced=case_reproduced if isinstance(case_reproduced, bool) else None,
        judge_detected=judge_detected if isinstance(judge_detected, bool) else None,
        reviewed_by=text(record.get("reviewed_by")),
        reviewed_at=instant(record.get("reviewed_at")),
        rationale=text(record.get("rationale")),
    )


def form_fault(record: Object) -> tuple[int, ReasonCode] | None:
    """The first fault of a record's form: its place in the order of checks, and its code."""
    if sha256(record.get("ground_truth_sha256")) is None:
        return _GROUND_TRUTH, ReasonCode.INVALID_FIELD
    case_reproduced, judge_detected = _decision(record, "case_reproduced"), _decision(record, "judge_detected")
    if _FORMLESS in (case_reproduced, judge_detected):
        return _DECISIONS, ReasonCode.INVALID_FIELD
    if judge_detected is True and case_reproduced is not True:
        return _CONTRADICTION, ReasonCode.INVALID_DECISION
    is_signed = text(record.get("reviewed_by")) and instant(record.get("reviewed_at")) and text(record.get("rationale"))
    if not is_signed:
        return _REVIEW, ReasonCode.INVALID_FIELD
    if sha256(record.get("case_sha256")) is None:
        return _CASE, ReasonCode.INVALID_FIELD
    if sha256(record.get("result_sha256")) is None:
        return _RESULT, ReasonCode.RESULT_DIGEST_MISMATCH
    return None


def _decision(record: Object, key: str) -> object:
    value = record.get(key, _FORMLESS)
    return value if value is None or isinstance(value, bool) else _FORMLESS


def _identity(record: Object, key: str) -> str:
    if (value := identity(record.get(key))) is None:
        raise Fault(ReasonCode.INVALID_FIELD, f"{key} must be {SHORT_TEXT}")
    return value


def _spelled(record: Object) -> tuple[str, str]:
    try:
        spelled = canonical(record)
        return spelled, digest_text(spelled)
    except UnicodeEncodeError as error:
        raise Fault(ReasonCode.INVALID_FIELD, "record must be without lone surrogates") from error
    except Undecodable as error:
        raise Fault(ReasonCode.INVALID_FIELD, f"record {error}") from error
