"""`python -m bench [rates] [import] [rows] [sets] [runs] [size]`: measures all of it, or the parts that are named."""

import asyncio
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from bench import importing, rates, rows, runs, sets, size
from bench.databases import connection, database, postgres, working_directory
from bench.large import SMALL, fill, fill_table
from bench.load import CONNECTIONS, GENERATOR
from bench.report import report


class Part(StrEnum):
    RATES = "rates"
    IMPORT = "import"
    ROWS = "rows"
    SETS = "sets"
    RUNS = "runs"
    SIZE = "size"


async def small(dsn: str) -> str:
    made = await database(dsn, "small")
    async with connection(made) as filling:
        await fill(filling, SMALL)
        await fill_table(filling)
    return made


def measure_rates(dsn: str, directory: Path, seconds: float) -> bool:
    print(f"Answers a second: {CONNECTIONS} connections by {GENERATOR}, median of {rates.ROUNDS} rounds", flush=True)
    return report(rates.compare(asyncio.run(small(dsn)), directory, seconds))


def measure_import(dsn: str, directory: Path) -> bool:
    print(f"An import: median of {importing.ROUNDS}", flush=True)
    return report(asyncio.run(importing.compare(dsn, directory)))


def measure_rows(dsn: str, directory: Path) -> bool:
    print(f"Rows of a benchmark from a file: median of {rows.ROUNDS}", flush=True)
    return report(asyncio.run(rows.compare(dsn, directory)))


def measure_sets(dsn: str) -> bool:
    print(f"Ground truth of a table captured anew, and cleared: median of {sets.ROUNDS}", flush=True)
    return report(asyncio.run(sets.compare(dsn)))


def measure_runs(dsn: str, directory: Path) -> bool:
    print(f"Cells of runs: a model that answers in 200 ms, {runs.AT_ONCE} at once, median of {runs.ROUNDS}", flush=True)
    return report(asyncio.run(runs.compare(dsn, directory)))


def measure_size(dsn: str, plans: Path | None) -> bool:
    print("1,000 agents, 20,000 defects, 1,000,000 assessments: the statements of the service", flush=True)
    return size.report(asyncio.run(size.explanations(dsn)), plans)


def main(
    parts: Annotated[
        list[Part] | None, typer.Argument(help="What to measure; all of it, where nothing is named.")
    ] = None,
    seconds: Annotated[float, typer.Option(help="How long each peer is asked in each round.")] = 3,
    plans: Annotated[Path | None, typer.Option(help="Write all plans at size to this file.")] = None,
) -> None:
    with working_directory() as directory, postgres(directory) as dsn:
        measures: dict[Part, Callable[[], bool]] = {
            Part.RATES: lambda: measure_rates(dsn, directory, seconds),
            Part.IMPORT: lambda: measure_import(dsn, directory),
            Part.ROWS: lambda: measure_rows(dsn, directory),
            Part.SETS: lambda: measure_sets(dsn),
            Part.RUNS: lambda: measure_runs(dsn, directory),
            Part.SIZE: lambda: measure_size(dsn, plans),
        }
        held = [measures[part]() for part in parts or list(Part)]
    raise typer.Exit(0 if all(held) else 1)


if __name__ == "__main__":
    typer.run(main)
