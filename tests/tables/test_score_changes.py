"""Which scores are told to who watches a table, by what changed."""

from collections.abc import Awaitable

from sqlalchemy import delete

from resolvers import changes
from resolvers.changes import TableChange
from resolvers.scores import scores
from resolvers.sql import among
from tests.tables.scoring import give, metric_of, revise, score, scores_at
from tests.tables.table import Table, key_of


async def told(table: Table, *changing: Awaitable[object]) -> TableChange:
    """What is told of these changes."""
    first = await look(table, None)
    for each in changing:
        await each
    return await look(table, first.snapshot)


async def look(table: Table, snapshot: str | None) -> TableChange:
    async with table.house.connection() as connection:
        found = await changes.since(connection, table.key(), snapshot)
    assert found is not None
    return found


async def ids_at(table: Table, place: int = 0, track: int = 0) -> list[int]:
    return sorted(key_of(each["id"]) for each in await scores_at(table, place, track))


async def scored(table: Table) -> int:
    """A metric that gave all four cells a score."""
    metric = await metric_of(table.house)
    for place in range(2):
        for track in range(2):
            await table.say("right", place, track)
            await score(table, metric, True, place, track)
    return metric


async def test_a_new_score_is_told_with_the_others_of_its_cell(table: Table) -> None:
    await scored(table)
    other = await metric_of(table.house)
    change = await told(table, score(table, other))
    assert (change.scores, change.cells) == (await ids_at(table), [])
    assert len(change.scores) == 2


async def test_the_scores_of_a_cell_that_changed_are_told(table: Table) -> None:
    await scored(table)
    change = await told(table, table.say("other", 0, 1))
    assert change.scores == await ids_at(table, 0, 1)


async def test_all_scores_of_a_row_are_told_of_which_something_else_is_expected(table: Table) -> None:
    await scored(table)
    change = await told(table, table.edit("better", 1))
    assert change.scores == sorted([*await ids_at(table, 1, 0), *await ids_at(table, 1, 1)])


async def test_a_cell_is_told_whose_scores_are_gone(table: Table) -> None:
    await scored(table)
    gone = table.house.execute(delete(scores).where(among(scores.c.id, await ids_at(table, 1, 1))))
    change = await told(table, gone)
    assert change.cells == [f"{table.key(1)}-{key_of(table.tracks[1])}"]
    assert change.scores == []


async def test_another_version_of_a_metric_asks_to_read_anew(table: Table) -> None:
    metric = await scored(table)
    assert (await told(table, revise(table.house, metric))).resync


async def test_a_chosen_metric_that_scored_nothing_yet_asks_to_read_anew_all_the_same(table: Table) -> None:
    metric = await metric_of(table.house)
    await give(table, metric)
    assert (await told(table, revise(table.house, metric))).resync


async def test_a_row_that_is_removed_takes_its_scores_along_and_tells_none(table: Table) -> None:
    await scored(table)
    change = await told(table, table.act("removeRows", ids=[table.rows[0]], includeLocked=True))
    assert (list(change.removed_rows), change.scores, change.cells) == ([table.key(0)], [], [])
