"""Runs as the command line names them: by names of tracks and metrics and keys of rows, instead of ids."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from sqlalchemy import ColumnElement, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from engine.encode import write_global_id
from models import Metric
from models.base import EvaluationScope, GenerationScope, table
from resolvers import starting
from resolvers.acting import Acting, announce
from resolvers.errors import Conflict, RuleError, RunInProgress
from resolvers.sql import among
from resolvers.starting import EvaluationGiven, GenerationGiven, RunGiven
from resolvers.tables import benchmarks, rows, tracks
from resolvers.transient import is_transient
from server.refusal import Fault, Refusal

metrics = table(Metric)

TRIES: Final = 5
# Where a rule's path leads to, on the command line.
OPTIONS: Final[Mapping[str, str]] = {
    "track_ids": "--tracks",
    "row_ids": "--rows",
    "metric_ids": "--metrics",
    "max_cost": "--max-cost",
    "idempotency_key": "--key",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """No generation or evaluation where there is no scope of it; no names are all of them."""

    benchmark: str
    generate: GenerationScope | None
    evaluate: EvaluationScope | None
    tracks: Sequence[str] | None = None
    rows: Sequence[str] | None = None
    metrics: Sequence[str] | None = None
    auto_evaluate: bool = True
    max_cost: Decimal | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True)
class Started:
    run_pk: int
    created: bool


async def start(connection: AsyncConnection, asked: Asked, actor: str) -> Started:
    for _ in range(TRIES - 1):
        try:
            return await _start(connection, asked, actor)
        except DBAPIError as error:
            if not is_transient(error):
                raise
    return await _start(connection, asked, actor)


async def _start(connection: AsyncConnection, asked: Asked, actor: str) -> Started:
    acting = Acting(connection, actor)
    try:
        async with connection.begin():
            run_pk, created = await starting.start(acting, await given(connection, asked))
            await acting.note("start_run", f"Run:{run_pk}")
    except RuleError as error:
        raise refusal(error, asked.benchmark) from error
    async with connection.begin():
        await announce(connection, acting.topics)
    return Started(run_pk, created)


async def given(connection: AsyncConnection, asked: Asked) -> RunGiven:
    benchmark_pk = await connection.scalar(select(benchmarks.c.id).where(benchmarks.c.name == asked.benchmark))
    if benchmark_pk is None:
        raise Refusal(Fault(asked.benchmark, "UNKNOWN_BENCHMARK", "There is no benchmark of this name."))
    of_benchmark = tracks.c.benchmark_pk == benchmark_pk, rows.c.benchmark_pk == benchmark_pk
    track_pks = await _keys(connection, tracks.c.id, tracks.c.name, asked.tracks, of_benchmark[0])
    row_pks = await _keys(connection, rows.c.id, rows.c.key, asked.rows, of_benchmark[1])
    metric_pks = await _keys(connection, metrics.c.id, metrics.c.name, asked.metrics)
    _require_known(
        ("TRACK", asked.tracks, track_pks), ("ROW", asked.rows, row_pks), ("METRIC", asked.metrics, metric_pks)
    )
    return RunGiven(
        benchmark_pk,
        _generation(asked, track_pks if asked.tracks else await _all_tracks(connection, benchmark_pk), row_pks),
        _evaluation(asked, track_pks, row_pks, metric_pks),
        asked.auto_evaluate,
        asked.max_cost,
        asked.idempotency_key,
    )


Keys = Mapping[str, int]


async def _keys(
    connection: AsyncConnection,
    key: ColumnElement[int],
    name: ColumnElement[str],
    names: Sequence[str] | None,
    *which: ColumnElement[bool],
) -> Keys:
    if names is None:
        return {}
    found = (await connection.execute(select(name, key).where(among(name, names), *which))).all()
    keys = {row[0]: row[1] for row in found}
    return {name: keys[name] for name in names if name in keys}


async def _all_tracks(connection: AsyncConnection, benchmark_pk: int) -> Keys:
    of_benchmark = select(tracks.c.name, tracks.c.id).where(tracks.c.benchmark_pk == benchmark_pk)
    return {row[0]: row[1] for row in await connection.execute(of_benchmark.order_by(tracks.c.position))}


def _require_known(*sought: tuple[str, Sequence[str] | None, Keys]) -> None:
    faults = [
        Fault(name, f"UNKNOWN_{kind}", f"There is no {kind.lower()} {name!r}.")
        for kind, names, keys in sought
        for name in names or ()
        if name not in keys
    ]
    if faults:
        raise Refusal(*faults)


def _generation(asked: Asked, track_pks: Keys, row_pks: Keys) -> GenerationGiven | None:
    if asked.generate is None:
        return None
    chosen = list(row_pks.values()) if asked.generate == GenerationScope.SELECTED else None
    return GenerationGiven(list(track_pks.values()), asked.generate, chosen, None)


def _evaluation(asked: Asked, track_pks: Keys, row_pks: Keys, metric_pks: Keys) -> EvaluationGiven | None:
    if asked.evaluate is None:
        return None
    chosen = list(row_pks.values()) if asked.evaluate == EvaluationScope.SELECTED else None
    named = None if asked.metrics is None else list(metric_pks.values())
    return EvaluationGiven(named, asked.evaluate, list(track_pks.values()) if asked.tracks else None, chosen, None)


def refusal(error: RuleError, place: str) -> Refusal:
    """What a rule says, at the option that it is about."""
    path: tuple[str, ...] = getattr(error, "path", ())
    place = next((OPTIONS[name] for name in path if name in OPTIONS), place)
    run_pk = error.run if isinstance(error, RunInProgress) else None
    if isinstance(error, Conflict):
        run_pk = int(error.existing.key)
    named = "" if run_pk is None else f" It is {run_id(run_pk)}."
    code = re.sub(r"(?<!^)(?=[A-Z])", "_", type(error).__name__).upper()
    return Refusal(Fault(place, code, error.message + named))


def run_id(run_pk: int) -> str:
    """As the graph shows it."""
    return write_global_id("Run", run_pk)
