from typing import Annotated

import typer

from server.commands import app

Port = Annotated[
    int | None, typer.Option("--metrics-port", help="Serve Prometheus figures on this port; 0 takes any free one.")
]


@app.command()
def worker(metrics_port: Port = None) -> None:
    """Run items of runs until stopped: as many workers as you like, on any machine that reaches the database."""
    from server.settings import Settings
    from server.working import work_until_stopped

    work_until_stopped(Settings(), metrics_port)
