"""Which scores a run computes, of what, and when they no longer hold."""

from threading import current_thread
from typing import Any

import pytest

from runs import evaluating
from runs.metrics import measure
from tests.provider import Provider
from tests.runs.service import Bench
from tests.waiting import eventually

JUDGE: dict[str, Any] = {
    "judgePrompt": "Rate {agent_response} against {expected_output}.",
    "variables": [
        {"name": "good", "type": "NUMBER", "minimum": 0, "maximum": 1},
        {"name": "polite", "type": "BOOLEAN"},
    ],
}


async def with_judge(bench: Bench) -> str:
    """The second model judges what the first answered."""
    return await bench.add_metric("judge", "LLM_JUDGE", judgeModelId=bench.models[1], **JUDGE)


def scores(cell: dict[str, Any], metric: str) -> dict[str, dict[str, Any]]:
    return {score["variable"]: score for score in cell["scores"] if score["metric"]["name"] == metric}


async def edit(bench: Bench, row: int, text: str) -> None:
    expected = (await bench.table())["rows"]["nodes"][row]["expectedOutput"]
    given = {"rowId": bench.rows[row], "expectedRevision": expected["revision"], "text": text}
    await bench.service.act("editExpectedOutput", "expectedOutput { id }", **given)


async def has_asked(provider: Provider, model: str, times: int) -> bool:
    return len(provider.asked(model)) >= times


async def test_a_generation_is_scored_by_itself_on_the_metrics_that_are_set(bench: Bench) -> None:
    await bench.set_metrics(await bench.add_metric("exact", "EXACT_MATCH"))

    run = await bench.generate()

    assert [scores(cell, "exact")["value"]["boolean"] for cell in await bench.cells(0)] == [True, True]
    assert [scores(cell, "exact")["value"]["boolean"] for cell in await bench.cells(1)] == [False, False]
    assert run["evaluation"] == {"metricNames": ["exact"], "scope": "SELECTED", "scoreCount": 4}


async def test_a_generation_is_not_scored_where_the_caller_says_so(bench: Bench) -> None:
    await bench.set_metrics(await bench.add_metric("exact", "EXACT_MATCH"))

    run = await bench.generate(autoEvaluate=False)

    assert [cell["scores"] for cell in await bench.cells()] == [[], []]
    assert run["evaluation"] is None


async def test_scores_of_a_run_hold_for_the_ground_truth_that_it_captured(bench: Bench, provider: Provider) -> None:
    """The source answers last, and the others' scores wait for it."""
    await bench.set_metrics(await bench.add_metric("exact", "EXACT_MATCH"))
    await bench.generate()
    provider.on(model="one", delay_ms=400, content="new truth")
    provider.on(model="two", content="new truth")

    await bench.generate()

    found = [scores(cell, "exact")["value"] for cell in await bench.cells(1)]
    assert [(score["boolean"], score["stale"]) for score in found] == [(True, False), (True, False)]


async def test_what_the_scope_selects_is_scored_besides_what_is_generated(bench: Bench, provider: Provider) -> None:
    metric = await bench.add_metric("exact", "EXACT_MATCH")
    await bench.generate()
    provider.reset()

    await bench.run(
        generation={"trackIds": bench.tracks[:1], "scope": "SELECTED", "rowIds": bench.rows[:1]},
        evaluation={"metricIds": [metric], "scope": "SELECTED", "trackIds": bench.tracks[1:], "rowIds": bench.rows[1:]},
    )

    assert len(provider.asked()) == 1
    assert [bool(cell["scores"]) for cell in await bench.cells(0)] == [True, False]
    assert [bool(cell["scores"]) for cell in await bench.cells(1)] == [False, True]


async def test_missing_scores_what_was_never_scored_or_failed(bench: Bench, provider: Provider) -> None:
    metric = await with_judge(bench)
    await bench.generate()
    await bench.evaluate("SELECTED", metricIds=[metric], trackIds=bench.tracks[:1], rowIds=bench.rows[:1])
    provider.on(model="two", behaviour="400")
    await bench.evaluate("SELECTED", metricIds=[metric], trackIds=bench.tracks[:1], rowIds=bench.rows[1:])
    provider.reset()

    run = await bench.evaluate("MISSING", metricIds=[metric])

    # The second row's failure, and the other track's two.
    assert len(provider.asked("two")) == 3
    assert run["evaluation"]["scoreCount"] == 6


async def test_one_thread_compares_all_texts_so_that_nothing_waits_for_several(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: set[str] = set()

    def measured(*given: Any) -> Any:
        threads.add(current_thread().name)
        return measure(*given)

    monkeypatch.setattr(evaluating, "measure", measured)
    await bench.set_metrics(await bench.add_metric("exact", "EXACT_MATCH"))

    await bench.generate()

    assert threads == {"measuring_0"}


async def test_an_edit_turns_the_scores_of_its_row_stale_at_once(bench: Bench) -> None:
    await bench.set_metrics(await bench.add_metric("exact", "EXACT_MATCH"))
    await bench.generate()

    await edit(bench, 0, "corrected")

    assert [scores(cell, "exact")["value"]["stale"] for cell in await bench.cells()] == [True, False]


async def test_stale_scores_are_computed_anew_without_a_generation(bench: Bench, provider: Provider) -> None:
    metric = await with_judge(bench)
    await bench.generate()
    await bench.evaluate(metricIds=[metric])
    await edit(bench, 0, "corrected")
    provider.reset()

    await bench.evaluate("STALE", metricIds=[metric])

    # One judgement for each track of the edited row.
    assert [call.model for call in provider.asked()] == ["two", "two"]
    assert not any(score["stale"] for cell in await bench.cells() for score in cell["scores"])


async def test_a_changed_metric_turns_all_its_scores_stale(bench: Bench, provider: Provider) -> None:
    metric = await bench.add_metric("near", "NORMALIZED_MATCH")
    await bench.set_metrics(metric)
    await bench.generate()
    provider.reset()

    changed = await bench.service.act(
        "updateMetric", "staleScores", id=metric, expectedVersion=1, options={"caseSensitive": True}
    )
    stale = [score["stale"] for cell in await bench.cells() for score in cell["scores"]]
    await bench.evaluate("STALE")

    assert changed["staleScores"] == 4
    assert stale == [True, True]
    assert provider.asked() == []
    assert not any(score["stale"] for cell in await bench.cells() for score in cell["scores"])


async def test_a_judgement_that_was_long_under_way_does_not_take_the_place_of_a_later_one(
    bench: Bench, provider: Provider
) -> None:
    metric = await with_judge(bench)
    await bench.generate(tracks=[0])
    one = {"metricIds": [metric], "trackIds": bench.tracks[:1], "rowIds": bench.rows[:1]}
    provider.on(model="two", contains="against one", delay_ms=1_500, content='{"good": 0, "polite": false}')
    asked = len(provider.asked("two"))
    late = await bench.start(evaluation={"scope": "SELECTED", **one})
    await eventually(lambda: has_asked(provider, "two", asked + 1))
    await edit(bench, 0, "corrected")
    provider.on(model="two", contains="against corrected", content='{"good": 1, "polite": true}')
    await bench.evaluate("SELECTED", **one)

    ended = await bench.ended(late)

    good = scores((await bench.cells())[0], "judge")["good"]
    assert ended["status"] == "SUCCEEDED"
    assert (good["number"], good["stale"]) == (1, False)


async def test_a_cell_without_output_or_ground_truth_is_skipped(bench: Bench, provider: Provider) -> None:
    metric = await bench.add_metric("exact", "EXACT_MATCH")
    await bench.generate(tracks=[1])

    await bench.evaluate(metricIds=[metric])

    found = [scores(cell, "exact")["value"] for cell in [*await bench.cells(0), *await bench.cells(1)]]
    assert [score["status"] for score in found] == ["SKIPPED"] * 4
    assert [score["boolean"] for score in found] == [None] * 4
    assert {score["reason"] for score in found[:2]} != {score["reason"] for score in found[2:]}


async def test_missing_takes_up_what_was_skipped_once_there_is_something_to_score(bench: Bench) -> None:
    metric = await bench.add_metric("exact", "EXACT_MATCH")
    await bench.evaluate(metricIds=[metric])
    await bench.generate(autoEvaluate=False)

    run = await bench.evaluate("MISSING", metricIds=[metric])

    assert run["progress"]["total"] == 4
    assert [scores(cell, "exact")["value"]["status"] for cell in await bench.cells()] == ["SCORED"] * 2


async def test_the_scores_of_a_cell_go_when_it_fails(bench: Bench, provider: Provider) -> None:
    await bench.set_metrics(await bench.add_metric("exact", "EXACT_MATCH"))
    await bench.generate()
    provider.on(model="one", contains="1?", behaviour="400")

    await bench.generate(tracks=[0])

    assert [bool(cell["scores"]) for cell in await bench.cells()] == [False, True]


async def test_a_judge_gives_each_of_its_variables(bench: Bench, provider: Provider) -> None:
    metric = await with_judge(bench)
    await bench.generate(tracks=[0])
    provider.on(model="two", content={"good": 0.25, "polite": True})

    run = await bench.evaluate(metricIds=[metric], trackIds=bench.tracks[:1])

    found = scores((await bench.cells())[0], "judge")
    assert (found["good"]["number"], found["polite"]["boolean"]) == (0.25, True)
    assert run["status"] == "SUCCEEDED"
    assert any("Rate one answers: What is 1? against" in call.prompt for call in provider.asked("two"))


@pytest.mark.parametrize(
    ("content", "behaviour"),
    [
        ({"good": 0.5, "polite": True}, "truncated"),
        ({"good": "N/A", "polite": True}, "ok"),
        ('{"good": NaN, "polite": true}', "ok"),
        ({"good": 7, "polite": True}, "ok"),
        ({"good": 0.5}, "ok"),
        ({"good": 0.5, "polite": True}, "extra_text"),
    ],
    ids=["truncated", "not applicable", "not a number", "out of range", "a variable missing", "more text"],
)
async def test_a_judge_whose_reply_does_not_fit_gives_no_score(
    bench: Bench, provider: Provider, content: Any, behaviour: str
) -> None:
    metric = await with_judge(bench)
    await bench.set_metrics(metric)
    await bench.generate(autoEvaluate=False)
    await bench.evaluate("SELECTED", trackIds=bench.tracks[:1], rowIds=bench.rows[:1])
    provider.reset()
    provider.on(model="two", content=content, behaviour=behaviour)

    run = await bench.evaluate("SELECTED", trackIds=bench.tracks[:1], rowIds=bench.rows[1:])

    found = scores((await bench.cells())[1], "judge")
    [summed, *_] = [
        each for each in (await bench.table())["summary"]["tracks"][0]["scores"] if each["variable"] == "good"
    ]
    assert run["status"] == "FAILED"
    assert len(provider.asked("two")) == 2
    assert {score["status"] for score in found.values()} == {"FAILED"}
    assert all(score["reason"] and score["rawReply"] for score in found.values())
    assert all(score["number"] is None and score["boolean"] is None for score in found.values())
    assert (summed["scored"], summed["failed"]) == (1, 1)
    assert summed["average"] == scores((await bench.cells())[0], "judge")["good"]["number"]


async def test_a_judge_that_fences_its_reply_is_understood(bench: Bench, provider: Provider) -> None:
    metric = await with_judge(bench)
    await bench.generate(tracks=[0])
    provider.on(model="two", content={"good": 0.5, "polite": False}, behaviour="fenced")

    await bench.evaluate(metricIds=[metric], trackIds=bench.tracks[:1])

    assert scores((await bench.cells())[0], "judge")["good"]["number"] == 0.5
    assert len(provider.asked("two")) == 2
