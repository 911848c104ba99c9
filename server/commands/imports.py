from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from server.commands import app
from server.commands.faults import told_at
from server.commands.trees import Name, rooted

if TYPE_CHECKING:
    from interchange.imports import Imported
    from server.opening import Opened

ACTOR = "local"

Root = Annotated[
    Path | None, typer.Argument(exists=True, file_okay=False, callback=rooted, help="The root of a project tree.")
]
Log = Annotated[
    Path | None, typer.Option("--log", metavar="FILE", exists=True, dir_okay=False, help="A result log without a plan.")
]
ReplaceRoot = Annotated[bool, typer.Option("--replace-root", help="The tree of this name has moved to this root.")]
Adopt = Annotated[bool, typer.Option("--adopt", help="Let the API keep what the tree brings.")]
Json = Annotated[bool, typer.Option("--json", help="Say what was done as JSON.")]


@app.command("import")
def import_(
    root: Root = None,
    log: Log = None,
    name: Name = "tree",
    replace_root: ReplaceRoot = False,
    adopt: Adopt = False,
    as_json: Json = False,
) -> None:
    """Bring the database in step with a project tree, or take in one result log."""
    from server.opening import opened

    if (root is None) == (log is None):
        raise typer.BadParameter("give either ROOT or --log FILE")
    if root is None:
        done = opened(lambda to: import_log(to, log or Path()))
    elif adopt:
        done = opened(lambda to: adopt_root(to, root))
    else:
        done = opened(lambda to: import_root(to, root, name, replace_root))
    tell(done, name if root and not adopt else str(root or log), as_json)


async def import_root(to: "Opened", root: Path, name: str, replace_root: bool) -> "Imported":
    from interchange.imports import RootUnavailable, import_tree
    from interchange.store.trees import RootMismatch
    from server.refusal import Fault, Refusal

    try:
        return await import_tree(to.connection, root, name, batch=to.files.batch, replace_root=replace_root)
    except RootMismatch as error:
        raise Refusal(Fault(str(root), "ROOT_MISMATCH", f"{error} (--as NAME or --replace-root)")) from error
    except RootUnavailable as error:
        raise Refusal(Fault(str(root), "FILE_UNAVAILABLE", str(error))) from error


async def adopt_root(to: "Opened", root: Path) -> "Imported":
    from interchange.imports import adopt, read, undisturbed

    async def bring() -> "Imported":
        return await adopt(to.connection, await read(root, to.files.batch), actor=ACTOR)

    return await undisturbed(to.connection, bring)


async def import_log(to: "Opened", log: Path) -> "Imported":
    from interchange.imports import adopt, undisturbed
    from interchange.legacy import read_log
    from interchange.records import TreeRecord

    async def bring() -> "Imported":
        with told_at(log), to.files.batch() as keep:
            suite = read_log(log, keep)
        record = TreeRecord(registry_valid=True, agents=[], suites=[suite], suite_faults=[], notices=[], files=[])
        return await adopt(to.connection, record, actor=ACTOR)

    return await undisturbed(to.connection, bring)


def tell(done: "Imported", place: str, as_json: bool) -> None:
    from dataclasses import asdict

    import orjson

    from server.refusal import Fault

    if as_json:
        print(orjson.dumps(asdict(done)).decode())
        return
    for notice in done.notices:
        print(Fault(place, notice.code, notice.message))
    news = "in step now" if done.changed else "nothing new"
    print(f"{place}: {news} (agents: {done.agents}, Suites: {done.suites}, warnings: {len(done.notices)})")
