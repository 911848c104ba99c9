from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from server.commands import app
from server.commands.trees import WhichName

if TYPE_CHECKING:
    from interchange.export import Exported
    from server.opening import Opened

Directory = Annotated[Path, typer.Argument(file_okay=False, help="A project tree to write over, or a new directory.")]
Agents = Annotated[
    list[str] | None, typer.Option("--agent", metavar="ID", help="Write only what is about this agent; repeat it.")
]
Json = Annotated[bool, typer.Option("--json", help="Say what was written as JSON.")]


@app.command("export")
def export_(directory: Directory, name: WhichName = None, agents: Agents = None, as_json: Json = False) -> None:
    """Write a project tree: what was read of it, and what the API added."""
    from server.opening import opened

    tell(opened(lambda of: export_to(of, directory, name, agents or [])), directory, as_json)


async def export_to(of: "Opened", directory: Path, name: str | None, only: list[str]) -> "Exported":
    from interchange.export import Barred, export
    from server.refusal import Fault, Refusal

    try:
        return await export(of.connection, of.files, directory, tree=name, only=only)
    except Barred as barred:
        raise Refusal(*(Fault(str(directory), fault.code, fault.message) for fault in barred.faults)) from barred
    except OSError as error:
        raise Refusal(Fault(str(directory), "FILE_UNAVAILABLE", f"cannot be written: {error.strerror}")) from error


def tell(done: "Exported", directory: Path, as_json: bool) -> None:
    import orjson

    from interchange.reading import shown
    from server.refusal import Fault

    if as_json:
        notes = [{"code": note.code, "message": note.message} for note in done.notes]
        print(orjson.dumps({"written": done.written, "unchanged": done.unchanged, "notes": notes}).decode())
        return
    for note in done.notes:
        print(Fault(str(directory), note.code, note.message))
    for path in done.written:
        print(f"{directory}/{shown(path)}")
    print(f"{directory}: {len(done.written)} files written, {done.unchanged} were in step")
