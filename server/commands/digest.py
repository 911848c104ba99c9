from pathlib import Path
from typing import Annotated

import typer

from server.commands import app
from server.commands.faults import told_at

digest = typer.Typer(no_args_is_help=True, help="The digests that bind records to what they are about.")
app.add_typer(digest, name="digest")

File = Annotated[Path, typer.Argument(exists=True, dir_okay=False)]
Unit = Annotated[Path, typer.Argument(exists=True, file_okay=False)]


@digest.command()
def file(path: File) -> None:
    """SHA-256 of a file's exact bytes."""
    from interchange.digests import file_digest

    print(file_digest(path))


@digest.command()
def json(path: File) -> None:
    """SHA-256 of a JSON document's canonical text."""
    from interchange.digests import digest_json
    from interchange.documents import Undecodable, load_json
    from server.refusal import Fault, Refusal

    try:
        print(digest_json(load_json(path.read_bytes())))
    except Undecodable as error:
        raise Refusal(Fault(str(path), "INVALID_JSON", str(error))) from error
    except UnicodeEncodeError as error:
        raise Refusal(Fault(str(path), "INVALID_JSON", "has a lone surrogate, and so no digest")) from error


@digest.command()
def source(path: Unit) -> None:
    """SHA-256 of a unit's execution source."""
    from interchange.digests import source_digest

    with told_at(path):
        print(source_digest(path))
