"""Starting a run: what it does to which cell is decided here, once, and kept as its items."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlalchemy import FromClause, Row, Select, and_, delete, insert, select

from models import BenchmarkMetric, IdempotencyKey, Run
from models.base import AgentKind, EvaluationScope, GenerationScope, ReasonCode, RunStage, table
from resolvers.acting import RUNS, Acting
from resolvers.canonical import digest_text, spelled
from resolvers.ending import finish, is_active
from resolvers.errors import Conflict, InvalidInput, NotFound, RunInProgress, Subject
from resolvers.forms import require_identity
from resolvers.planned import Plan, items, keep, metrics, models, run_metrics, run_tracks, runs
from resolvers.prices import Priced, has_price
from resolvers.scopes import Chosen, generated, scored
from resolvers.sql import among, constant
from resolvers.tables import field_types, rows, shared, tracks
from resolvers.values import MONEY, is_money, written

benchmark_metrics, answers = table(BenchmarkMetric), table(IdempotencyKey)

IDEMPOTENCY = "startRun"

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


async def start(acting: Acting, given: RunGiven) -> tuple[int, bool]:
    """The run, and whether it is a new one."""
    benchmark = await shared(acting, given.benchmark_pk)
    if given.idempotency_key is not None:
        known = await _known(acting, given)
        if known is not None:
            return known, False
    _require_parts(given)
    plan = await _plan(acting, given, benchmark)
    if plan.generated is not None:
        await _require_idle(acting, plan.generated)
    run_pk = await keep(acting, plan)
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
    """The run that was sent with this key; the key of a run that went with its benchmark is free again."""
    assert given.idempotency_key is not None
    require_identity(given.idempotency_key, ("idempotency_key",))
    held = select(answers).where(answers.c.scope == IDEMPOTENCY, answers.c.key == given.idempotency_key)
    row = (await acting.connection.execute(held)).one_or_none()
    if row is None:
        return None
    run_pk = int(row.answer)
    if await acting.connection.scalar(select(runs.c.id).where(runs.c.id == run_pk)) is None:
        await acting.connection.execute(delete(answers).where(answers.c.scope == IDEMPOTENCY, answers.c.key == row.key))
        return None
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
        is_selected, selects = part.scope == "SELECTED", bool(part.row_pks or part.cells)
        if is_selected and not selects:
            raise _wrong("SELECTED needs rows or cells.", name, "row_ids")
        if selects and not is_selected:
            place = "row_ids" if part.row_pks else "cells"
            raise _wrong(f"Rows and cells are named with the scope SELECTED, not with {part.scope}.", name, place)
        has_tracks = part.track_pks is None or bool(part.track_pks)
        if not has_tracks and not (part.cells and not part.row_pks):
            raise _wrong("Name at least one track.", name, "track_ids")
    if given.max_cost is not None and not is_money(given.max_cost):
        raise _wrong(f"A limit of cost must be {MONEY}.", "max_cost")


async def _plan(acting: Acting, given: RunGiven, benchmark: Row[Any]) -> Plan:
    generation, evaluation = given.generation, given.evaluation
    metric_pks = await _metrics(acting, given)
    made, judged, track_pks = None, None, []
    # What is generated is what is selected, where nothing else says what is scored.
    scope = EvaluationScope.SELECTED if metric_pks else None
    if generation is not None:
        await _require_fields(acting, benchmark)
        chosen = await _chosen(acting, benchmark.id, generation, "generation")
        made, track_pks = generated(chosen, generation.scope), chosen.all_tracks
    if evaluation is not None:
        scope = evaluation.scope
        judged = scored(await _chosen(acting, benchmark.id, evaluation, "evaluation"), scope, metric_pks)
    generation_scope = None if generation is None else generation.scope
    return Plan(benchmark.id, made, generation_scope, track_pks, judged, scope, metric_pks, given.max_cost)


async def _require_fields(acting: Acting, benchmark: Row[Any]) -> None:
    if benchmark.kind == AgentKind.AUTOMATION and not await field_types(acting, benchmark.id):
        raise _wrong("The benchmark has no fields, so there is nothing to extract: define some.", "generation")


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
    await _require_all(acting, its_rows, of_cells[0], (name, "cells"), "The benchmark has no such row.", "row_id")
    its_tracks = select(tracks.c.id).where(of_benchmark, among(tracks.c.id, of_cells[1]))
    await _require_all(acting, its_tracks, of_cells[1], (name, "cells"), "The benchmark has no such track.", "track_id")
    return Chosen(benchmark_pk, track_pks, row_pks, cells)


async def _require_all(
    acting: Acting, found: Select[Any], wanted: Sequence[int], path: tuple[str, ...], message: str, *within: str
) -> None:
    if not wanted:
        return
    known = set((await acting.connection.execute(found)).scalars())
    missing = next((place for place, key in enumerate(wanted) if key not in known), None)
    if missing is not None:
        raise NotFound(message, (*path, str(missing), *within))


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
        name = unpriced[0].name
        raise _wrong(f"No price of the model {name} is known, so a limit could not hold: set its prices.", "max_cost")


def _priced(model: Row[Any]) -> Priced:
    return Priced(model.provider, model.model_name, model.base_url, model.input_price, model.output_price)


def _wrong(message: str, *path: str) -> InvalidInput:
    return InvalidInput(message, path, ReasonCode.INVALID_FIELD)
