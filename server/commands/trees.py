"""What commands are told about a project tree: its name here, and where it lies."""

from pathlib import Path
from typing import Annotated

import typer


def named(name: str | None) -> str | None:
    from resolvers.forms import SHORT_TEXT, identity

    if name is not None and (identity(name) is None or not name.isprintable()):
        raise typer.BadParameter(f"a tree is called by {SHORT_TEXT} in one line")
    return name


def rooted(root: Path | None) -> Path | None:
    from resolvers.forms import storable_text

    # The database remembers it.
    if root is not None and storable_text(str(root.resolve())) is None:
        raise typer.BadParameter("the path of a tree must be UTF-8")
    return root


Name = Annotated[str, typer.Option("--as", metavar="NAME", callback=named, help="What the tree is called here.")]
WhichName = Annotated[
    str | None, typer.Option("--as", metavar="NAME", callback=named, help="Which tree, where there are several.")
]
