"""Metrics by their mutations: made, changed, chosen and taken away, with the scores counted that this touches."""

import asyncio
from typing import Any

import pytest

from engine.encode import write_global_id
from models.base import Role
from resolvers.access import Viewer
from tests.rules.house import Answer, House
from tests.tables.scoring import score, scores_at, shown
from tests.tables.table import BEN, Table, act, key_of, made, numbers

PROMPT = "Is {agent_response} fit?"
FIT = {"name": "fit", "type": "NUMBER", "minimum": 0.0, "maximum": 1.0}
TONE = {"name": "tone", "type": "TEXT", "description": "In a word."}
NOWHERE = write_global_id("Metric", 10**9)


async def metric(house: House, kind: str = "EXACT_MATCH", **given: Any) -> Answer:
    answer = await act(house, "createMetric", {"name": f"metric {next(numbers)}", "kind": kind, **given})
    assert answer["__typename"] == "CreateMetricPayload", answer
    found: Answer = answer["metric"]
    return found


async def judge(table: Table, *variables: dict[str, Any]) -> Answer:
    return await metric(
        table.house, "LLM_JUDGE", judgeModelId=table.model, judgePrompt=PROMPT, variables=list(variables) or [FIT, TONE]
    )


async def update(table: Table, of: Answer, version: int = 1, **given: Any) -> Answer:
    return await table.act("updateMetric", id=of["id"], expectedVersion=version, **given)


async def choose(table: Table, *metrics: Answer) -> Answer:
    ids = [each["id"] for each in metrics]
    version = await table.version()
    return await table.act("setBenchmarkMetrics", benchmarkId=table.id, metricIds=ids, expectedVersion=version)


async def test_a_metric_is_shown_as_it_was_defined(conversation: Table) -> None:
    made = await judge(conversation)
    assert (made["kind"], made["judgePrompt"], made["version"]) == ("LLM_JUDGE", PROMPT, 1)
    assert made["judgeModel"] == {"id": conversation.model}
    assert [each["name"] for each in made["variables"]] == ["fit", "tone"]
    assert [each["aggregation"] for each in made["variables"]] == ["AVERAGE", None]
    assert (made["variables"][0]["minimum"], made["variables"][1]["description"]) == (0, "In a word.")


async def test_a_metric_has_the_options_and_variables_of_its_kind(tables: House) -> None:
    made = await metric(tables, "CONTAINS", options={"caseSensitive": False})
    assert made["options"] == {"caseSensitive": False}
    assert [(each["name"], each["type"]) for each in made["variables"]] == [("value", "BOOLEAN")]


async def test_a_metric_is_found_by_its_name_and_its_id_and_among_all(tables: House) -> None:
    made = await metric(tables)
    asked = (
        "query ($name: String!, $id: ID!) { metric(name: $name) { id } node(id: $id) { id } metrics { totalCount } }"
    )
    found = await tables.ask(asked, name=made["name"], id=made["id"])
    assert found["metric"] == found["node"] == {"id": made["id"]}
    assert found["metrics"]["totalCount"] >= 1


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"name": " "}, ["name"]),
        ({"options": {"unheard_of": 1}}, ["options", "unheard_of"]),
        ({"judgePrompt": PROMPT}, ["judgePrompt"]),
        ({"kind": "LLM_JUDGE", "judgePrompt": PROMPT, "variables": [FIT]}, ["judgeModelId"]),
        ({"variables": [FIT]}, ["variables"]),
        ({"description": "a\0b"}, ["description"]),
    ],
)
async def test_an_unsound_metric_is_refused_where_it_is_wrong(
    tables: House, given: dict[str, Any], path: list[str]
) -> None:
    answer = await act(tables, "createMetric", {"name": f"metric {next(numbers)}", "kind": "EXACT_MATCH", **given})
    assert (answer["__typename"], answer["path"], answer["fault"]) == ("InvalidInput", path, "INVALID_FIELD")


async def test_a_judge_that_is_not_there_is_not_found(tables: House) -> None:
    given = {"judgeModelId": write_global_id("Model", 10**9), "judgePrompt": PROMPT, "variables": [FIT]}
    answer = await act(tables, "createMetric", {"name": f"metric {next(numbers)}", "kind": "LLM_JUDGE", **given})
    assert (answer["__typename"], answer["path"]) == ("NotFound", ["judgeModelId"])


async def test_names_of_metrics_are_unique(conversation: Table) -> None:
    first, second = await metric(conversation.house), await metric(conversation.house)
    created = await conversation.act("createMetric", name=first["name"], kind="EXACT_MATCH")
    renamed = await update(conversation, second, name=first["name"])
    assert [answer["__typename"] for answer in (created, renamed)] == ["Duplicate"] * 2
    assert created["existing"] == renamed["existing"] == {"__typename": "Metric", "id": first["id"]}


async def test_what_an_update_leaves_out_stays(conversation: Table) -> None:
    made = await judge(conversation)
    answer = await update(conversation, made, name=f"metric {next(numbers)}", description="of tone")
    changed = answer["metric"]
    assert (changed["version"], changed["description"]) == (2, "of tone")
    unchanged = ("kind", "options", "judgeModel", "judgePrompt", "variables")
    assert {name: changed[name] for name in unchanged} == {name: made[name] for name in unchanged}


async def test_null_clears_what_a_metric_can_be_without(conversation: Table) -> None:
    made = await metric(conversation.house, "CONTAINS", description="d", options={"caseSensitive": False})
    cleared = (await update(conversation, made, description=None, options=None))["metric"]
    assert (cleared["description"], cleared["options"]) == (None, {"caseSensitive": True})


@pytest.mark.parametrize("needed", ["judgeModelId", "judgePrompt", "variables"])
async def test_null_clears_nothing_that_a_judge_needs(conversation: Table, needed: str) -> None:
    cleared: dict[str, Any] = {needed: None}
    answer = await update(conversation, await judge(conversation), **cleared)
    assert (answer["__typename"], answer["path"]) == ("InvalidInput", [needed])


async def test_an_update_of_an_old_version_is_a_conflict_and_changes_nothing(conversation: Table) -> None:
    made = await metric(conversation.house)
    answer = await update(conversation, made, version=2, name="other")
    assert (answer["__typename"], answer["currentVersion"]) == ("Conflict", 1)
    assert answer["existing"] == {"__typename": "Metric", "id": made["id"]}


async def test_an_update_counts_the_current_scores_that_it_turns_stale(table: Table) -> None:
    made = await metric(table.house)
    await table.say("right")
    await table.say("right", track=1)
    await score(table, key_of(made["id"]))
    await score(table, key_of(made["id"]), track=1)
    await score(table, key_of(made["id"]), "SKIPPED", place=1)
    await table.say("wrong", track=1)

    answer = await update(table, made, description="stricter")

    assert answer["staleScores"] == 2
    assert [each["stale"] for each in await scores_at(table)] == [True]


async def test_a_variable_that_is_dropped_takes_its_scores_along_and_the_others_keep_theirs(table: Table) -> None:
    made = await judge(table)
    await score(table, key_of(made["id"]), 0.5, variable="fit")
    await score(table, key_of(made["id"]), "kind", variable="tone")

    answer = await update(table, made, variables=[TONE, {"name": "new", "type": "BOOLEAN"}])

    assert answer["staleScores"] == 1
    assert [(each["variable"], each["stale"]) for each in await scores_at(table)] == [("tone", True)]
    assert [each["name"] for each in answer["metric"]["variables"]] == ["tone", "new"]


async def test_of_two_updates_at_once_one_is_a_conflict(conversation: Table) -> None:
    made = await metric(conversation.house)
    answers = await asyncio.gather(*(update(conversation, made, description=said) for said in ("one", "other")))
    assert sorted(answer["__typename"] for answer in answers) == ["Conflict", "UpdateMetricPayload"]


async def test_a_benchmark_has_its_metrics_in_their_order(table: Table) -> None:
    first, second, third = [await metric(table.house) for _ in range(3)]
    before = await table.version()
    await choose(table, first, second)
    answer = await choose(table, third, first)
    assert answer["benchmark"]["metrics"] == [{"id": third["id"]}, {"id": first["id"]}]
    assert answer["benchmark"]["version"] == before + 2


async def test_a_metric_that_is_taken_off_keeps_its_scores(table: Table) -> None:
    made = await metric(table.house)
    await choose(table, made)
    await score(table, key_of(made["id"]))
    await choose(table)
    assert len(await scores_at(table)) == 1


async def test_choosing_a_metric_twice_or_one_that_is_not_there_changes_nothing(table: Table) -> None:
    made = await metric(table.house)
    twice, nowhere = await choose(table, made, made), await choose(table, made, {"id": NOWHERE})
    assert (twice["__typename"], twice["path"]) == ("InvalidInput", ["metricIds", "1"])
    assert (nowhere["__typename"], nowhere["path"]) == ("NotFound", ["metricIds", "1"])
    assert (await shown(table))["summary"]["tracks"][0]["scores"] == []


async def test_choosing_against_an_old_version_is_a_conflict(table: Table) -> None:
    made = await metric(table.house)
    answer = await table.act("setBenchmarkMetrics", benchmarkId=table.id, metricIds=[made["id"]], expectedVersion=1)
    assert answer["__typename"] == "Conflict"


async def test_a_deleted_metric_goes_from_every_benchmark_with_its_scores(table: Table) -> None:
    other = await made(table.house, table.kind)
    gone, kept = await metric(table.house), await metric(table.house)
    for each in (table, other):
        await choose(each, gone, kept)
        await score(each, key_of(gone["id"]))
        await score(each, key_of(kept["id"]))
    before = [await each.version() for each in (table, other)]

    answer = await table.act("deleteMetric", id=gone["id"], expectedVersion=1)

    assert (answer["deletedId"], answer["removedScores"]) == (gone["id"], 2)
    assert [await each.version() for each in (table, other)] == [version + 1 for version in before]
    for each in (table, other):
        assert [one["metric"] for one in await scores_at(each)] == [{"id": kept["id"]}]
        summed = (await shown(each))["summary"]["tracks"][0]["scores"]
        assert [one["metric"] for one in summed] == [{"id": kept["id"]}]


async def test_deleting_an_old_version_or_nothing_deletes_nothing(table: Table) -> None:
    made = await metric(table.house)
    old = await table.act("deleteMetric", id=made["id"], expectedVersion=7)
    nowhere = await table.act("deleteMetric", id=NOWHERE, expectedVersion=1)
    assert [old["__typename"], nowhere["__typename"]] == ["Conflict", "NotFound"]


async def test_a_metric_that_is_chosen_while_it_is_deleted_is_nowhere_left(table: Table) -> None:
    others = [await made(table.house, table.kind, rows=0) for _ in range(4)]
    gone = await metric(table.house)
    await choose(table, gone)

    deleted, *chosen = await asyncio.gather(
        table.act("deleteMetric", id=gone["id"], expectedVersion=1), *(choose(other, gone) for other in others)
    )

    assert deleted["__typename"] == "DeleteMetricPayload"
    assert {answer["__typename"] for answer in chosen} <= {"SetBenchmarkMetricsPayload", "NotFound"}
    for each in (table, *others):
        assert (await shown(each))["summary"]["tracks"][0]["scores"] == []


@pytest.mark.parametrize("viewer", [BEN, Viewer("vera", Role.VIEWER)])
async def test_metrics_are_an_operators(table: Table, viewer: Viewer) -> None:
    answer = await table.act("createMetric", viewer, name=f"metric {next(numbers)}", kind="EXACT_MATCH")
    assert (answer["__typename"], answer["required"]) == ("Forbidden", "OPERATOR")
