import strawberry
from strawberry import UNSET

from engine.encode import write_global_id
from engine.references import ref
from models.base import Role
from resolvers import benchmarks, capture
from resolvers.benchmarks import FieldGiven
from schema.acting import Request, mutation
from schema.benchmarks import Benchmark, Track
from schema.enums import AgentKind, ExistingGroundTruth, FieldType
from schema.given import given
from schema.ids import key_of
from schema.results import ConfirmationRequired, Conflict, Duplicate, InvalidInput, Locked, NotFound


@strawberry.input
class FieldDefinitionInput:
    name: str
    type: FieldType
    description: str | None = UNSET

    def field(self) -> FieldGiven:
        return FieldGiven(self.name, self.type, self.description or None)


@strawberry.input
class CreateBenchmarkInput:
    name: str
    kind: AgentKind
    agent_id: str | None = UNSET
    description: str | None = UNSET
    fields: list[FieldDefinitionInput] | None = strawberry.field(default_factory=list)
    auto_capture: bool | None = False


@strawberry.input
class UpdateBenchmarkInput:
    id: strawberry.ID
    expected_version: int
    name: str | None = UNSET
    description: str | None = UNSET
    fields: list[FieldDefinitionInput] | None = UNSET


@strawberry.input
class DeleteBenchmarkInput:
    id: strawberry.ID
    expected_version: int
    include_locked: bool | None = False


@strawberry.input
class SetAutoCaptureInput:
    benchmark_id: strawberry.ID
    enabled: bool
    expected_version: int


@strawberry.input
class SetSourceTrackInput:
    benchmark_id: strawberry.ID
    track_id: strawberry.ID
    expected_version: int
    existing: ExistingGroundTruth | None = strawberry.field(
        default=UNSET,
        description="Left out while captured values exist: the answer is ConfirmationRequired and nothing changes.",
    )


@strawberry.type
class CreateBenchmarkPayload:
    benchmark: Benchmark


@strawberry.type
class UpdateBenchmarkPayload:
    benchmark: Benchmark
    dropped_values: int


@strawberry.type
class DeleteBenchmarkPayload:
    deleted_id: strawberry.ID
    rows: int


@strawberry.type
class SetAutoCapturePayload:
    benchmark: Benchmark
    cleared_rows: int
    kept_manual_rows: int


@strawberry.type
class SetSourceTrackPayload:
    benchmark: Benchmark
    recaptured_rows: int
    kept_rows: int
    locked_rows: int
    rows_without_output: int


@strawberry.type
class BenchmarkMutations:
    @mutation(Role.OPERATOR, InvalidInput, NotFound, Duplicate)
    async def create_benchmark(self, info: Request, input: CreateBenchmarkInput) -> CreateBenchmarkPayload:
        key = await benchmarks.create(
            info.context.acting,
            name=input.name,
            kind=input.kind,
            agent_id=input.agent_id or None,
            description=input.description or None,
            given=[each.field() for each in input.fields or ()],
            auto_capture=bool(input.auto_capture),
        )
        return CreateBenchmarkPayload(benchmark=ref(Benchmark, key))

    @mutation(Role.OPERATOR, InvalidInput, NotFound, Duplicate, Conflict, Locked)
    async def update_benchmark(self, info: Request, input: UpdateBenchmarkInput) -> UpdateBenchmarkPayload:
        key = key_of(Benchmark, input.id, ("id",))
        dropped = await benchmarks.change(
            info.context.acting,
            key,
            input.expected_version,
            changes=given(input, "id", "expected_version", "fields"),
            given=None if input.fields is UNSET else [each.field() for each in input.fields or ()],
        )
        return UpdateBenchmarkPayload(benchmark=ref(Benchmark, key), dropped_values=dropped)

    @mutation(Role.OPERATOR, NotFound, Conflict, Locked)
    async def delete_benchmark(self, info: Request, input: DeleteBenchmarkInput) -> DeleteBenchmarkPayload:
        key = key_of(Benchmark, input.id, ("id",))
        rows = await benchmarks.remove(
            info.context.acting, key, input.expected_version, include_locked=bool(input.include_locked)
        )
        return DeleteBenchmarkPayload(deleted_id=strawberry.ID(write_global_id("Benchmark", key)), rows=rows)

    @mutation(Role.OPERATOR, NotFound, Conflict)
    async def set_auto_capture(self, info: Request, input: SetAutoCaptureInput) -> SetAutoCapturePayload:
        key = key_of(Benchmark, input.benchmark_id, ("benchmark_id",))
        cleared, kept = await capture.toggle(info.context.acting, key, input.expected_version, input.enabled)
        return SetAutoCapturePayload(benchmark=ref(Benchmark, key), cleared_rows=cleared, kept_manual_rows=kept)

    @mutation(Role.OPERATOR, InvalidInput, NotFound, Conflict, ConfirmationRequired)
    async def set_source_track(self, info: Request, input: SetSourceTrackInput) -> SetSourceTrackPayload:
        key = key_of(Benchmark, input.benchmark_id, ("benchmark_id",))
        track = key_of(Track, input.track_id, ("track_id",))
        done = await capture.set_source(info.context.acting, key, input.expected_version, track, input.existing or None)
        return SetSourceTrackPayload(
            benchmark=ref(Benchmark, key),
            recaptured_rows=done.recaptured,
            kept_rows=done.kept,
            locked_rows=done.locked,
            rows_without_output=done.without_output,
        )
