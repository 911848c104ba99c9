from typing import Annotated

import typer

from server.commands import app

Demo = Annotated[bool, typer.Option("--demo", help="Load the demo tree where the database is empty.")]


@app.command()
def serve(demo: Demo = False) -> None:
    """Serve GraphQL, GraphiQL and REST until stopped."""
    from server.serving import serve
    from server.settings import Settings

    serve(Settings(), with_demo=demo)
