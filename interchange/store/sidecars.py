"""A sidecar that came through the API: its records become decisions of the API."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from interchange.decisions import Verdict, check_claims, notices_of, record_claims
from interchange.discovery import PLAN
from interchange.documents import Object
from interchange.reading import Fault, Place
from interchange.records import Notice, SidecarRecord
from interchange.sidecars import SIDECAR, claims_at, records_at, sidecar_at
from interchange.uploads import Store, document, refusal
from models import Suite
from models.base import ReasonCode, table
from resolvers.acting import Acting
from resolvers.errors import Refused
from resolvers.forms import text

suites = table(Suite)

PLACE = Place("", SIDECAR)
PATH = ("file_sha256",)
IDENTITY = ("agent_id", "case_index", "attempt_id", "ground_truth_id")


@dataclass(frozen=True, slots=True)
class SidecarImport:
    suite_pk: int
    accepted: int
    unchanged: int
    notices: list[Notice]


@dataclass(frozen=True, slots=True)
class Claims:
    """What the records of a sidecar claim about the Suite that it names, and which claim nothing."""

    suite_id: str
    document: list[Object]
    records: Sequence[SidecarRecord]
    notices: list[Notice]


async def take_sidecar(acting: Acting, store: Store, digest: str) -> SidecarImport:
    """Record what is acceptable; the rest is told."""
    claims = await _claims(await document(acting.connection, store, digest, PATH))
    suite_pk = await _suite(acting.connection, claims.suite_id)
    verdicts = await record_claims(acting, claims.suite_id, claims.records)
    accepted = sum(verdict.created for verdict in verdicts)
    unchanged = sum(verdict.code is None and not verdict.created for verdict in verdicts)
    return SidecarImport(suite_pk, accepted, unchanged, _told(claims, verdicts))


async def check_sidecar(connection: AsyncConnection, data: bytes) -> list[Verdict]:
    """What `take_sidecar` would make of each record, in their order."""
    claims = await _claims(data)
    await _suite(connection, claims.suite_id)
    faults = {
        notice.assessment_index: Verdict(notice.assessment_index or 0, code=notice.code, message=notice.message)
        for notice in claims.notices
    }
    verdicts = {verdict.index: verdict for verdict in await check_claims(connection, claims.suite_id, claims.records)}
    firsts: dict[tuple[Any, ...], Verdict] = {}
    found = []
    for index, record in enumerate(claims.document):
        if index in faults:
            found.append(faults[index])
            continue
        # One verdict for each identity, at its first record: the others share it, and write nothing of their own.
        identity = tuple(record.get(name) for name in IDENTITY)
        first = firsts.setdefault(identity, verdicts.get(index) or Verdict(index))
        found.append(replace(first, index=index, created=first.created and first.index == index))
    return found


async def _claims(data: bytes) -> Claims:
    try:
        return await asyncio.to_thread(_read, data)
    except Fault as fault:
        raise refusal(fault, PATH) from fault


def _read(data: bytes) -> Claims:
    sidecar = sidecar_at(PLACE, data)
    suite_id = _suite_id(sidecar)
    records = records_at(PLACE, sidecar)
    return Claims(suite_id, records, *claims_at(PLACE, suite_id, records))


def _suite_id(sidecar: Object) -> str:
    if (suite_id := text(sidecar.get("suite_id"))) is None:
        raise PLACE.fault(ReasonCode.INVALID_FIELD, f"suite_id must be that of a {PLAN}")
    return suite_id


async def _suite(connection: AsyncConnection, suite_id: str) -> int:
    suite_pk = await connection.scalar(select(suites.c.id).where(suites.c.suite_id == suite_id))
    if suite_pk is None:
        raise Refused("No Suite of the id that the sidecar names is known.", ReasonCode.UNKNOWN_SUITE)
    return int(suite_pk)


def _told(claims: Claims, verdicts: Sequence[Verdict]) -> list[Notice]:
    notices = [*claims.notices, *notices_of(claims.suite_id, verdicts)]
    return sorted(notices, key=lambda notice: notice.assessment_index or 0)
