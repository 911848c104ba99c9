from pathlib import Path
from typing import Annotated

import typer

from server.commands import app
from server.commands.trees import Name, rooted

Demo = Annotated[bool, typer.Option("--demo", help="Load the demo tree where the database is empty.")]
Root = Annotated[
    Path | None,
    typer.Option(
        "--root",
        exists=True,
        file_okay=False,
        callback=rooted,
        help="A project tree to keep the database in step with.",
    ),
]
Host = Annotated[str | None, typer.Option("--host", help="Address to listen on, instead of ASSAY_HOST.")]
Port = Annotated[int | None, typer.Option("--port", help="Port to listen on, instead of ASSAY_PORT.")]


@app.command()
def serve(demo: Demo = False, root: Root = None, name: Name = "tree", host: Host = None, port: Port = None) -> None:
    """Serve GraphQL, GraphiQL and REST until stopped."""
    from server.following import Followed
    from server.serving import serve
    from server.settings import Settings

    given = {"host": host, "port": port}
    settings = Settings(**{key: value for key, value in given.items() if value is not None})
    serve(settings, with_demo=demo, tree=Followed(root.resolve(), name) if root else None)
