from pathlib import Path
from typing import Annotated

import typer

from server.commands import app
from server.commands.faults import told_at

agent = typer.Typer(no_args_is_help=True, help="Units of a project tree.")
app.add_typer(agent, name="agent")

Unit = Annotated[Path, typer.Argument(exists=True, file_okay=False, help="A unit: a directory with an agent.toml.")]
Root = Annotated[
    Path | None,
    typer.Option("--root", exists=True, file_okay=False, help="The tree; otherwise the nearest one above the unit."),
]
Destination = Annotated[Path, typer.Argument(metavar="DEST", help="A directory that is new or empty.")]


@agent.command()
def add(path: Unit, root: Root = None) -> None:
    """Register a unit in its tree, ready for ground truth."""
    from interchange import units

    with told_at(path):
        added = units.add(path, root)
    state = "registered" if added.is_new else "was registered already"
    print(f"{added.agent_id}: {state} at {added.path}")


@agent.command()
def stage(path: Unit, destination: Destination) -> None:
    """Copy a unit's execution source, without its ground truth, and print its digest."""
    from interchange import units

    with told_at(path):
        print(units.stage(path, destination))
