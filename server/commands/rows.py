from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Literal

import typer

from server.commands import app

if TYPE_CHECKING:
    from interchange.store.exports import RowsWritten
    from interchange.store.rows import RowsTaken
    from interchange.tables import Table
    from resolvers.row_files import RowFormat
    from server.opening import Opened
    from server.refusal import Refusal

ACTOR = "local"

rows = typer.Typer(no_args_is_help=True, help="Rows of a benchmark as files.")
app.add_typer(rows, name="rows")

Benchmark = Annotated[str, typer.Argument(help="The benchmark's name.")]
# The words of resolvers.row_files.RowFormat, which takes seconds to load.
Format = Annotated[
    Literal["JSON", "JSONL", "CSV"] | None,
    typer.Option("--format", help="Otherwise what the file's name says, or JSON.", case_sensitive=False),
]
File = Annotated[Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="Rows as JSON, JSONL or CSV.")]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="FILE", dir_okay=False, help="Instead of standard output.")
]
Json = Annotated[bool, typer.Option("--json", help="Say what was done as JSON.")]


@rows.command("import")
def import_(benchmark: Benchmark, path: File, format: Format = None, as_json: Json = False) -> None:
    """Add the rows of a file, all of them or none."""
    import orjson

    from server.opening import opened

    done = opened(lambda to: bring(to, benchmark, path, format_of(format, path)))
    if as_json:
        print(orjson.dumps({"added": done.added, "unchanged": done.unchanged}).decode())
    else:
        print(f"{benchmark}: rows added: {done.added}, unchanged: {done.unchanged}")


@rows.command()
def export(benchmark: Benchmark, format: Format = None, output: Output = None) -> None:
    """Write what an import reads."""
    from server.opening import opened

    done = opened(lambda of: export_to(of, benchmark, output, format_of(format, output)))
    if done.lost_empty_texts:
        typer.echo(f"{benchmark}: empty texts written as empty cells: {done.lost_empty_texts}", err=True)


def format_of(given: str | None, path: Path | None) -> "RowFormat":
    from resolvers.row_files import RowFormat

    named = {format.suffix: format for format in RowFormat}
    if given is not None:
        return RowFormat(given)
    return RowFormat.JSON if path is None else named.get(path.suffix.lower().removeprefix("."), RowFormat.JSON)


async def bring(to: "Opened", name: str, path: Path, format: "RowFormat") -> "RowsTaken":
    import asyncio

    from interchange.store.rows import add_rows
    from resolvers.acting import Acting, announce
    from resolvers.errors import InvalidRows
    from server.refusal import Fault, Refusal

    data = await asyncio.to_thread(path.read_bytes)
    try:
        async with to.connection.begin():
            acting = Acting(to.connection, ACTOR)
            table = await found(to, name)
            done = await add_rows(acting, table.pk, data, format)
            await acting.note("import_rows", f"Benchmark:{table.pk}")
    except InvalidRows as refused:
        faults = (
            Fault(":".join((str(path), str(fault.line), *fault.path)), "INVALID_ROW", fault.message)
            for fault in refused.faults
        )
        raise Refusal(*faults) from refused
    async with to.connection.begin():
        await announce(to.connection, acting.topics)
    return done


async def export_to(of: "Opened", name: str, output: Path | None, format: "RowFormat") -> "RowsWritten":
    import shutil
    import sys
    import tempfile

    from interchange.store.exports import write
    from resolvers.tables import benchmarks

    # What cannot be written whole replaces nothing.
    with tempfile.TemporaryFile() as file:
        done = await write(of.connection, benchmarks.c.name == name, "rows", format, file)
        if done is None:
            raise unknown(name)
        file.seek(0)
        if output is None:
            shutil.copyfileobj(file, sys.stdout.buffer)
        else:
            put(file, output)
        return done[1]


def put(file: IO[bytes], output: Path) -> None:
    import shutil

    from server.refusal import Fault, Refusal

    try:
        with output.open("wb") as target:
            shutil.copyfileobj(file, target)
    except OSError as error:
        raise Refusal(Fault(str(output), "FILE_UNAVAILABLE", f"cannot be written: {error.strerror}")) from error


async def found(at: "Opened", name: str) -> "Table":
    from interchange.store.tables import table_of
    from resolvers.tables import benchmarks

    table = await table_of(at.connection, benchmarks.c.name == name)
    if table is None:
        raise unknown(name)
    return table


def unknown(name: str) -> "Refusal":
    from server.refusal import Fault, Refusal

    return Refusal(Fault(name, "UNKNOWN_BENCHMARK", "There is no benchmark of this name."))
