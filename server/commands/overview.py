from typing import TYPE_CHECKING, Annotated, Any

import typer

from server.commands import app

if TYPE_CHECKING:
    from rich.table import Table

    from server.opening import Opened

Json = Annotated[bool, typer.Option("--json", help="Print the document `abb.benchmark.overview.v1`.")]


@app.command()
def overview(as_json: Json = False) -> None:
    """Show which defects were discovered, agent by agent."""
    import json

    from server.opening import opened

    text = opened(read)
    if as_json:
        print(text)
    else:
        show(json.loads(text))


async def read(of: "Opened") -> str:
    from resolvers.documents import overview_document

    text: str = (await of.connection.execute(overview_document())).scalar_one()
    return text


def show(document: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.markup import escape

    console = Console()
    console.print(agents(document))
    warnings = [*document["warnings"], *document["ground_truth"]["warnings"]]
    for warning in warnings:
        console.print(escape(f"{place(warning)}: {warning['code']}: {warning['message']}"), soft_wrap=True)


def agents(document: dict[str, Any]) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_footer=True, pad_edge=False)
    total = row({**document, **document["totals"], "agent_id": "all"})
    table.add_column("agent", total[0], no_wrap=True)
    table.add_column("status", total[1])
    for heading, footer in zip(("Cases", "assessed", "reproduced", "discovered", "rate"), total[2:], strict=True):
        table.add_column(heading, footer, justify="right", no_wrap=True)
    for agent in document["agents"]:
        table.add_row(*(Text(cell) for cell in row(agent)))
    return table


def row(agent: dict[str, Any]) -> list[str]:
    truth = agent["ground_truth"]
    defects, rate = truth["defect_count"], truth["discovery_rate"]
    return [
        agent["agent_id"],
        truth["status"].replace("_", " "),
        f"{agent['completed_case_count']}/{agent['case_count']}",
        f"{truth['assessed_defect_count']}/{defects}",
        f"{truth['case_reproduced_count']}/{defects}",
        f"{truth['discovered_defect_count']}/{defects}",
        "unknown" if rate is None else f"{rate:.0%}",
    ]


def place(warning: dict[str, Any]) -> str:
    """What a warning is about, as far as it says."""
    named = (warning.get(key) for key in ("agent_id", "suite_id", "assessment_index"))
    return "/".join(str(name) for name in named if name is not None) or "tree"
