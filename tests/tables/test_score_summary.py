"""What the scores of a track come to equals a direct count of the scores that its cells show."""

import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from engine.encode import write_global_id
from models.base import AgentKind, ScoreType
from tests.rules.house import Answer, House
from tests.tables.scoring import give, metric_of, revise, score, shown
from tests.tables.table import Table, made

ROWS, TRACKS = 8, 2
FIT: dict[str, ScoreType] = {"fit": ScoreType.NUMBER, "true": ScoreType.BOOLEAN, "tone": ScoreType.TEXT}
VALUES = {ScoreType.NUMBER: (0.0, 0.25, 1.0, -3.5), ScoreType.BOOLEAN: (True, False), ScoreType.TEXT: ("kind",)}


@dataclass(frozen=True)
class Kept:
    """A table with scores in random places, and the keys of its metrics."""

    table: Table
    metrics: Sequence[int]


async def scribbled(house: House, kind: AgentKind, chance: random.Random) -> Kept:
    """Scores of all kinds, some of which what happens later turns stale."""
    table = await made(house, kind, rows=ROWS, tracks=TRACKS)
    metrics = [await metric_of(house, **FIT), await metric_of(house), await metric_of(house)]
    await give(table, *metrics[1::-1])
    for place in range(ROWS):
        for track in range(TRACKS):
            if chance.random() < 0.8:
                await table.say("right", place, track)
            await scribble(Kept(table, metrics), place, track, chance)
    await disturb(table, chance)
    return Kept(table, metrics)


async def scribble(kept: Kept, place: int, track: int, chance: random.Random) -> None:
    variables = {metric: FIT if metric == kept.metrics[0] else {"value": ScoreType.BOOLEAN} for metric in kept.metrics}
    for metric, types in variables.items():
        for variable, type_ in types.items():
            if chance.random() < 0.7:
                value = chance.choice(["FAILED", "SKIPPED", *VALUES[type_] * 2])
                await score(kept.table, metric, value, place, track, variable=variable)


async def disturb(table: Table, chance: random.Random) -> None:
    await table.say("other", chance.randrange(ROWS), 1)
    await table.edit("better", chance.randrange(ROWS))
    await table.edit("right", chance.randrange(ROWS))
    await table.fail(chance.randrange(ROWS), chance.randrange(TRACKS))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", list(AgentKind))
async def test_the_sums_of_scores_equal_a_direct_count(tables: House, kind: AgentKind, seed: int) -> None:
    kept = await scribbled(tables, kind, random.Random(seed))  # noqa: S311

    found = await shown(kept.table)

    by_metric = [(kept.metrics[1], "value"), *((kept.metrics[0], variable) for variable in FIT)]
    for figures in found["summary"]["tracks"]:
        its = [cell for row in found["rows"]["nodes"] for cell in row["cells"] if cell["track"] == figures["track"]]
        scores = [each for cell in its for each in cell["scores"]]
        assert figures["scores"] == [counted_of(scores, *each) for each in by_metric]


def counted_of(scores: Sequence[Answer], metric: int, variable: str) -> Answer:
    id_ = write_global_id("Metric", metric)
    its = [each for each in scores if each["metric"]["id"] == id_ and each["variable"] == variable]
    current = [each for each in its if not each["stale"]]
    of_status = {
        status.lower(): sum(each["status"] == status for each in current) for status in ("SCORED", "FAILED", "SKIPPED")
    }
    numbers = [each["number"] for each in current if each["number"] is not None]
    truths = [each["boolean"] for each in current if each["boolean"] is not None]
    return {
        "metric": {"id": id_},
        "variable": variable,
        **of_status,
        "missing": ROWS - len(its),
        "stale": len(its) - len(current),
        "average": pytest.approx(statistics.mean(numbers)) if numbers else None,
        "countTrue": sum(truths) if truths else None,
        "deviation": pytest.approx(statistics.stdev(numbers)) if len(numbers) > 1 else None,
    }


async def summed(table: Table) -> Answer:
    [first, _] = (await shown(table))["summary"]["tracks"]
    [figures] = first["scores"]
    found: Answer = figures
    return found


async def test_nothing_scored_has_no_mean_and_is_missing(table: Table) -> None:
    await give(table, await metric_of(table.house))
    figures = await summed(table)
    assert (figures["missing"], figures["scored"], figures["average"], figures["countTrue"]) == (2, 0, None, None)


async def test_scores_that_are_all_stale_have_no_mean(table: Table) -> None:
    metric = await metric_of(table.house, value=ScoreType.NUMBER)
    await give(table, metric)
    await score(table, metric, 0.5)
    await revise(table.house, metric)
    figures = await summed(table)
    assert (figures["stale"], figures["missing"], figures["average"], figures["deviation"]) == (1, 1, None, None)


async def test_none_true_of_what_was_scored_is_0_and_not_unknown(table: Table) -> None:
    metric = await metric_of(table.house)
    await give(table, metric)
    await score(table, metric, False)
    assert (await summed(table))["countTrue"] == 0


async def test_one_number_has_a_mean_and_no_deviation(table: Table) -> None:
    metric = await metric_of(table.house, value=ScoreType.NUMBER)
    await give(table, metric)
    await score(table, metric, 0.5)
    figures = await summed(table)
    assert (figures["average"], figures["deviation"]) == (0.5, None)


async def test_numbers_too_large_to_be_added_up_have_no_mean_and_stop_nobody(table: Table) -> None:
    metric = await metric_of(table.house, value=ScoreType.NUMBER)
    await give(table, metric)
    await score(table, metric, 1.7e308, 0)
    await score(table, metric, 1.7e308, 1)
    figures = await summed(table)
    assert (figures["scored"], figures["average"], figures["deviation"]) == (2, None, None)


async def test_a_metric_that_was_taken_off_is_summed_up_nowhere(table: Table) -> None:
    await score(table, await metric_of(table.house))
    assert [each["scores"] for each in (await shown(table))["summary"]["tracks"]] == [[], []]


async def test_a_cell_shows_the_scores_of_the_metrics_that_are_asked_for(table: Table) -> None:
    first, second = await metric_of(table.house), await metric_of(table.house)
    for metric in (first, second):
        await score(table, metric)
    asked = write_global_id("Metric", second)
    cell = (await shown(table, asked))["rows"]["nodes"][0]["cells"][0]
    assert [each["metric"]["id"] for each in cell["scores"]] == [asked]
