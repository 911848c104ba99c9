"""What is told of a benchmark to who watches it."""

import strawberry

from engine.encode import write_global_id
from engine.references import present, ref
from resolvers.changes import TableChange
from schema.benchmarks import Benchmark, Cell, ExpectedOutput, Row
from schema.metrics import Score


@strawberry.type
class BenchmarkChange:
    resync: bool
    benchmark: Benchmark
    rows: list[Row]
    cells: list[Cell]
    expected_outputs: list[ExpectedOutput]
    scores: list[Score]
    removed_ids: list[strawberry.ID]


def shown(benchmark_pk: int, change: TableChange) -> BenchmarkChange:
    """What is told is read afterwards: as it is by then, and without what is gone by then."""
    removed = [
        *(write_global_id("Row", key) for key in change.removed_rows),
        *(write_global_id("Track", key) for key in change.removed_tracks),
    ]
    return BenchmarkChange(
        resync=change.resync,
        benchmark=ref(Benchmark, benchmark_pk),
        rows=present(Row, change.rows),
        cells=present(Cell, change.cells),
        expected_outputs=present(ExpectedOutput, change.expected),
        scores=present(Score, change.scores),
        removed_ids=[strawberry.ID(id_) for id_ in removed],
    )
