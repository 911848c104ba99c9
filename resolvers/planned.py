"""A run as it is kept: its tracks, metrics and inputs as they are now, and an item for each cell."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    FromClause,
    Select,
    and_,
    case,
    cast,
    exists,
    func,
    insert,
    literal,
    select,
    true,
    update,
)

from models import (
    LanguageModel,
    Metric,
    MetricVariable,
    RowFile,
    Run,
    RunInput,
    RunInputFile,
    RunItem,
    RunMetric,
    RunTrack,
)
from models.base import EvaluationScope, GenerationScope, RunItemStatus, RunStage, RunStatus, table
from resolvers.acting import Acting
from resolvers.sql import among
from resolvers.tables import rows, tracks

runs, items, metrics, variables = table(Run), table(RunItem), table(Metric), table(MetricVariable)
run_tracks, run_metrics, inputs, input_files = table(RunTrack), table(RunMetric), table(RunInput), table(RunInputFile)
models, row_files = table(LanguageModel), table(RowFile)

SETTINGS = ("system_prompt", "temperature", "top_p", "max_output_tokens")
ENDPOINT = ("provider", "model_name", "base_url", "api_key_variable", "input_price", "output_price")


@dataclass(frozen=True, slots=True)
class Plan:
    """The cells to generate and the cells to score, as rows of SQL; none where the run has no such part."""

    benchmark_pk: int
    generated: FromClause | None
    generation_scope: GenerationScope | None
    track_pks: Sequence[int]
    scored: FromClause | None
    evaluation_scope: EvaluationScope | None
    metric_pks: Sequence[int]
    max_cost: Decimal | None


async def keep(acting: Acting, plan: Plan) -> int:
    """The run's key. Its items are in the order of rows, so that a row's answers are there soon after each other."""
    made = insert(runs).values(
        benchmark_pk=plan.benchmark_pk,
        status=RunStatus.QUEUED,
        generation_scope=plan.generation_scope,
        evaluation_scope=plan.evaluation_scope,
        max_cost=plan.max_cost,
        started_by=acting.actor,
    )
    run_pk = int((await acting.connection.execute(made.returning(runs.c.id))).scalar_one())
    await _keep_metrics(acting, run_pk, plan.metric_pks)
    await _keep_items(acting, run_pk, plan)
    await _keep_tracks(acting, run_pk, plan.track_pks)
    await _keep_inputs(acting, run_pk)
    count = select(func.count()).where(items.c.run_pk == run_pk, items.c.generates)
    await acting.connection.execute(
        update(runs)
        .where(runs.c.id == run_pk)
        .values(cell_count=count.scalar_subquery(), score_count=_score_count(run_pk).scalar_subquery())
    )
    return run_pk


async def _keep_metrics(acting: Acting, run_pk: int, metric_pks: Sequence[int]) -> None:
    place = func.array_position(literal(list(metric_pks), ARRAY(BigInteger)), metrics.c.id)
    await acting.connection.execute(
        insert(run_metrics).from_select(
            ["run_pk", "position", "metric_pk", "name"],
            select(literal(run_pk), place - 1, metrics.c.id, metrics.c.name).where(among(metrics.c.id, metric_pks)),
        )
    )


async def _keep_items(acting: Acting, run_pk: int, plan: Plan) -> None:
    await acting.connection.execute(
        insert(items).from_select(
            ["run_pk", "row_pk", "track_pk", "generates", "stage", "model_pk", "metric_pks", *ZEROS],
            _items(run_pk, plan),
            include_defaults=False,
        )
    )


ZEROS: Mapping[str, ColumnElement[Any]] = {
    "scored_pks": cast(literal([], ARRAY(BigInteger)), ARRAY(BigInteger)),
    "status": literal(RunItemStatus.QUEUED.value),
    "deaths": literal(0),
    "attempts": literal(0),
    "captured": literal(False),
    "locked_skipped": literal(False),
    "unpriced_calls": literal(0),
}


def _items(run_pk: int, plan: Plan) -> Select[Any]:
    of_run = literal(list(plan.metric_pks), ARRAY(BigInteger))
    if plan.scored is None:
        assert plan.generated is not None
        made = plan.generated
        return _item(run_pk, made, true(), literal(RunStage.GENERATE.value), made.c.model_pk, of_run)
    if plan.generated is None:
        made = plan.scored
        stage: ColumnElement[str] = literal(RunStage.EVALUATE.value)
        return _item(run_pk, made, literal(False), stage, first_model(made.c.metric_pks), made.c.metric_pks)
    both = _joined(plan.generated, plan.scored, of_run)
    other = plan.generated.alias("other_of_row")
    waits = exists(select(other.c.row_pk).where(other.c.row_pk == both.c.row_pk))
    stage = case(
        (both.c.generates, RunStage.GENERATE.value), (waits, RunStage.WAIT.value), else_=RunStage.EVALUATE.value
    )
    model = case((both.c.generates, both.c.model_pk), else_=first_model(both.c.metric_pks))
    return _item(run_pk, both, both.c.generates, stage, model, both.c.metric_pks)


def _joined(made: FromClause, judged: FromClause, of_run: ColumnElement[Any]) -> FromClause:
    same = and_(made.c.row_pk == judged.c.row_pk, made.c.track_pk == judged.c.track_pk)
    is_made = made.c.row_pk.is_not(None)
    shared_columns = (
        func.coalesce(made.c[name], judged.c[name]).label(name)
        for name in ("row_pk", "track_pk", "model_pk", "row_place", "track_place")
    )
    return (
        select(
            *shared_columns,
            is_made.label("generates"),
            case((is_made, of_run), else_=judged.c.metric_pks).label("metric_pks"),
        )
        .select_from(made.outerjoin(judged, same, full=True))
        .subquery("joined")
    )


def _item(
    run_pk: int,
    cell: FromClause,
    generates: ColumnElement[bool],
    stage: ColumnElement[Any],
    model_pk: ColumnElement[Any],
    metric_pks: ColumnElement[Any],
) -> Select[Any]:
    return select(
        literal(run_pk), cell.c.row_pk, cell.c.track_pk, generates, stage, model_pk, metric_pks, *ZEROS.values()
    ).order_by(cell.c.row_place, cell.c.track_place)


def first_model(metric_pks: ColumnElement[Any]) -> ColumnElement[Any]:
    """The model that scoring on these metrics calls first: none, as long as one of them needs none."""
    metric = metrics.alias("first_metric")
    needed = select(metric.c.judge_model_pk).where(metric.c.id == func.any(metric_pks))
    return needed.order_by(metric.c.judge_model_pk.asc().nulls_first()).limit(1).scalar_subquery()


async def _keep_tracks(acting: Acting, run_pk: int, track_pks: Sequence[int]) -> None:
    place = func.row_number().over(order_by=tracks.c.position) - 1
    kept = (
        select(
            literal(run_pk),
            place,
            tracks.c.id,
            tracks.c.name,
            tracks.c.model_pk,
            *(models.c[name] for name in ENDPOINT),
            *(tracks.c[name] for name in SETTINGS),
        )
        .select_from(tracks.join(models, models.c.id == tracks.c.model_pk))
        .where(among(tracks.c.id, track_pks))
    )
    names = ["run_pk", "position", "track_pk", "name", "model_pk", *ENDPOINT, *SETTINGS]
    await acting.connection.execute(insert(run_tracks).from_select(names, kept))


async def _keep_inputs(acting: Acting, run_pk: int) -> None:
    """What models are asked with."""
    asks = select(items.c.row_pk).where(items.c.run_pk == run_pk, _asks_a_model(run_pk))
    kept = select(literal(run_pk), rows.c.id, rows.c.input).where(rows.c.id.in_(asks))
    await acting.connection.execute(insert(inputs).from_select(["run_pk", "row_pk", "input"], kept))
    files = select(
        literal(run_pk), row_files.c.row_pk, row_files.c.position, row_files.c.sha256, row_files.c.name
    ).join(inputs, and_(inputs.c.row_pk == row_files.c.row_pk, inputs.c.run_pk == run_pk))
    names = ["run_pk", "row_pk", "position", "sha256", "name"]
    await acting.connection.execute(insert(input_files).from_select(names, files))


def _asks_a_model(run_pk: int) -> ColumnElement[bool]:
    judge = select(run_metrics.c.metric_pk).join(metrics, metrics.c.id == run_metrics.c.metric_pk)
    has_judge = exists(judge.where(run_metrics.c.run_pk == run_pk, metrics.c.judge_model_pk.is_not(None)))
    return items.c.generates | has_judge


def _score_count(run_pk: int) -> Select[Any]:
    """One score for each variable of each metric of each item."""
    scored_on = (
        select(func.unnest(items.c.metric_pks).label("pk")).where(items.c.run_pk == run_pk).subquery("scored_on")
    )
    return select(func.count()).select_from(scored_on.join(variables, variables.c.metric_pk == scored_on.c.pk))
