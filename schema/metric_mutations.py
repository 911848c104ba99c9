from typing import Any

import strawberry
from strawberry import UNSET
from strawberry.scalars import JSON

from engine.encode import write_global_id
from engine.references import ref
from models.base import Role
from resolvers import metrics
from resolvers.metric_kinds import Variable
from schema.acting import Request, mutation
from schema.benchmarks import Benchmark
from schema.enums import Aggregation, MetricKind, ScoreType
from schema.given import given
from schema.ids import key_of
from schema.metrics import Metric
from schema.models import Model
from schema.results import Conflict, Duplicate, InvalidInput, NotFound


@strawberry.input
class MetricVariableInput:
    name: str
    type: ScoreType
    description: str | None = UNSET
    minimum: float | None = UNSET
    maximum: float | None = UNSET
    aggregation: Aggregation | None = UNSET

    def variable(self) -> Variable:
        return Variable(**given(self))


@strawberry.input
class CreateMetricInput:
    name: str
    description: str | None = UNSET
    kind: MetricKind
    options: JSON | None = UNSET
    judge_model_id: strawberry.ID | None = UNSET
    judge_prompt: str | None = UNSET
    variables: list[MetricVariableInput] | None = UNSET


@strawberry.input
class UpdateMetricInput:
    id: strawberry.ID
    expected_version: int
    name: str | None = UNSET
    description: str | None = UNSET
    options: JSON | None = UNSET
    judge_model_id: strawberry.ID | None = UNSET
    judge_prompt: str | None = UNSET
    variables: list[MetricVariableInput] | None = UNSET


@strawberry.input
class DeleteMetricInput:
    id: strawberry.ID
    expected_version: int


@strawberry.input
class SetBenchmarkMetricsInput:
    benchmark_id: strawberry.ID
    metric_ids: list[strawberry.ID]
    expected_version: int


@strawberry.type
class CreateMetricPayload:
    metric: Metric


@strawberry.type
class UpdateMetricPayload:
    metric: Metric
    stale_scores: int


@strawberry.type
class DeleteMetricPayload:
    deleted_id: strawberry.ID
    removed_scores: int


@strawberry.type
class SetBenchmarkMetricsPayload:
    benchmark: Benchmark


@strawberry.type
class MetricMutations:
    @mutation(Role.OPERATOR, InvalidInput, NotFound, Duplicate)
    async def create_metric(self, info: Request, input: CreateMetricInput) -> CreateMetricPayload:
        key = await metrics.create(
            info.context.acting,
            input.name,
            input.description or None,
            input.kind,
            metrics.MetricGiven(**defining(input)),
        )
        return CreateMetricPayload(metric=ref(Metric, key))

    @mutation(Role.OPERATOR, InvalidInput, NotFound, Duplicate, Conflict)
    async def update_metric(self, info: Request, input: UpdateMetricInput) -> UpdateMetricPayload:
        key = key_of(Metric, input.id, ("id",))
        own = {name: value for name, value in given(input).items() if name in ("name", "description")}
        stale = await metrics.change(info.context.acting, key, input.expected_version, {**own, **defining(input)})
        return UpdateMetricPayload(metric=ref(Metric, key), stale_scores=stale)

    @mutation(Role.OPERATOR, NotFound, Conflict)
    async def delete_metric(self, info: Request, input: DeleteMetricInput) -> DeleteMetricPayload:
        key = key_of(Metric, input.id, ("id",))
        removed = await metrics.remove(info.context.acting, key, input.expected_version)
        return DeleteMetricPayload(deleted_id=strawberry.ID(write_global_id("Metric", key)), removed_scores=removed)

    @mutation(Role.OPERATOR, InvalidInput, NotFound, Conflict)
    async def set_benchmark_metrics(self, info: Request, input: SetBenchmarkMetricsInput) -> SetBenchmarkMetricsPayload:
        key = key_of(Benchmark, input.benchmark_id, ("benchmark_id",))
        chosen = [key_of(Metric, id_, ("metric_ids", str(place))) for place, id_ in enumerate(input.metric_ids)]
        await metrics.choose(info.context.acting, key, input.expected_version, chosen)
        return SetBenchmarkMetricsPayload(benchmark=ref(Benchmark, key))


def defining(input: CreateMetricInput | UpdateMetricInput) -> dict[str, Any]:
    """What an input says of how a metric computes, by the names of `MetricGiven`."""
    said = given(input, "id", "expected_version", "name", "description", "kind", "judge_model_id")
    if input.judge_model_id is not UNSET:
        judge = input.judge_model_id
        said["judge_model_pk"] = None if judge is None else key_of(Model, judge, ("judge_model_id",))
    if input.variables:
        said["variables"] = [variable.variable() for variable in input.variables]
    return said
