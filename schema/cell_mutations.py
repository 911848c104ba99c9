from decimal import Decimal

import strawberry
from strawberry import UNSET
from strawberry.scalars import JSON

from engine.references import ref
from models.base import Role
from resolvers import cells, errors
from resolvers.cells import Answer
from schema.acting import Request, mutation
from schema.benchmarks import Benchmark, Cell, Row, Track
from schema.given import given
from schema.ids import key_of
from schema.results import InvalidInput, NotFound


@strawberry.input(description="`error` alone stores a failure (EXTERNAL).")
class CellInput:
    row_id: strawberry.ID
    track_id: strawberry.ID
    output: str | None = UNSET
    fields: JSON | None = UNSET
    error: str | None = UNSET
    latency_ms: int | None = UNSET
    input_tokens: int | None = UNSET
    output_tokens: int | None = UNSET
    cost: Decimal | None = UNSET

    def answer(self, place: int) -> Answer:
        path = ("cells", str(place))
        return Answer(
            key_or_none(Row, self.row_id, (*path, "row_id")),
            key_or_none(Track, self.track_id, (*path, "track_id")),
            **given(self, "row_id", "track_id"),
        )


@strawberry.input
class RecordCellsInput:
    benchmark_id: strawberry.ID
    cells: list[CellInput]


@strawberry.type
class CellOutcome:
    index: int
    cell: Cell | None
    message: str | None


@strawberry.type
class RecordCellsPayload:
    outcomes: list[CellOutcome] = strawberry.field(description="In the order of the input.")
    stored: int
    captured: int
    locked_skipped: int
    refused: int


@strawberry.type
class CellMutations:
    @mutation(Role.OPERATOR, InvalidInput, NotFound)
    async def record_cells(self, info: Request, input: RecordCellsInput) -> RecordCellsPayload:
        """Answers generated elsewhere, up to 1,000, captured by the same rules."""
        benchmark = key_of(Benchmark, input.benchmark_id, ("benchmark_id",))
        answers = [each.answer(place) for place, each in enumerate(input.cells)]
        done = await cells.record(info.context.acting, benchmark, answers)
        refused = sum(fault is not None for fault in done.faults)
        return RecordCellsPayload(
            outcomes=[
                outcome_of(index, answer, fault)
                for index, (answer, fault) in enumerate(zip(answers, done.faults, strict=True))
            ],
            stored=len(answers) - refused,
            captured=done.captured,
            locked_skipped=done.locked_skipped,
            refused=refused,
        )


def outcome_of(index: int, answer: Answer, fault: str | None) -> CellOutcome:
    cell = ref(Cell, f"{answer.row_pk}-{answer.track_pk}") if fault is None else None
    return CellOutcome(index=index, cell=cell, message=fault)


def key_or_none(type_: type, id_: str, path: tuple[str, ...]) -> int | None:
    """One wrong id among a thousand leaves the others to be stored."""
    try:
        return key_of(type_, id_, path)
    except errors.NotFound:
        return None
