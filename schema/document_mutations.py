"""Whole documents of other programs, which were sent to POST /files before."""

from collections.abc import Iterable

import strawberry

from engine.references import ref
from interchange.records import Notice
from interchange.store.archives import take_suite
from interchange.store.manifests import take_manifest
from interchange.store.rows import take_rows
from interchange.store.sidecars import take_sidecar
from models.base import Role
from schema.acting import Request, mutation
from schema.agents import Agent
from schema.benchmarks import Benchmark
from schema.enums import RowFormat
from schema.figures import Warning
from schema.ids import key_of
from schema.results import InvalidInput, InvalidRows, NotFound, Refused
from schema.scalars import Sha256
from schema.suites import Suite


@strawberry.input
class ImportManifestInput:
    agent_id: str
    file_sha256: Sha256 = strawberry.field(
        description="A manifest sent to POST /files; its evidence must be there by digest."
    )
    replace: bool | None = strawberry.field(default=False, description="Also retire defects that it no longer names.")


@strawberry.input
class ImportSuiteInput:
    archive_sha256: Sha256 = strawberry.field(
        description="A .zip or .tar.gz of a Suite directory, sent to POST /files: at most 100,000 files, "
        "1 GiB unpacked, 200 times its size."
    )


@strawberry.input
class ImportAssessmentsInput:
    file_sha256: Sha256 = strawberry.field(description="A sidecar sent to POST /files.")


@strawberry.input
class ImportRowsInput:
    benchmark_id: strawberry.ID
    file_sha256: Sha256
    format: RowFormat


@strawberry.type
class ImportManifestPayload:
    agent: Agent
    created: int
    revised: int
    unchanged: int
    retired: int


@strawberry.type
class ImportSuitePayload:
    suite: Suite
    created: bool
    accepted: int
    warnings: list[Warning]


@strawberry.type
class ImportAssessmentsPayload:
    suite: Suite
    accepted: int
    unchanged: int
    warnings: list[Warning]


@strawberry.type
class ImportRowsPayload:
    benchmark: Benchmark
    added: int
    unchanged: int


@strawberry.type
class DocumentMutations:
    @mutation(Role.OPERATOR, InvalidInput, NotFound, Refused)
    async def import_manifest(self, info: Request, input: ImportManifestInput) -> ImportManifestPayload:
        context = info.context
        done = await take_manifest(
            context.acting, context.files, input.agent_id, input.file_sha256, replace=bool(input.replace)
        )
        return ImportManifestPayload(
            agent=ref(Agent, done.agent_pk),
            created=done.created,
            revised=done.revised,
            unchanged=done.unchanged,
            retired=done.retired,
        )

    @mutation(Role.OPERATOR, InvalidInput, Refused)
    async def import_suite(self, info: Request, input: ImportSuiteInput) -> ImportSuitePayload:
        done = await take_suite(info.context.acting, info.context.files, input.archive_sha256)
        return ImportSuitePayload(
            suite=ref(Suite, done.suite_pk),
            created=done.created,
            accepted=done.accepted,
            warnings=_shown(done.notices),
        )

    @mutation(Role.REVIEWER, InvalidInput, Refused)
    async def import_assessments(self, info: Request, input: ImportAssessmentsInput) -> ImportAssessmentsPayload:
        done = await take_sidecar(info.context.acting, info.context.files, input.file_sha256)
        return ImportAssessmentsPayload(
            suite=ref(Suite, done.suite_pk),
            accepted=done.accepted,
            unchanged=done.unchanged,
            warnings=_shown(done.notices),
        )

    @mutation(Role.OPERATOR, NotFound, Refused, InvalidRows)
    async def import_rows(self, info: Request, input: ImportRowsInput) -> ImportRowsPayload:
        key = key_of(Benchmark, input.benchmark_id, ("benchmark_id",))
        done = await take_rows(info.context.acting, info.context.files, key, input.file_sha256, input.format)
        return ImportRowsPayload(benchmark=ref(Benchmark, key), added=done.added, unchanged=done.unchanged)


def _shown(notices: Iterable[Notice]) -> list[Warning]:
    return [
        Warning(
            code=notice.code,
            message=notice.message,
            agent_id=notice.agent_id,
            suite_id=notice.suite_id,
            assessment_index=notice.assessment_index,
        )
        for notice in notices
    ]
