"""A score is stale once its output, what it was compared with, or its metric is another one."""

import asyncio

import pytest
from sqlalchemy.exc import DBAPIError

from models.base import AgentKind, ScoreType
from tests.tables.scoring import is_stale, look_at_no_ground_truth, metric_of, revise, score, scores_at
from tests.tables.table import Table


async def scored(table: Table) -> int:
    """A metric that looked at the first cell, which was captured."""
    await table.say("right")
    metric = await metric_of(table.house)
    await score(table, metric)
    return metric


async def test_a_score_of_what_is_there_is_not_stale(table: Table) -> None:
    await scored(table)
    assert not await is_stale(table)


async def test_another_output_turns_a_score_stale(table: Table) -> None:
    await scored(table)
    await table.edit("right")
    await table.say("wrong")
    assert await is_stale(table)


async def test_another_expected_output_turns_a_score_stale(table: Table) -> None:
    await scored(table)
    await table.edit("better")
    assert await is_stale(table)


async def test_another_version_of_its_metric_turns_a_score_stale(table: Table) -> None:
    await revise(table.house, await scored(table))
    assert await is_stale(table)


async def test_a_score_of_what_its_metric_does_not_look_at_is_not_stale(table: Table) -> None:
    await look_at_no_ground_truth(table.house, await scored(table))
    await table.edit("better")
    assert not await is_stale(table)


async def test_the_same_value_by_hand_turns_no_score_stale(table: Table) -> None:
    await scored(table)
    await table.edit("right")
    assert await table.changes() == ["CAPTURED", "EDITED"]
    assert not await is_stale(table)


async def test_unlocking_turns_no_score_stale(table: Table) -> None:
    await table.edit("right")
    await scored(table)
    await table.unlock()
    assert await table.changes() == ["EDITED", "UNLOCKED"]
    assert not await is_stale(table)


async def test_a_value_that_came_back_turns_its_score_current_again(table: Table) -> None:
    await scored(table)
    await table.edit("better")
    await table.edit("right")
    assert not await is_stale(table)


async def test_a_score_without_expected_output_is_stale_once_there_is_one(table: Table) -> None:
    metric = await metric_of(table.house)
    await score(table, metric, "SKIPPED")
    assert not await is_stale(table)
    await table.edit("right")
    assert await is_stale(table)


async def test_emptiness_by_hand_is_as_nothing_expected(table: Table) -> None:
    metric = await metric_of(table.house)
    await score(table, metric, "SKIPPED")
    emptied = {"text": None} if table.kind == AgentKind.CONVERSATION else {"fields": [{"name": "total"}]}
    await table.edit_of(emptied)
    assert await table.changes() == ["EDITED"]
    assert not await is_stale(table)


async def test_an_output_for_an_empty_cell_turns_its_score_stale(table: Table) -> None:
    metric = await metric_of(table.house)
    await score(table, metric, "SKIPPED", track=1)
    await table.say("right", track=1)
    assert await is_stale(table, track=1)


async def test_an_edit_of_another_field_turns_a_score_stale(automation: Table) -> None:
    await scored(automation)
    await automation.edit_of({"fields": [{"name": "note", "value": "seen"}]})
    assert await is_stale(automation)


async def test_scores_of_other_rows_and_tracks_stay_current(table: Table) -> None:
    metric = await scored(table)
    await score(table, metric, "SKIPPED", place=1)
    await table.say("other", track=1)
    assert not await is_stale(table)
    await table.edit("better", 0)
    assert not await is_stale(table, place=1)


async def test_all_three_causes_at_once_make_one_stale_score(table: Table) -> None:
    metric = await scored(table)
    await asyncio.gather(table.edit("better"), table.say("wrong"), revise(table.house, metric))
    assert await is_stale(table)


async def test_a_failed_cell_loses_its_scores(table: Table) -> None:
    metric = await scored(table)
    await score(table, metric, track=1)
    await table.fail()
    assert await scores_at(table) == []
    assert len(await scores_at(table, track=1)) == 1


async def test_a_failed_cell_takes_no_score(table: Table) -> None:
    metric = await metric_of(table.house)
    await table.fail()

    with pytest.raises(DBAPIError, match="a failed cell has no scores"):
        await score(table, metric)


async def test_scores_stand_by_metric_and_in_the_order_of_its_variables(table: Table) -> None:
    await table.say("right")
    types = {"tone": ScoreType.TEXT, "fit": ScoreType.NUMBER}
    later, first = await metric_of(table.house, **types), await metric_of(table.house)
    await score(table, first)
    await score(table, later, 0.5, variable="fit")
    await score(table, later, "kind", variable="tone")
    assert [each["variable"] for each in await scores_at(table)] == ["tone", "fit", "value"]
