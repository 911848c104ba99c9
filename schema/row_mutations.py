from typing import Any

import strawberry
from strawberry import UNSET
from strawberry.scalars import JSON

from engine.encode import write_global_id
from engine.references import ref
from models.base import Role
from resolvers import rows as rules
from resolvers.rows import RowGiven
from schema.acting import Request, mutation
from schema.benchmarks import Benchmark, Row
from schema.given import given
from schema.ids import key_of
from schema.results import Conflict, Duplicate, InvalidInput, Locked, NotFound
from schema.scalars import Sha256


@strawberry.input
class AttachmentInput:
    sha256: Sha256
    name: str


@strawberry.input
class RowInput:
    key: str | None = UNSET
    input: str
    files: list[AttachmentInput] | None = strawberry.field(default_factory=list)
    expected_text: str | None = strawberry.field(
        default=UNSET, description="A given expected output is a person's: manual and locked."
    )
    expected_fields: JSON | None = UNSET

    def row(self) -> RowGiven:
        said = given(self)
        return RowGiven(
            said.get("key"),
            self.input,
            attached(self.files),
            said.get("expected_text"),
            said.get("expected_fields"),
        )


@strawberry.input
class AddRowsInput:
    benchmark_id: strawberry.ID
    rows: list[RowInput]
    idempotency_key: str | None = UNSET


@strawberry.input
class UpdateRowInput:
    id: strawberry.ID
    expected_version: int
    key: str | None = UNSET
    input: str | None = UNSET
    files: list[AttachmentInput] | None = UNSET

    def changes(self) -> dict[str, Any]:
        changes = given(self, "id", "expected_version")
        if "files" in changes:
            changes["files"] = attached(self.files)
        return changes


@strawberry.input
class RemoveRowsInput:
    ids: list[strawberry.ID]
    include_locked: bool | None = False


@strawberry.type
class AddRowsPayload:
    rows: list[Row]
    benchmark: Benchmark


@strawberry.type
class UpdateRowPayload:
    row: Row


@strawberry.type
class RemoveRowsPayload:
    deleted_ids: list[strawberry.ID]
    benchmark: Benchmark


@strawberry.type
class RowMutations:
    @mutation(Role.OPERATOR, InvalidInput, NotFound, Duplicate, Conflict)
    async def add_rows(self, info: Request, input: AddRowsInput) -> AddRowsPayload:
        benchmark = key_of(Benchmark, input.benchmark_id, ("benchmark_id",))
        idempotency_key = None if input.idempotency_key is UNSET else input.idempotency_key
        keys = await rules.add(info.context.acting, benchmark, [each.row() for each in input.rows], idempotency_key)
        return AddRowsPayload(rows=[ref(Row, key) for key in keys], benchmark=ref(Benchmark, benchmark))

    @mutation(Role.OPERATOR, InvalidInput, NotFound, Duplicate, Conflict)
    async def update_row(self, info: Request, input: UpdateRowInput) -> UpdateRowPayload:
        key = key_of(Row, input.id, ("id",))
        await rules.change(info.context.acting, key, input.expected_version, input.changes())
        return UpdateRowPayload(row=ref(Row, key))

    @mutation(Role.OPERATOR, InvalidInput, NotFound, Locked)
    async def remove_rows(self, info: Request, input: RemoveRowsInput) -> RemoveRowsPayload:
        keys = [key_of(Row, id_, ("ids", str(place))) for place, id_ in enumerate(input.ids)]
        benchmark = await rules.remove(info.context.acting, keys, include_locked=bool(input.include_locked))
        deleted = [strawberry.ID(write_global_id("Row", key)) for key in keys]
        return RemoveRowsPayload(deleted_ids=deleted, benchmark=ref(Benchmark, benchmark))


def attached(files: list[AttachmentInput] | None) -> list[tuple[str, str]]:
    return [(each.sha256, each.name) for each in files or ()]
