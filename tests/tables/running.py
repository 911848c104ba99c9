"""Runs over a table as they are kept, without anybody who works on them."""

from typing import Any

from sqlalchemy import insert

from models import Run, RunItem, RunTrack
from models.base import table
from tests.rules.house import Answer
from tests.tables.table import Table, key_of

runs, items, run_tracks = table(Run), table(RunItem), table(RunTrack)

ITEM = "id status attempts captured cost error { kind message attempts } cell { id } run { id }"
RUN = f"""
query ($id: ID!) {{ node(id: $id) {{ ... on Run {{
  id status startedBy cost maxCost unpricedCalls
  generation {{ scope cellCount trackNames tracks {{ id }} }}
  evaluation {{ scope }}
  progress {{ total done succeeded failed cancelled outOfBudget remaining captured lockedSkipped etaSeconds }}
  items {{ totalCount nodes {{ {ITEM} }} }}
}} }} }}
"""


async def run_of(table: Table, status: str = "RUNNING", **said: Any) -> int:
    """A run that generates on all tracks."""
    values = {
        "benchmark_pk": table.key(),
        "status": status,
        "generation_scope": "ALL",
        "started_by": "olga",
        **said,
    }
    ((key,),) = await table.house.execute(insert(runs).values(**values).returning(runs.c.id))
    for place, track in enumerate(table.tracks):
        kept = {"model_pk": key_of(table.model), "provider": "openai", "model_name": "m"}
        await table.house.execute(
            insert(run_tracks).values(run_pk=key, position=place, track_pk=key_of(track), name=f"track {place}", **kept)
        )
    return int(key)


async def item_of(table: Table, run: int, status: str = "QUEUED", place: int = 0, track: int = 0, **said: Any) -> int:
    values = {
        "run_pk": run,
        "row_pk": table.key(place),
        "track_pk": key_of(table.tracks[track]),
        "generates": True,
        "stage": "GENERATE",
        "metric_pks": [],
        "scored_pks": [],
        "status": status,
        **said,
    }
    ((key,),) = await table.house.execute(insert(items).values(**values).returning(items.c.id))
    return int(key)


async def shown_run(table: Table, run: str) -> Answer:
    found: Answer = (await table.house.ask(RUN, id=run))["node"]
    return found
