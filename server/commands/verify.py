from typing import TYPE_CHECKING

import typer

from server.commands import app

if TYPE_CHECKING:
    from server.opening import Opened


@app.command()
def verify() -> None:
    """Compute all digests and derived figures again, and say what differs."""
    from server.opening import opened

    if count := opened(report):
        print(f"differences: {count}")
        raise typer.Exit(1)
    print("nothing differs")


async def report(of: "Opened") -> int:
    from interchange.verify import verify
    from server.refusal import Fault

    count = 0
    async for difference in verify(of.connection, of.files):
        print(Fault(difference.place, difference.code, difference.message))
        count += 1
    return count
