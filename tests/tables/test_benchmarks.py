"""B1: benchmarks, their fields and the models of their tracks; nothing that a person locked goes unasked."""

from typing import Any

import pytest

from models.base import AgentKind
from tests.rules.house import House
from tests.tables.table import BEN, EMPTY, Table, act, field, made, numbers


def name() -> str:
    return f"named {next(numbers)}"


async def retype(table: Table, *fields: tuple[str, str], **changes: Any) -> Any:
    given = [{"name": name, "type": type_} for name, type_ in fields]
    version = await table.version()
    return await table.act("updateBenchmark", id=table.id, expectedVersion=version, fields=given, **changes)


async def test_a_benchmark_belongs_to_an_agent_which_lists_it(tables: House) -> None:
    agent_id = f"agent-{next(numbers)}"
    agent = await tables.act("registerAgent", {"agentId": agent_id})
    given = {"name": name(), "kind": "AUTOMATION", "agentId": agent_id, "fields": [{"name": "a", "type": "DATE"}]}

    answer = await act(tables, "createBenchmark", given)

    benchmark = answer["benchmark"]
    assert benchmark["fields"] == [{"name": "a", "type": "DATE"}]
    assert (benchmark["version"], benchmark["autoCapture"], benchmark["sourceTrack"]) == (1, False, None)
    read = "query ($id: String!) { agent(agentId: $id) { id benchmarks { nodes { id agent { id } } } } }"
    shown = (await tables.ask(read, id=agent_id))["agent"]
    assert shown["benchmarks"]["nodes"] == [{"id": benchmark["id"], "agent": {"id": agent["agent"]["id"]}}]


async def test_names_of_benchmarks_are_unique(table: Table) -> None:
    taken = (await table.read())["name"]
    other = await made(table.house, table.kind)

    created = await table.act("createBenchmark", name=taken, kind=table.kind)
    renamed = await other.act("updateBenchmark", id=other.id, expectedVersion=2, name=taken)

    assert [answer["__typename"] for answer in (created, renamed)] == ["Duplicate"] * 2
    assert created["existing"] == renamed["existing"] == {"__typename": "Benchmark", "id": table.id}


async def test_a_write_against_an_old_version_is_a_conflict_and_changes_nothing(table: Table) -> None:
    before = await table.read()

    answers = [
        await table.act("updateBenchmark", id=table.id, expectedVersion=1, name="other"),
        await table.act("deleteBenchmark", id=table.id, expectedVersion=1),
        await table.act("updateTrack", id=table.tracks[0], expectedVersion=7, name="other"),
        await table.act("removeTrack", id=table.tracks[1], expectedVersion=7),
        await table.act("updateRow", id=table.rows[0], expectedVersion=7, input="other"),
    ]

    assert [answer["__typename"] for answer in answers] == ["Conflict"] * 5
    assert [answer["currentVersion"] for answer in answers] == [2, 2, 1, 1, 1]
    assert [answer["existing"]["__typename"] for answer in answers] == [*["Benchmark"] * 2, *["Track"] * 2, "Row"]
    assert await table.read() == before


async def test_what_is_left_out_stays_and_null_clears(table: Table) -> None:
    await table.act("updateBenchmark", id=table.id, expectedVersion=2, description="about it")
    await table.act("updateBenchmark", id=table.id, expectedVersion=3, name=f"renamed {table.id}")
    assert (await table.read())["description"] == "about it"

    answer = await table.act("updateBenchmark", id=table.id, expectedVersion=4, description=None)

    assert answer["benchmark"]["description"] is None
    assert answer["benchmark"]["version"] == 5


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"name": " "}, ["name"]),
        ({"name": "é" * 251}, ["name"]),
        ({"description": "\0"}, ["description"]),
        ({"kind": "CONVERSATION", "fields": [{"name": "a", "type": "DATE"}]}, ["fields"]),
        ({"fields": [{"name": "", "type": "DATE"}]}, ["fields", "0", "name"]),
        ({"fields": [{"name": "a", "type": "DATE"}] * 2}, ["fields", "1", "name"]),
        ({"fields": [{"name": "a", "type": "DATE", "description": "\0"}]}, ["fields", "0", "description"]),
    ],
)
async def test_a_benchmark_that_makes_no_sense_is_refused(tables: House, given: Any, path: list[str]) -> None:
    answer = await act(tables, "createBenchmark", {"name": name(), "kind": "AUTOMATION", **given})
    assert (answer["__typename"], answer["path"]) == ("InvalidInput", path)


async def test_an_agent_that_nobody_registered_is_not_found(tables: House) -> None:
    answer = await act(tables, "createBenchmark", {"name": name(), "kind": "AUTOMATION", "agentId": "nobody"})
    assert (answer["__typename"], answer["path"]) == ("NotFound", ["agentId"])


async def test_dropping_or_retyping_a_field_takes_its_unlocked_values_and_counts_them(automation: Table) -> None:
    await automation.say("1")
    await automation.say("2", 1)
    await automation.edit_of({"fields": [field("note", "n")]})

    answer = await retype(automation, ("total", "NUMBER"), ("note", "STRING"))

    assert answer["droppedValues"] == 2
    assert await automation.fields() == {"total": EMPTY, "note": ("n", "MANUAL", True)}
    assert await automation.changes() == ["CAPTURED", "EDITED", "CLEARED"]


async def test_reordering_and_adding_fields_drops_nothing(automation: Table) -> None:
    await automation.say("1")

    answer = await retype(automation, ("new", "DATE"), ("note", "STRING"), ("total", "STRING"))

    assert answer["droppedValues"] == 0
    assert [each["name"] for each in answer["benchmark"]["fields"]] == ["new", "note", "total"]
    assert (await automation.fields())["total"] == ("1", "AUTO", False)


@pytest.mark.parametrize("fields", [[("note", "STRING")], [("note", "STRING"), ("total", "NUMBER")]])
async def test_dropping_or_retyping_a_field_with_locked_values_is_refused(
    automation: Table, fields: list[tuple[str, str]]
) -> None:
    await automation.edit("right", 1)
    before = await automation.read()

    answer = await retype(automation, *fields)

    assert (answer["__typename"], answer["names"]) == ("Locked", ["total"])
    assert [each["row"]["id"] for each in answer["expectedOutputs"]] == [automation.rows[1]]
    assert await automation.read() == before


async def test_removing_rows_with_locked_values_is_refused_unless_they_are_meant(table: Table) -> None:
    await table.edit("right", 1)

    answer = await table.act("removeRows", ids=table.rows)

    assert answer["__typename"] == "Locked"
    assert [each["row"]["id"] for each in answer["expectedOutputs"]] == [table.rows[1]]
    assert answer["names"] == ([] if table.kind == AgentKind.CONVERSATION else ["total"])
    assert len((await table.read())["rows"]["nodes"]) == 2

    answer = await table.act("removeRows", ids=table.rows, includeLocked=True)

    assert answer["deletedIds"] == table.rows
    assert (await table.read())["rows"]["nodes"] == []


async def test_removing_a_benchmark_with_locked_values_is_refused_unless_it_is_meant(table: Table) -> None:
    await table.edit("right")
    await table.say("answer", 1)
    version = await table.version()

    answer = await table.act("deleteBenchmark", id=table.id, expectedVersion=version)
    assert answer["__typename"] == "Locked"
    assert await table.value() == ("right", "MANUAL", True)

    answer = await table.act("deleteBenchmark", id=table.id, expectedVersion=version, includeLocked=True)
    assert (answer["deletedId"], answer["rows"]) == (table.id, 2)
    assert await table.read() is None


async def test_a_benchmarks_version_does_not_move_with_its_rows_and_cells(table: Table) -> None:
    version = await table.version()

    await table.say("answer")
    await table.edit("right")
    await table.act("addRows", benchmarkId=table.id, rows=[{"input": "i"}])
    await table.add_track()

    assert await table.version() == version


async def test_names_of_tracks_are_unique_in_their_benchmark(table: Table) -> None:
    other = await made(table.house, table.kind)
    first = (await table.track())["name"]

    added = await table.add_track(name=first)
    renamed = await table.act("updateTrack", id=table.tracks[1], expectedVersion=1, name=first)
    elsewhere = await other.add_track(name=first)

    assert [answer["__typename"] for answer in (added, renamed)] == ["Duplicate"] * 2
    assert added["existing"] == renamed["existing"] == {"__typename": "Track", "id": table.tracks[0]}
    assert elsewhere["track"]["name"] == first


async def test_a_track_without_a_name_is_named_after_its_model(table: Table) -> None:
    names = [track["name"] for track in (await table.read())["tracks"]]
    assert names[1] == f"{names[0]} 2"


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"temperature": 2.5}, ["temperature"]),
        ({"topP": -0.1}, ["topP"]),
        ({"maxOutputTokens": 0}, ["maxOutputTokens"]),
        ({"systemPrompt": "\0"}, ["systemPrompt"]),
        ({"name": ""}, ["name"]),
        ({"position": -1}, ["position"]),
    ],
)
async def test_a_track_that_makes_no_sense_is_refused(table: Table, given: Any, path: list[str]) -> None:
    before = await table.read()
    added = await table.add_track(**given)
    changed = await table.act("updateTrack", id=table.tracks[0], expectedVersion=1, **given)
    assert [answer["__typename"] for answer in (added, changed)] == ["InvalidInput"] * 2
    assert added["path"] == changed["path"] == path
    assert await table.read() == before


async def test_settings_of_a_track_are_changed_and_cleared(table: Table) -> None:
    await table.act(
        "updateTrack",
        id=table.tracks[0],
        expectedVersion=1,
        temperature=0.5,
        maxOutputTokens=10,
        systemPrompt="Be brief.",
    )
    answer = await table.act("updateTrack", id=table.tracks[0], expectedVersion=2, temperature=None)
    shown = answer["track"]
    assert (shown["temperature"], shown["maxOutputTokens"], shown["systemPrompt"]) == (None, 10, "Be brief.")
    assert shown["version"] == 3
    answer = await table.act("updateTrack", id=table.tracks[0], expectedVersion=3, modelId=None)
    assert (answer["__typename"], answer["path"]) == ("InvalidInput", ["modelId"])


async def test_models_are_made_changed_and_named_once(table: Table) -> None:
    given: dict[str, Any] = {
        "name": name(),
        "provider": "anthropic",
        "modelName": "m",
        "inputPrice": "3.00",
        "baseUrl": "https://llm",
    }
    model = (await table.act("createModel", **given))["model"]
    assert (model["maxConcurrency"], model["inputPrice"]) == (8, "3.00")

    changed = await table.act("updateModel", id=model["id"], expectedVersion=1, baseUrl=None, maxConcurrency=2)
    stale = await table.act("updateModel", id=model["id"], expectedVersion=1, name="other")
    again = await table.act("createModel", **given)
    unknown = await table.act("createModel", **{**given, "name": name(), "provider": "unheard of"})

    assert (changed["model"]["baseUrl"], changed["model"]["maxConcurrency"]) == (None, 2)
    assert (stale["__typename"], stale["currentVersion"]) == ("Conflict", 2)
    assert (again["__typename"], again["existing"]) == ("Duplicate", {"__typename": "Model", "id": model["id"]})
    assert (unknown["__typename"], unknown["path"]) == ("InvalidInput", ["provider"])


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"name": "é" * 251}, ["name"]),
        ({"inputPrice": "-1"}, ["inputPrice"]),
        ({"outputPrice": "1e400000"}, ["outputPrice"]),
        ({"modelName": ""}, ["modelName"]),
        ({"baseUrl": "\0"}, ["baseUrl"]),
        ({"requestsPerMinute": 0}, ["requestsPerMinute"]),
        ({"maxConcurrency": 0}, ["maxConcurrency"]),
        ({"maxConcurrency": None}, ["maxConcurrency"]),
    ],
)
async def test_a_model_that_makes_no_sense_is_refused(tables: House, given: Any, path: list[str]) -> None:
    answer = await act(tables, "createModel", {"name": name(), "provider": "openai", "modelName": "m", **given})
    assert (answer["__typename"], answer["path"]) == ("InvalidInput", path)


async def test_reviewers_edit_ground_truth_and_change_nothing_else(table: Table) -> None:
    assert (await table.edit("right", viewer=BEN))["__typename"] == "EditExpectedOutputPayload"
    answer = await table.act("addRows", BEN, benchmarkId=table.id, rows=[])
    assert (answer["__typename"], answer["required"]) == ("Forbidden", "OPERATOR")
