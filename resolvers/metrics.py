"""Metrics: made, changed and taken away, and chosen for benchmarks.

A change is another version, by which the scores of the one before are stale. Benchmarks are held in the order of their
ids, before the metric.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, delete, exists, func, insert, not_, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from models import LanguageModel, Metric
from models.base import MetricKind, ReasonCode, table
from resolvers.acting import Acting
from resolvers.errors import Conflict, Duplicate, InvalidInput, NotFound, Subject
from resolvers.forms import require_identity, require_storable
from resolvers.metric_kinds import Variable, definition, needs_judge
from resolvers.scores import is_stale, metrics, of_benchmarks, scores, variables
from resolvers.sql import among, not_among
from resolvers.tables import alone, benchmarks, changed, topic, tracks
from resolvers.values import written

models = table(LanguageModel)


@dataclass(frozen=True, slots=True)
class MetricGiven:
    """What is computed, as a caller defines it; None is left to the kind."""

    options: Any = None
    judge_model_pk: int | None = None
    judge_prompt: str | None = None
    variables: Sequence[Variable] | None = None


async def create(acting: Acting, name: str, description: str | None, kind: MetricKind, given: MetricGiven) -> int:
    await _require_free(acting, name, None)
    require_storable(description, ("description",))
    columns, defined = await _defined(acting, kind, given)
    made = insert(metrics).values(name=name, description=description, kind=kind, version=1, **columns)
    key = int((await acting.connection.execute(made.returning(metrics.c.id))).scalar_one())
    await _define(acting, key, defined)
    return key


async def change(acting: Acting, key: int, expected_version: int, changes: Mapping[str, Any]) -> int:
    """How many scores were current and are stale now. What is left out stays, and the whole is validated anew."""
    metric = await _held(acting, key, expected_version)
    if "name" in changes:
        await _require_free(acting, changes["name"] or "", key)
    require_storable(changes.get("description"), ("description",))
    said = {name: value for name, value in changes.items() if name not in ("name", "description")}
    given = MetricGiven(**{**await _as_kept(acting, metric), **said})
    columns, defined = await _defined(acting, metric.kind, given)
    await _drop_variables(acting, key, defined)
    stale = select(func.count()).where(scores.c.metric_pk == key, not_(is_stale(scores)))
    count = int((await acting.connection.execute(stale)).scalar_one())
    own = {name: changes[name] for name in ("name", "description") if name in changes}
    await acting.connection.execute(
        update(metrics).where(metrics.c.id == key).values(version=metric.version + 1, **own, **columns)
    )
    await _define(acting, key, defined)
    await _announce(acting, key)
    return count


async def remove(acting: Acting, key: int, expected_version: int) -> int:
    """How many scores went with the metric. It goes from every benchmark."""
    await _hold_benchmarks(acting, key)
    await _held(acting, key, expected_version)
    # Until now another one could have taken it; who waits for both is tried again.
    held = await _hold_benchmarks(acting, key)
    await _announce(acting, key)
    removed = await _drop_variables(acting, key, ())
    await acting.connection.execute(delete(metrics).where(metrics.c.id == key))
    for benchmark in held:
        await changed(acting, benchmark)
    return removed


async def choose(acting: Acting, benchmark_pk: int, expected_version: int, metric_pks: Sequence[int]) -> int:
    """The metrics of a benchmark, in their order. The scores of those that it had stay."""
    benchmark = await alone(acting, benchmark_pk, expected_version)
    await _require_metrics(acting, metric_pks)
    await acting.connection.execute(delete(of_benchmarks).where(of_benchmarks.c.benchmark_pk == benchmark_pk))
    if metric_pks:
        await acting.connection.execute(
            insert(of_benchmarks),
            [
                {"benchmark_pk": benchmark_pk, "metric_pk": metric_pk, "position": place}
                for place, metric_pk in enumerate(metric_pks)
            ],
        )
    await changed(acting, benchmark)
    return benchmark_pk


async def _held(acting: Acting, key: int, expected_version: int) -> Row[Any]:
    held = select(metrics).where(metrics.c.id == key).with_for_update()
    metric: Row[Any] | None = (await acting.connection.execute(held)).one_or_none()
    if metric is None:
        raise NotFound("There is no such metric.", ("id",))
    if metric.version != expected_version:
        raise Conflict("The metric was changed since that version.", Subject(Metric, key), metric.version)
    return metric


async def _hold_benchmarks(acting: Acting, key: int) -> Sequence[Row[Any]]:
    """The benchmarks that a metric was chosen for, held alone."""
    chosen = select(of_benchmarks.c.benchmark_pk).where(of_benchmarks.c.metric_pk == key)
    held = select(benchmarks).where(benchmarks.c.id.in_(chosen)).order_by(benchmarks.c.id).with_for_update()
    return (await acting.connection.execute(held)).all()


async def _require_free(acting: Acting, name: str, own: int | None) -> None:
    require_identity(name, ("name",))
    taken = await acting.connection.scalar(select(metrics.c.id).where(metrics.c.name == name))
    if taken is not None and taken != own:
        raise Duplicate(f"A metric {name} exists.", Subject(Metric, taken))


async def _require_metrics(acting: Acting, metric_pks: Sequence[int]) -> None:
    """Each is there, and stays until this is committed; none is named twice."""
    held = select(metrics.c.id).where(among(metrics.c.id, metric_pks)).order_by(metrics.c.id)
    found = set((await acting.connection.execute(held.with_for_update(read=True, key_share=True))).scalars())
    for place, metric_pk in enumerate(metric_pks):
        path = ("metric_ids", str(place))
        if metric_pk not in found:
            raise NotFound("There is no such metric.", path)
        if metric_pk in metric_pks[:place]:
            raise InvalidInput("A metric is named once.", path, ReasonCode.INVALID_FIELD)


async def _as_kept(acting: Acting, metric: Row[Any]) -> dict[str, Any]:
    """What a change starts from; the variables of a kind are its own."""
    of_judge = await _variables(acting, metric.id) if needs_judge(metric.kind) else None
    return {
        "options": json.loads(metric.options),
        "judge_model_pk": metric.judge_model_pk,
        "judge_prompt": metric.judge_prompt,
        "variables": of_judge,
    }


async def _variables(acting: Acting, key: int) -> Sequence[Variable]:
    columns = (variables.c[name] for name in ("name", "type", "description", "minimum", "maximum", "aggregation"))
    found = select(*columns).where(variables.c.metric_pk == key).order_by(variables.c.position)
    return [Variable(*row) for row in await acting.connection.execute(found)]


async def _defined(acting: Acting, kind: MetricKind, given: MetricGiven) -> tuple[dict[str, Any], Sequence[Variable]]:
    """The columns of a sound definition, and its variables."""
    defined = definition(
        kind,
        given.options,
        judge_model_given=given.judge_model_pk is not None,
        judge_prompt=given.judge_prompt,
        variables=given.variables,
    )
    if given.judge_model_pk is not None:
        await _require_model(acting, given.judge_model_pk)
    columns = {
        "options": written(defined.options),
        "judge_model_pk": given.judge_model_pk,
        "judge_prompt": given.judge_prompt,
    }
    return columns, defined.variables


async def _require_model(acting: Acting, key: int) -> None:
    if await acting.connection.scalar(select(models.c.id).where(models.c.id == key)) is None:
        raise NotFound("There is no such model.", ("judge_model_id",))


async def _define(acting: Acting, key: int, defined: Sequence[Variable]) -> None:
    """Variables that are there already keep their scores."""
    added = upsert(variables)
    columns = ("position", "type", "description", "minimum", "maximum", "aggregation")
    await acting.connection.execute(
        added.on_conflict_do_update(
            index_elements=["metric_pk", "name"], set_={name: added.excluded[name] for name in columns}
        ),
        [
            {
                "metric_pk": key,
                "name": variable.name,
                "position": place,
                "type": variable.type,
                "description": variable.description,
                "minimum": variable.minimum,
                "maximum": variable.maximum,
                "aggregation": variable.aggregation,
            }
            for place, variable in enumerate(defined)
        ],
    )


async def _drop_variables(acting: Acting, key: int, defined: Sequence[Variable]) -> int:
    """How many scores went with the variables that are no more. Nobody scores on those meanwhile."""
    gone = (variables.c.metric_pk == key, not_among(variables.c.name, [variable.name for variable in defined]))
    held = select(variables.c.name).where(*gone).order_by(variables.c.name).with_for_update()
    names = (await acting.connection.execute(held)).scalars().all()
    if not names:
        return 0
    its = (scores.c.metric_pk == key, among(scores.c.variable, names))
    removed = await acting.connection.execute(delete(scores).where(*its))
    await acting.connection.execute(delete(variables).where(*gone))
    return removed.rowcount


async def _announce(acting: Acting, key: int) -> None:
    """To who watches a benchmark that has the metric, or scores on it."""
    chosen = exists().where(of_benchmarks.c.benchmark_pk == benchmarks.c.id, of_benchmarks.c.metric_pk == key)
    of_track = exists().where(scores.c.track_pk == tracks.c.id, scores.c.metric_pk == key)
    scored = exists().where(tracks.c.benchmark_pk == benchmarks.c.id, of_track)
    found = await acting.connection.execute(select(benchmarks.c.id).where(chosen | scored))
    acting.topics.update(topic(benchmark_pk) for benchmark_pk in found.scalars())
