from server.commands import app


@app.command()
def serve() -> None:
    """Serve GraphQL, GraphiQL and REST until stopped."""
    from server.serving import serve
    from server.settings import Settings

    serve(Settings())
