from collections.abc import Sequence
from decimal import Decimal

import strawberry
from strawberry import UNSET

from engine.references import ref
from models.base import Role
from resolvers import ending, starting
from resolvers.starting import CellKey, EvaluationGiven, GenerationGiven, RunGiven
from schema.acting import Request, mutation
from schema.benchmarks import Benchmark, Row, Track
from schema.enums import EvaluationScope, GenerationScope
from schema.ids import key_of
from schema.metrics import Metric
from schema.results import Conflict, InvalidInput, NotFound, RunInProgress
from schema.runs import Run


@strawberry.input
class CellKeyInput:
    row_id: strawberry.ID
    track_id: strawberry.ID


@strawberry.input(
    description="EMPTY_AND_FAILED and ALL are of all rows on the tracks; "
    "SELECTED means rowIds × trackIds and cells together."
)
class GenerationInput:
    track_ids: list[strawberry.ID]
    scope: GenerationScope
    row_ids: list[strawberry.ID] | None = UNSET
    cells: list[CellKeyInput] | None = UNSET

    def given(self) -> GenerationGiven:
        return GenerationGiven(
            keys_of(Track, self.track_ids, "generation", "track_ids") or (),
            self.scope,
            keys_of(Row, self.row_ids, "generation", "row_ids"),
            cells_of(self.cells, "generation"),
        )


@strawberry.input(
    description="MISSING has no score or a failed one, STALE one of what has changed since; "
    "SELECTED means rowIds × trackIds and cells together."
)
class EvaluationInput:
    metric_ids: list[strawberry.ID] | None = strawberry.field(
        default=UNSET, description="Left out: the benchmark's metrics."
    )
    scope: EvaluationScope
    track_ids: list[strawberry.ID] | None = strawberry.field(default=UNSET, description="Left out: all tracks.")
    row_ids: list[strawberry.ID] | None = UNSET
    cells: list[CellKeyInput] | None = UNSET

    def given(self) -> EvaluationGiven:
        return EvaluationGiven(
            keys_of(Metric, self.metric_ids, "evaluation", "metric_ids"),
            self.scope,
            keys_of(Track, self.track_ids, "evaluation", "track_ids"),
            keys_of(Row, self.row_ids, "evaluation", "row_ids"),
            cells_of(self.cells, "evaluation"),
        )


@strawberry.input(description="Give generation, evaluation, or both.")
class StartRunInput:
    benchmark_id: strawberry.ID
    generation: GenerationInput | None = UNSET
    evaluation: EvaluationInput | None = UNSET
    auto_evaluate: bool | None = strawberry.field(
        default=True,
        description="With generation and no evaluation: score what was generated on the benchmark's metrics."
        " False: generation only.",
    )
    max_cost: Decimal | None = strawberry.field(
        default=UNSET,
        description="US dollars: once spent, no item is begun any more. Each model that is called needs a known price.",
    )
    idempotency_key: str | None = strawberry.field(
        default=UNSET, description="The same key answers the same run; with another input it is Conflict."
    )

    def given(self) -> RunGiven:
        return RunGiven(
            key_of(Benchmark, self.benchmark_id, ("benchmark_id",)),
            self.generation.given() if self.generation else None,
            self.evaluation.given() if self.evaluation else None,
            self.auto_evaluate is not False,
            None if self.max_cost is UNSET else self.max_cost,
            None if self.idempotency_key is UNSET else self.idempotency_key,
        )


@strawberry.input
class CancelRunInput:
    id: strawberry.ID


@strawberry.type
class StartRunPayload:
    run: Run
    created: bool


@strawberry.type
class CancelRunPayload:
    run: Run


@strawberry.type
class RunMutations:
    @mutation(Role.OPERATOR, InvalidInput, NotFound, Conflict, RunInProgress)
    async def start_run(self, info: Request, input: StartRunInput) -> StartRunPayload:
        """Generate, score, or both; what the scopes select is fixed from now on."""
        run, created = await starting.start(info.context.acting, input.given())
        return StartRunPayload(run=ref(Run, run), created=created)

    @mutation(Role.OPERATOR, NotFound)
    async def cancel_run(self, info: Request, input: CancelRunInput) -> CancelRunPayload:
        """No item starts any more; what is done stays."""
        key = key_of(Run, input.id, ("id",))
        await ending.cancel(info.context.acting, key)
        return CancelRunPayload(run=ref(Run, key))


def keys_of(type_: type, ids: Sequence[strawberry.ID] | None, *path: str) -> list[int] | None:
    if not isinstance(ids, list):
        return None
    return [key_of(type_, id_, (*path, str(place))) for place, id_ in enumerate(ids)]


def cells_of(cells: Sequence[CellKeyInput] | None, part: str) -> list[CellKey] | None:
    if not isinstance(cells, list):
        return None
    return [
        (
            key_of(Row, cell.row_id, (part, "cells", str(place), "row_id")),
            key_of(Track, cell.track_id, (part, "cells", str(place), "track_id")),
        )
        for place, cell in enumerate(cells)
    ]
