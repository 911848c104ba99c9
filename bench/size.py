"""Whether answers keep their costs in a database at size."""

from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.databases import connection, database
from bench.explain import Explained, explained
from bench.large import FULL, Size, fill
from bench.questions import QUESTIONS
from server.database import SERVER_SETTINGS


async def explanations(dsn: str, size: Size = FULL) -> list[Explained]:
    made = await database(dsn, "large")
    async with connection(made) as filling:
        await fill(filling, size)
    async with connection(made, SERVER_SETTINGS) as reading:
        return [await explained(reading, question) for question in QUESTIONS]


def holds(each: Explained) -> bool:
    return each.pages <= each.question.most


def table(explained: list[Explained]) -> Table:
    made = Table("asked", "ms", "blocks", "bar", "", "read from end to end")
    for each in explained:
        verdict = "holds" if holds(each) else "MISSED"
        scanned = ", ".join(each.scanned)
        cost = f"{each.milliseconds:.1f}", f"{each.pages:,}", f"≤ {each.question.most:,}"
        made.add_row(each.question.name, *cost, verdict, scanned)
    return made


def report(explained: list[Explained], plans: Path | None) -> bool:
    """Prints the table; tells whether every bar was met."""
    Console(width=130).print(table(explained))
    if plans:
        plans.write_text("\n\n".join(f"{each.question.name}\n\n{each.text}" for each in explained))
    return all(holds(each) for each in explained)
