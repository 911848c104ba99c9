from pathlib import Path
from typing import Annotated

import typer

from server.commands import app

manifest = typer.Typer(no_args_is_help=True, help="Manifests of confirmed defects.")
app.add_typer(manifest, name="manifest")


@manifest.callback()
def group() -> None:
    """Makes typer see a group where there is one command."""


@manifest.command()
def check(path: Annotated[Path, typer.Argument(exists=True, help="A manifest, or the unit it belongs to.")]) -> None:
    """Say what makes a manifest invalid."""
    from interchange.agents import check_manifest
    from server.refusal import Fault, Refusal

    if notices := check_manifest(path):
        raise Refusal(*(Fault(str(path), notice.code, notice.message) for notice in notices))
    print(f"{path}: sound")
