"""A defect as a person describes it, and the checks that a manifest would make of its record."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

from sqlalchemy import and_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from models import Defect, DefectRevision, File, Observation
from models.base import ReasonCode, table
from resolvers.canonical import digest_text, spelled
from resolvers.errors import InvalidInput, Refused
from resolvers.forms import MOST_RECORDS, require_text
from resolvers.sql import among

defects, revisions, observations, files = table(Defect), table(DefectRevision), table(Observation), table(File)

LEAST_OBSERVATIONS = 2
TEXTS = ("title", "expected_behavior", "observed_behavior", "confirmed_by")
NAMED = {"id", *TEXTS, "confirmed_at", "source_sha256", "case_sha256", "observations"}


@dataclass(frozen=True, slots=True)
class Repetition:
    """One observation of a defect, whose evidence is in the file store."""

    observation_id: str
    case_sha256: str
    evidence_path: str
    evidence_sha256: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A defect as a person describes it."""

    title: str
    expected_behavior: str
    observed_behavior: str
    confirmed_by: str
    confirmed_at: datetime
    source_sha256: str
    case_sha256: str
    observations: Sequence[Repetition]
    extra: Any

    def record(self, defect_id: str) -> dict[str, Any]:
        """The record in the manifest's form."""
        return {
            **(self.extra or {}),
            "id": defect_id,
            "title": self.title,
            "expected_behavior": self.expected_behavior,
            "observed_behavior": self.observed_behavior,
            "confirmed_by": self.confirmed_by,
            "confirmed_at": self.confirmed_at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
            "source_sha256": self.source_sha256,
            "case_sha256": self.case_sha256,
            "observations": [
                {
                    "id": observation.observation_id,
                    "case_sha256": observation.case_sha256,
                    "evidence_path": observation.evidence_path,
                    "evidence_sha256": observation.evidence_sha256,
                }
                for observation in self.observations
            ],
        }

    def spelled(self, defect_id: str) -> tuple[str, str]:
        """The record's canonical text and its digest."""
        try:
            record = spelled(self.record(defect_id))
            return record, digest_text(record)
        except (UnicodeEncodeError, ValueError, RecursionError):
            message = "extra must be a document that has a canonical text: no lone surrogates, no NaN, not too deep."
            raise InvalidInput(message, ("defect", "extra"), ReasonCode.INVALID_FIELD) from None


async def require_sound(connection: AsyncConnection, agent_pk: int, defect_id: str, finding: Finding) -> None:
    """The checks of a manifest's record, in its order."""
    for name in TEXTS:
        require_text(getattr(finding, name), ("defect", name))
    _require_extra(finding.extra)
    if len(finding.observations) > MOST_RECORDS:
        message = f"A defect has at most {MOST_RECORDS} observations."
        raise InvalidInput(message, ("defect", "observations"), ReasonCode.INVALID_FIELD)
    seen_ids: set[str] = set()
    seen_paths: set[PurePosixPath] = set()
    stored = await _stored(connection, finding.observations)
    known = await _evidence(connection, agent_pk, defect_id)
    for number, observation in enumerate(finding.observations):
        path = ("defect", "observations", str(number))
        require_text(observation.observation_id, (*path, "observation_id"))
        if observation.observation_id in seen_ids:
            raise Refused(f"{'.'.join(path)}: this observation is given twice.", ReasonCode.DUPLICATE_OBSERVATION)
        _require_place(observation, finding.case_sha256, path)
        place = PurePosixPath(observation.evidence_path)
        if place in seen_paths:
            raise Refused(f"{'.'.join(path)}: this evidence is given twice.", ReasonCode.DUPLICATE_EVIDENCE)
        if observation.evidence_sha256 not in stored:
            message = f"{'.'.join(path)}: no file of this digest was sent to POST /files."
            raise Refused(message, ReasonCode.FILE_UNAVAILABLE)
        if known.get(observation.evidence_path, observation.evidence_sha256) != observation.evidence_sha256:
            message = f"{'.'.join(path)}: the agent has other evidence at this path."
            raise Refused(message, ReasonCode.EVIDENCE_DIGEST_MISMATCH)
        seen_ids.add(observation.observation_id)
        seen_paths.add(place)
    if len(finding.observations) < LEAST_OBSERVATIONS:
        raise Refused("A defect needs at least two observations.", ReasonCode.TOO_FEW_OBSERVATIONS)


def _require_extra(extra: Any) -> None:
    path = ("defect", "extra")
    if extra is None:
        return
    if not isinstance(extra, dict):
        raise InvalidInput("extra must be an object.", path, ReasonCode.INVALID_FIELD)
    if taken := sorted(extra.keys() & NAMED):
        message = f"extra must not hold what the format names: {', '.join(taken)}."
        raise InvalidInput(message, path, ReasonCode.INVALID_FIELD)


def _require_place(observation: Repetition, case_sha256: str, path: tuple[str, ...]) -> None:
    if observation.case_sha256 != case_sha256:
        message = f"{'.'.join(path)}: every observation repeats the defect's own Case."
        raise Refused(message, ReasonCode.OBSERVATION_CASE_MISMATCH)
    require_text(observation.evidence_path, (*path, "evidence_path"))
    parts = observation.evidence_path.split("/")
    if parts[0] != "observations" or len(parts) < 2 or {"", ".", ".."} & set(parts):
        message = f"{'.'.join(path)}: evidence_path must lie under observations/, such as observations/one/run-1.json."
        raise Refused(message, ReasonCode.PATH_ESCAPE)


async def _stored(connection: AsyncConnection, given: Sequence[Repetition]) -> set[str]:
    """The evidence that is there, held against the sweep of unreferenced files until the record refers to it."""
    wanted = sorted({observation.evidence_sha256 for observation in given})
    held = select(files.c.sha256).where(among(files.c.sha256, wanted)).with_for_update(read=True, key_share=True)
    return set((await connection.execute(held)).scalars())


async def _evidence(connection: AsyncConnection, agent_pk: int, defect_id: str) -> Mapping[str, str]:
    """Digests by path of the evidence that the agent's other current defects rest on."""
    rows = await connection.execute(
        select(observations.c.evidence_path, observations.c.evidence_sha256)
        .join(revisions, revisions.c.id == observations.c.revision_pk)
        .join(defects, and_(defects.c.id == revisions.c.defect_pk, defects.c.revision == revisions.c.revision))
        .where(defects.c.agent_pk == agent_pk, defects.c.defect_id != defect_id, defects.c.retired_at.is_(None))
    )
    return {row.evidence_path: row.evidence_sha256 for row in rows}
