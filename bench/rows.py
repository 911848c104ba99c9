"""What it costs to import the rows of a benchmark, beside reading their JSON and copying them into the same tables."""

import json
import os
import statistics
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from time import perf_counter

import asyncpg

from bench.databases import connection, database
from bench.report import Figure

ROWS = 100_000
ROUNDS = 3
MOST = 4.0
BENCHMARK = "INSERT INTO benchmarks (name, kind, auto_capture, version) VALUES ('b', $1, true, 1)"
FIELDS = """
INSERT INTO benchmark_fields (benchmark_pk, name, position, type)
SELECT id, field, place, 'STRING'
FROM benchmarks, unnest(ARRAY['answer', 'reason']) WITH ORDINALITY AS its (field, place)
"""
# Triggers keep the first revision of what comes, in either way.
TABLES = {
    "benchmark_rows": ("id", "benchmark_pk", "position", "key", "input", "version"),
    "expected_values": (
        "row_pk",
        "field",
        "text",
        "value",
        "origin",
        "locked",
        "edited_by",
        "edited_at",
        "edited_revision",
    ),
}


def write_rows(path: Path, kind: str) -> None:
    with path.open("w") as file:
        for number in range(ROWS):
            text = f"What about {number}? é " + "word " * 20
            said = f"Answer {number}. " + "word " * 10
            expected = said if kind == "CONVERSATION" else {"answer": said, "reason": "word " * 10}
            row = {"key": f"row-{number}", "input": text, "expected_output": expected}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def imported(path: Path, dsn: str, data: Path) -> float:
    """Runs the command as a user would: its start counts too."""
    command = [str(Path(sys.executable).with_name("assay")), "rows", "import", "b", str(path)]
    environment = {**os.environ, "ASSAY_DATABASE_URL": dsn, "ASSAY_DATA_DIR": str(data)}
    began = perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, env=environment, check=True)  # noqa: S603
    return perf_counter() - began


def parsed(path: Path) -> float:
    began = perf_counter()
    for line in path.read_bytes().splitlines():
        json.loads(line)
    return perf_counter() - began


async def prepared(dsn: str, name: str, kind: str) -> str:
    made = await database(dsn, name)
    async with connection(made) as filling:
        await filling.execute(BENCHMARK, kind)
        if kind == "AUTOMATION":
            await filling.execute(FIELDS)
    return made


async def dumped(source: asyncpg.Connection) -> dict[str, bytes]:
    found = {}
    for table, columns in TABLES.items():
        rows = BytesIO()
        await source.copy_from_table(table, columns=columns, output=rows)
        found[table] = rows.getvalue()
    return found


async def copied(rows: dict[str, bytes], dsn: str) -> float:
    async with connection(dsn) as target:
        began = perf_counter()
        async with target.transaction():
            for table, text in rows.items():
                await target.copy_to_table(table, columns=TABLES[table], source=BytesIO(text))
        return perf_counter() - began


async def compare(dsn: str, directory: Path) -> list[Figure]:
    return [figure for kind in ("CONVERSATION", "AUTOMATION") for figure in await compare_kind(dsn, directory, kind)]


async def compare_kind(dsn: str, directory: Path, kind: str) -> list[Figure]:
    path = directory / f"{kind}.jsonl"
    write_rows(path, kind)
    imports, copies = [], []
    for number in range(ROUNDS):
        made = await prepared(dsn, f"{kind}_imported_{number}", kind)
        imports.append(imported(path, made, directory / "files"))
        async with connection(made) as source:
            rows = await dumped(source)
        target = await prepared(dsn, f"{kind}_copied_{number}", kind)
        copies.append(parsed(path) + await copied(rows, target))
    copy, seconds = statistics.median(copies), statistics.median(imports)
    what = f"{ROWS:,} rows, {kind.lower()} ({path.stat().st_size / 1e6:.0f} MB)"
    return [
        Figure(what, "json.loads, COPY", f"{copy:.2f} s", 1.0),
        Figure(what, "assay rows import", f"{seconds:.2f} s", seconds / copy, most=MOST),
    ]
