"""Starting a run: what it does to which cell is decided here, once, and kept as its items."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    FromClause,
    Row,
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
    BenchmarkMetric,
    IdempotencyKey,
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
from models.base import EvaluationScope, GenerationScope, ReasonCode, RunItemStatus, RunStage, RunStatus, table
from resolvers.acting import RUNS, Acting
from resolvers.canonical import digest_text, spelled
from resolvers.ending import finish, is_active
from resolvers.errors import Conflict, InvalidInput, NotFound, RunInProgress, Subject
from resolvers.forms import require_identity
from resolvers.prices import Priced, has_price
from resolvers.scopes import Chosen, generated, scored
from resolvers.sql import among, constant
from resolvers.tables import rows, shared, tracks
from resolvers.values import MONEY, is_money, written

runs, items, metrics, variables = table(Run), table(RunItem), table(Metric), table(MetricVariable)
run_tracks, run_metrics, inputs, input_files = table(RunTrack), table(RunMetric), table(RunInput), table(RunInputFile)
models, row_files, benchmark_metrics = table(LanguageModel), table(RowFile), table(BenchmarkMetric)
answers = table(IdempotencyKey)

IDEMPOTENCY = "startRun"
SETTINGS = ("system_prompt", "temperature", "top_p", "max_output_tokens")
ENDPOINT = ("provider", "model_name", "base_url", "api_key_variable", "input_price", "output_price")

CellKey = tuple[int, int]


@dataclass(frozen=True, slots=True)
class GenerationGiven:
    track_pks: Sequence[int]
    scope: GenerationScope
    row_pks: Sequence[int] | None
    cells: Sequence[CellKey] | None


@dataclass(frozen=True, slots=True)
class EvaluationGiven:
    """No metrics are the benchmark's; no tracks are all."""

    metric_pks: Sequence[int] | None
    scope: EvaluationScope
    track_pks: Sequence[int] | None
    row_pks: Sequence[int] | None
    cells: Sequence[CellKey] | None


@dataclass(frozen=True, slots=True)
class RunGiven:
    benchmark_pk: int
    generation: GenerationGiven | None
    evaluation: EvaluationGiven | None
    auto_evaluate: bool
    max_cost: Decimal | None
    idempotency_key: str | None


@dataclass(frozen=True, slots=True)
class Plan:
    """The cells to generate and the cells to score, as rows of SQL; none where the run has no such part."""

    generated: FromClause | None
    scored: FromClause | None
    metric_pks: Sequence[int]
    evaluation_scope: EvaluationScope | None


async def start(acting: Acting, given: RunGiven) -> tuple[int, bool]:
    """The run, and whether it is a new one."""
    await shared(acting, given.benchmark_pk)
    if given.idempotency_key is not None:
        known = await _known(acting, given)
        if known is not None:
            return known, False
    _require_parts(given)
    plan = await _plan(acting, given)
    if plan.generated is not None:
        await _require_idle(acting, plan.generated)
    run_pk = await _insert(acting, given, plan)
    if given.max_cost is not None:
        await _require_prices(acting, run_pk)
    if given.idempotency_key is not None:
        await acting.connection.execute(
            insert(answers).values(
                scope=IDEMPOTENCY, key=given.idempotency_key, input_sha256=_digest(given), answer=written(run_pk)
            )
        )
    await finish(acting, [run_pk])
    acting.topics.add(RUNS)
    return run_pk, True


async def _known(acting: Acting, given: RunGiven) -> int | None:
    assert given.idempotency_key is not None
    require_identity(given.idempotency_key, ("idempotency_key",))
    held = select(answers).where(answers.c.scope == IDEMPOTENCY, answers.c.key == given.idempotency_key)
    row = (await acting.connection.execute(held)).one_or_none()
    if row is None:
        return None
    run_pk = int(row.answer)
    if row.input_sha256 != _digest(given):
        raise Conflict("This idempotency key was sent with another run.", Subject(Run, run_pk))
    return run_pk


def _digest(given: RunGiven) -> str:
    generation, evaluation = given.generation, given.evaluation
    told = [
        given.benchmark_pk,
        generation and [list(generation.track_pks), generation.scope, *_selection(generation)],
        evaluation
        and [_listed(evaluation.metric_pks), evaluation.scope, _listed(evaluation.track_pks), *_selection(evaluation)],
        given.auto_evaluate,
        None if given.max_cost is None else str(given.max_cost.normalize()),
    ]
    return digest_text(spelled(told))


def _selection(part: GenerationGiven | EvaluationGiven) -> list[Any]:
    return [_listed(part.row_pks), None if part.cells is None else [list(cell) for cell in part.cells]]


def _listed(keys: Sequence[int] | None) -> list[int] | None:
    return None if keys is None else list(keys)


def _require_parts(given: RunGiven) -> None:
    if given.generation is None and given.evaluation is None:
        raise _wrong("A run generates, scores, or both: give generation or evaluation.", "generation")
    for name, part in (("generation", given.generation), ("evaluation", given.evaluation)):
        if part is None:
            continue
        is_selected, selects = part.scope == "SELECTED", bool(part.row_pks) or bool(part.cells)
        if is_selected and not selects:
            raise _wrong("SELECTED needs row_ids or cells.", name, "row_ids")
        if not is_selected and (part.row_pks is not None or part.cells is not None):
            raise _wrong(f"Rows and cells are named with the scope SELECTED, not with {part.scope}.", name, "row_ids")
    generation = given.generation
    if generation is not None and not generation.track_pks and not (generation.cells and not generation.row_pks):
        raise _wrong("Name at least one track.", "generation", "track_ids")
    if given.max_cost is not None and not is_money(given.max_cost):
        raise _wrong(f"max_cost must be {MONEY}.", "max_cost")


async def _plan(acting: Acting, given: RunGiven) -> Plan:
    metric_pks = await _metrics(acting, given)
    cells = None
    if given.generation is not None:
        chosen = await _chosen(acting, given.benchmark_pk, given.generation, "generation")
        cells = generated(chosen, given.generation.scope)
    if given.evaluation is None:
        # What is generated is what is selected.
        return Plan(cells, None, metric_pks, EvaluationScope.SELECTED if metric_pks else None)
    chosen = await _chosen(acting, given.benchmark_pk, given.evaluation, "evaluation")
    scope = given.evaluation.scope
    return Plan(cells, scored(chosen, scope, metric_pks), metric_pks, scope)


async def _metrics(acting: Acting, given: RunGiven) -> Sequence[int]:
    evaluation = given.evaluation
    if evaluation is not None and evaluation.metric_pks is not None:
        wanted = evaluation.metric_pks
        found = select(metrics.c.id).where(among(metrics.c.id, wanted))
        await _require_all(acting, found, wanted, ("evaluation", "metric_ids"), "There is no such metric.")
        if not wanted:
            raise _wrong("Name at least one metric.", "evaluation", "metric_ids")
        return list(dict.fromkeys(wanted))
    if evaluation is None and not given.auto_evaluate:
        return ()
    of_benchmark = select(benchmark_metrics.c.metric_pk).where(benchmark_metrics.c.benchmark_pk == given.benchmark_pk)
    keys = (await acting.connection.execute(of_benchmark.order_by(benchmark_metrics.c.position))).scalars().all()
    if evaluation is not None and not keys:
        raise _wrong("The benchmark has no metrics: name some, or set them.", "evaluation", "metric_ids")
    return keys


async def _chosen(acting: Acting, benchmark_pk: int, part: GenerationGiven | EvaluationGiven, name: str) -> Chosen:
    of_benchmark = tracks.c.benchmark_pk == benchmark_pk
    if part.track_pks is None:
        track_pks: Sequence[int] = (
            (await acting.connection.execute(select(tracks.c.id).where(of_benchmark))).scalars().all()
        )
    else:
        track_pks = part.track_pks
        found = select(tracks.c.id).where(of_benchmark, among(tracks.c.id, track_pks))
        await _require_all(acting, found, track_pks, (name, "track_ids"), "The benchmark has no such track.")
    row_pks, cells = part.row_pks or (), part.cells or ()
    its_rows = select(rows.c.id).where(rows.c.benchmark_pk == benchmark_pk, among(rows.c.id, row_pks))
    await _require_all(acting, its_rows, row_pks, (name, "row_ids"), "The benchmark has no such row.")
    of_cells = [row_pk for row_pk, _ in cells], [track_pk for _, track_pk in cells]
    its_rows = select(rows.c.id).where(rows.c.benchmark_pk == benchmark_pk, among(rows.c.id, of_cells[0]))
    await _require_all(acting, its_rows, of_cells[0], (name, "cells"), "The benchmark has no such row.")
    its_tracks = select(tracks.c.id).where(of_benchmark, among(tracks.c.id, of_cells[1]))
    await _require_all(acting, its_tracks, of_cells[1], (name, "cells"), "The benchmark has no such track.")
    return Chosen(benchmark_pk, track_pks, row_pks, cells)


async def _require_all(
    acting: Acting, found: Select[Any], wanted: Sequence[int], path: tuple[str, ...], message: str
) -> None:
    if not wanted:
        return
    known = set((await acting.connection.execute(found)).scalars())
    missing = next((place for place, key in enumerate(wanted) if key not in known), None)
    if missing is not None:
        raise NotFound(message, (*path, str(missing)))


async def _require_idle(acting: Acting, cells: FromClause) -> None:
    """One cell is in one active generation at most; the index says so besides, to who starts at the same time."""
    busy = (
        select(items.c.run_pk)
        .join(cells, and_(cells.c.row_pk == items.c.row_pk, cells.c.track_pk == items.c.track_pk))
        .where(items.c.stage == constant(RunStage.GENERATE), is_active(items.c.status))
        .limit(1)
    )
    run_pk = await acting.connection.scalar(busy)
    if run_pk is not None:
        raise RunInProgress("A run is generating a cell that this one would touch.", run_pk)


async def _insert(acting: Acting, given: RunGiven, plan: Plan) -> int:
    made = insert(runs).values(
        benchmark_pk=given.benchmark_pk,
        status=RunStatus.QUEUED,
        generation_scope=given.generation.scope if given.generation else None,
        evaluation_scope=plan.evaluation_scope,
        max_cost=given.max_cost,
        started_by=acting.actor,
    )
    run_pk = int((await acting.connection.execute(made.returning(runs.c.id))).scalar_one())
    await _keep_metrics(acting, run_pk, plan.metric_pks)
    await _keep_items(acting, run_pk, plan)
    await _keep_tracks(acting, run_pk, given)
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
    """In the order of rows, so that a row's answers are there soon after each other."""
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


async def _keep_tracks(acting: Acting, run_pk: int, given: RunGiven) -> None:
    """The tracks that were chosen, and those of cells that were, as they are now."""
    if given.generation is None:
        return
    chosen = {*given.generation.track_pks, *(track_pk for _, track_pk in given.generation.cells or ())}
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
        .where(among(tracks.c.id, chosen))
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


async def _require_prices(acting: Acting, run_pk: int) -> None:
    """A limit of cost says nothing where nobody knows what a call costs."""
    called = select(run_tracks.c.model_pk).where(run_tracks.c.run_pk == run_pk)
    judges = (
        select(metrics.c.judge_model_pk)
        .join(run_metrics, run_metrics.c.metric_pk == metrics.c.id)
        .where(run_metrics.c.run_pk == run_pk, metrics.c.judge_model_pk.is_not(None))
    )
    found = select(models).where(models.c.id.in_(called.union(judges))).order_by(models.c.name)
    unpriced: list[Row[Any]] = [row for row in await acting.connection.execute(found) if not has_price(_priced(row))]
    if unpriced:
        message = f"The price of the model {unpriced[0].name} is not known, so max_cost cannot hold: set its prices."
        raise _wrong(message, "max_cost")


def _priced(model: Row[Any]) -> Priced:
    return Priced(model.provider, model.model_name, model.base_url, model.input_price, model.output_price)


def _wrong(message: str, *path: str) -> InvalidInput:
    return InvalidInput(message, path, ReasonCode.INVALID_FIELD)
