from typing import Annotated

import typer

from server.commands import app

Down = Annotated[str | None, typer.Option(metavar="REVISION", help="Go back to this revision, or to `base`.")]


@app.command()
def migrate(down: Down = None) -> None:
    """Bring the database to the newest revision."""
    import asyncio

    from server import migrations
    from server.database import database_url
    from server.settings import Settings

    with database_url(Settings()) as dsn:
        asyncio.run(migrations.migrate_down(dsn, down) if down else migrations.migrate(dsn))
