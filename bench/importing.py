"""What it costs to import a large Suite, beside reading its JSON and copying its rows."""

import json
import os
import resource
import statistics
import subprocess
import sys
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from time import perf_counter

import asyncpg

from bench import suite
from bench.databases import connection, database
from bench.report import Figure

ROUNDS = 3
MOST = 4.0
MOST_MEMORY = 1024**3
# What the rows of a Suite refer to comes before them.
TABLES = ("trees", "files", "agents", "suites", "suite_agents", "cases", "attempts")


@dataclass(frozen=True)
class Import:
    seconds: float
    memory: int


def imported(root: Path, dsn: str, data: Path) -> Import:
    """Runs the command as a user would: its start counts too."""
    command = [str(Path(sys.executable).with_name("assay")), "import", str(root)]
    environment = {**os.environ, "ASSAY_DATABASE_URL": dsn, "ASSAY_DATA_DIR": str(data)}
    began = perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment) as process:  # noqa: S603
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command} ended with {process.returncode}")
    return Import(perf_counter() - began, memory_of(usage))


def memory_of(usage: resource.struct_rusage) -> int:
    """The peak; Linux counts it in KiB, macOS in bytes."""
    return usage.ru_maxrss if sys.platform == "darwin" else usage.ru_maxrss * 1024


async def dumped(source: asyncpg.Connection) -> dict[str, bytes]:
    rows = {}
    for table in TABLES:
        rows[table] = BytesIO()
        await source.copy_from_table(table, output=rows[table])
    return {table: file.getvalue() for table, file in rows.items()}


def parsed(events: Path) -> float:
    began = perf_counter()
    json.loads(events.read_bytes())
    return perf_counter() - began


async def copied(rows: dict[str, bytes], dsn: str) -> float:
    began = perf_counter()
    async with connection(dsn) as target, target.transaction():
        for table, text in rows.items():
            await target.copy_to_table(table, source=BytesIO(text))
    return perf_counter() - began


async def compare(dsn: str, directory: Path) -> list[Figure]:
    events = suite.write_tree(directory / "tree")
    imports, copies = [], []
    for number in range(ROUNDS):
        made = await database(dsn, f"imported_{number}")
        imports.append(imported(directory / "tree", made, directory / "files"))
        async with connection(made) as source:
            rows = await dumped(source)
        target = await database(dsn, f"copied_{number}")
        # The least that any import has to do: to read the events, and to hand the rows to Postgres.
        copies.append(parsed(events) + await copied(rows, target))
    return figures(imports, statistics.median(copies), events.stat().st_size)


def figures(imports: list[Import], copy: float, size: int) -> list[Figure]:
    seconds = statistics.median(each.seconds for each in imports)
    memory = max(each.memory for each in imports)
    what = f"{suite.SLOTS:,} slots × {suite.ATTEMPTS} ({size / 1e6:.0f} MB)"
    return [
        Figure(what, "json.loads, COPY", f"{copy:.2f} s", 1.0),
        Figure(what, "assay import", f"{seconds:.2f} s", seconds / copy, most=MOST),
        Figure("its peak memory", "assay import", f"{memory / 1e6:.0f} MB", memory / MOST_MEMORY, most=1.0),
    ]
