"""What scores are computed from: metrics as they are now, and cells with their ground truth as they stood together."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlalchemy import Row, Select, Text, and_, cast, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from models import LanguageModel, Metric, MetricVariable, RunInput, RunItem
from models.base import AgentKind, FieldType, MetricKind, Origin, table
from resolvers.metric_kinds import Variable, needs_expected
from resolvers.queue import Held
from resolvers.scores import current_expected_revision
from resolvers.sql import among
from resolvers.tables import benchmarks, cells, fields, rows, values

metrics, variables, models = table(Metric), table(MetricVariable), table(LanguageModel)
items, inputs = table(RunItem), table(RunInput)


@dataclass(frozen=True, slots=True)
class MetricUsed:
    """A metric as it is now. `judge` is the model's row, none where the metric asks no model."""

    id: int
    version: int
    kind: MetricKind
    options: Mapping[str, Any]
    prompt: str | None
    judge: Row[Any] | None
    variables: Sequence[Variable]

    @property
    def judge_pk(self) -> int | None:
        return None if self.judge is None else int(self.judge.id)

    @property
    def needs_expected(self) -> bool:
        return needs_expected(self.kind, self.prompt)


@dataclass(frozen=True, slots=True)
class CellFacts:
    """One cell with its ground truth, as they stood together. A cell that was never answered has revision 0."""

    kind: AgentKind
    input: str
    output: str | None
    fields: dict[str, Any] | None
    expected_text: str | None
    expected_fields: dict[str, Any]
    field_types: Mapping[str, FieldType]
    latency_ms: int | None
    input_tokens: int | None
    output_tokens: int | None
    cost: Decimal | None
    cell_revision: int
    expected_revision: int


async def used_metrics(connection: AsyncConnection, metric_pks: Collection[int]) -> dict[int, MetricUsed]:
    """By key; those that were deleted are missing."""
    found = (await connection.execute(select(metrics).where(among(metrics.c.id, metric_pks)))).all()
    judges = [row.judge_model_pk for row in found if row.judge_model_pk is not None]
    called = await connection.execute(select(models).where(among(models.c.id, judges)))
    by_key = {row.id: row for row in called}
    named = select(variables).where(among(variables.c.metric_pk, metric_pks)).order_by(variables.c.position)
    its_variables: dict[int, list[Variable]] = {row.id: [] for row in found}
    for row in await connection.execute(named):
        variable = Variable(row.name, row.type, row.description, row.minimum, row.maximum, row.aggregation)
        its_variables.setdefault(row.metric_pk, []).append(variable)
    return {
        row.id: MetricUsed(
            row.id,
            row.version,
            row.kind,
            json.loads(row.options),
            row.judge_prompt,
            by_key.get(row.judge_model_pk),
            its_variables[row.id],
        )
        for row in found
    }


async def cell_facts(connection: AsyncConnection, held: Sequence[Held]) -> dict[int, CellFacts]:
    """By item; those whose row or track is gone are missing. One statement, so that all is of one moment."""
    found = await connection.execute(_facts().where(among(items.c.id, [item.id for item in held])))
    return {row.id: _read(row) for row in found}


def _facts() -> Select[Any]:
    text = select(values.c.text).where(values.c.row_pk == rows.c.id, values.c.field == "")
    member = func.json_object_agg(values.c.field, values.c.value)
    of_fields = select(cast(member, Text)).where(
        values.c.row_pk == rows.c.id, values.c.field != "", values.c.origin != Origin.EMPTY
    )
    types = select(func.json_object_agg(fields.c.name, fields.c.type)).where(
        fields.c.benchmark_pk == rows.c.benchmark_pk
    )
    snapshot = and_(inputs.c.run_pk == items.c.run_pk, inputs.c.row_pk == items.c.row_pk)
    cell = and_(cells.c.row_pk == items.c.row_pk, cells.c.track_pk == items.c.track_pk)
    joined = (
        items.join(rows, rows.c.id == items.c.row_pk)
        .join(benchmarks, benchmarks.c.id == rows.c.benchmark_pk)
        .outerjoin(cells, cell)
        .outerjoin(inputs, snapshot)
    )
    return select(
        items.c.id,
        benchmarks.c.kind,
        func.coalesce(inputs.c.input, rows.c.input).label("input"),
        *(cells.c[name] for name in ("output", "fields", "latency_ms", "input_tokens", "output_tokens")),
        cells.c.cost,
        func.coalesce(cells.c.revision, 0).label("cell_revision"),
        text.scalar_subquery().label("expected_text"),
        of_fields.scalar_subquery().label("expected_fields"),
        types.scalar_subquery().label("field_types"),
        current_expected_revision(rows.c.id).label("expected_revision"),
    ).select_from(joined)


def _read(row: Row[Any]) -> CellFacts:
    types = json.loads(row.field_types or "{}")
    return CellFacts(
        kind=row.kind,
        input=row.input,
        output=row.output,
        fields=None if row.fields is None else json.loads(row.fields),
        expected_text=row.expected_text,
        expected_fields=json.loads(row.expected_fields or "{}"),
        field_types={name: FieldType(word) for name, word in types.items()},
        latency_ms=row.latency_ms,
        input_tokens=row.input_tokens,
        output_tokens=row.output_tokens,
        cost=row.cost,
        cell_revision=row.cell_revision,
        expected_revision=row.expected_revision,
    )
