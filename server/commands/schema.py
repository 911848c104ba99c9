from server.commands import app


@app.command()
def schema() -> None:
    """Print the graph in the schema definition language."""
    from schema.build import build

    print(build())
