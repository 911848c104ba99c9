from typing import TYPE_CHECKING

from server.commands import app

if TYPE_CHECKING:
    from server.opening import Opened


@app.command()
def sweep() -> None:
    """Remove files that nothing has referred to for a day; `serve` does so by itself now and then."""
    from server.opening import opened

    print(f"{opened(swept)} files removed")


async def swept(to: "Opened") -> int:
    from server.sweeping import sweep

    engine = to.connection.engine
    # It is the only one of a command, and a sweep takes several in turns.
    await to.connection.close()
    return await sweep(engine, to.files)
