from typing import Any

import strawberry
from strawberry import UNSET

from engine.encode import write_global_id
from engine.references import ref
from models.base import ReasonCode as Code
from models.base import Role
from resolvers import errors, tracks
from schema.acting import Request, mutation
from schema.benchmarks import Benchmark, Track
from schema.enums import ExistingGroundTruth
from schema.given import given
from schema.ids import key_of
from schema.models import Model
from schema.results import ConfirmationRequired, Conflict, Duplicate, InvalidInput, NotFound


@strawberry.input
class AddTrackInput:
    benchmark_id: strawberry.ID
    model_id: strawberry.ID
    name: str | None = UNSET
    system_prompt: str | None = UNSET
    temperature: float | None = UNSET
    top_p: float | None = UNSET
    max_output_tokens: int | None = UNSET
    position: int | None = UNSET


@strawberry.input
class UpdateTrackInput:
    id: strawberry.ID
    expected_version: int
    model_id: strawberry.ID | None = UNSET
    name: str | None = UNSET
    system_prompt: str | None = UNSET
    temperature: float | None = UNSET
    top_p: float | None = UNSET
    max_output_tokens: int | None = UNSET
    position: int | None = UNSET

    def changes(self) -> dict[str, Any]:
        changes = given(self, "id", "expected_version", "model_id")
        if self.model_id is None:
            raise errors.InvalidInput("A track has a model.", ("model_id",), Code.INVALID_FIELD)
        if self.model_id is not UNSET:
            changes["model_pk"] = key_of(Model, self.model_id, ("model_id",))
        return changes


@strawberry.input
class RemoveTrackInput:
    id: strawberry.ID
    expected_version: int
    new_source_track_id: strawberry.ID | None = strawberry.field(
        default=UNSET, description="Needed when the source track goes and others remain."
    )
    existing: ExistingGroundTruth | None = UNSET


@strawberry.type
class AddTrackPayload:
    track: Track
    benchmark: Benchmark


@strawberry.type
class UpdateTrackPayload:
    track: Track


@strawberry.type
class RemoveTrackPayload:
    benchmark: Benchmark
    deleted_id: strawberry.ID
    removed_cells: int
    recaptured_rows: int
    kept_rows: int
    locked_rows: int
    rows_without_output: int


@strawberry.type
class TrackMutations:
    @mutation(Role.OPERATOR, InvalidInput, NotFound, Duplicate)
    async def add_track(self, info: Request, input: AddTrackInput) -> AddTrackPayload:
        benchmark = key_of(Benchmark, input.benchmark_id, ("benchmark_id",))
        key = await tracks.add(
            info.context.acting,
            benchmark,
            key_of(Model, input.model_id, ("model_id",)),
            name=None if input.name is UNSET else input.name,
            position=None if input.position is UNSET else input.position,
            settings=given(input, "benchmark_id", "model_id", "name", "position"),
        )
        return AddTrackPayload(track=ref(Track, key), benchmark=ref(Benchmark, benchmark))

    @mutation(Role.OPERATOR, InvalidInput, NotFound, Duplicate, Conflict)
    async def update_track(self, info: Request, input: UpdateTrackInput) -> UpdateTrackPayload:
        key = key_of(Track, input.id, ("id",))
        await tracks.change(info.context.acting, key, input.expected_version, input.changes())
        return UpdateTrackPayload(track=ref(Track, key))

    @mutation(Role.OPERATOR, InvalidInput, NotFound, Conflict, ConfirmationRequired)
    async def remove_track(self, info: Request, input: RemoveTrackInput) -> RemoveTrackPayload:
        key = key_of(Track, input.id, ("id",))
        path = ("new_source_track_id",)
        successor = key_of(Track, input.new_source_track_id, path) if input.new_source_track_id else None
        done = await tracks.remove(info.context.acting, key, input.expected_version, successor, input.existing or None)
        return RemoveTrackPayload(
            benchmark=ref(Benchmark, done.benchmark_pk),
            deleted_id=strawberry.ID(write_global_id("Track", key)),
            removed_cells=done.cells,
            recaptured_rows=done.switched.recaptured,
            kept_rows=done.switched.kept,
            locked_rows=done.switched.locked,
            rows_without_output=done.switched.without_output,
        )
