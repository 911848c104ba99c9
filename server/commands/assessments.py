from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from server.commands import app

if TYPE_CHECKING:
    from interchange.decisions import Verdict
    from server.opening import Opened

assessments = typer.Typer(no_args_is_help=True, help="Decisions of reviewers.")
app.add_typer(assessments, name="assessments")

Sidecar = Annotated[Path, typer.Argument(metavar="FILE", exists=True, help="A sidecar, wherever it lies.")]
Json = Annotated[bool, typer.Option("--json", help="Say it as JSON.")]


@assessments.callback()
def group() -> None:
    """Makes typer see a group where there is one command."""


@assessments.command()
def check(path: Sidecar, as_json: Json = False) -> None:
    """Say of each record of a sidecar what would become of it, without writing."""
    from server.opening import opened

    verdicts = opened(lambda of: checked(of, path))
    tell(verdicts, path, as_json)
    if any(verdict.code for verdict in verdicts):
        raise typer.Exit(1)


async def checked(of: "Opened", path: Path) -> "list[Verdict]":
    from interchange.decisions import code_of
    from interchange.files import TreeFiles
    from interchange.reading import Place
    from interchange.store.sidecars import check_sidecar
    from resolvers.errors import RuleError
    from server.commands.faults import told_at
    from server.refusal import Fault, Refusal

    with told_at(path):
        data, _ = TreeFiles(path.parent).document(Place("", path.name))
    await of.connection.execution_options(postgresql_readonly=True)
    try:
        return await check_sidecar(of.connection, data)
    except RuleError as error:
        raise Refusal(Fault(str(path), code_of(error) or "INVALID_FIELD", error.message)) from error


def tell(verdicts: "list[Verdict]", path: Path, as_json: bool) -> None:
    from dataclasses import asdict

    import orjson

    from server.refusal import Fault

    if as_json:
        print(orjson.dumps([asdict(verdict) for verdict in verdicts]).decode())
        return
    for verdict in verdicts:
        place = f"{path}: assessments[{verdict.index}]"
        if verdict.code:
            print(Fault(place, verdict.code, verdict.message or ""))
        else:
            print(f"{place}: {'would be accepted' if verdict.created else 'stands already'}")
