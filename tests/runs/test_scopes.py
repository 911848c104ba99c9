"""Which cells a run generates, counted at the provider, and that it touches no others."""

from tests.provider import Provider
from tests.runs.service import Bench, Service, made


async def ten_rows(running: Service, provider: Provider) -> Bench:
    """Ten rows and two tracks: three cells failed and one is empty."""
    inputs = [f"What is {number:02}?" for number in range(10)]
    bench = await made(running, provider, inputs=inputs, autoCapture=False)
    for words in ("is 01?", "is 02?", "is 03?"):
        provider.on(model="one", contains=words, behaviour="400")
    provider.on(model="two", contains="is 04?", behaviour="blank")
    await bench.generate()
    provider.reset()
    return bench


def asked(provider: Provider, model: str) -> list[str]:
    return sorted(call.prompt for call in provider.asked(model))


async def test_empty_and_failed_asks_for_those_alone_and_leaves_the_others_as_they_were(
    running: Service, provider: Provider
) -> None:
    bench = await ten_rows(running, provider)
    before = [*await bench.cells(0), *await bench.cells(1)]
    sound = [cell for cell in before if cell["status"] == "SUCCEEDED"]

    run = await bench.generate("EMPTY_AND_FAILED")

    after = {cell["id"]: cell for cell in [*await bench.cells(0), *await bench.cells(1)]}
    assert asked(provider, "one") == ["What is 01?", "What is 02?", "What is 03?"]
    assert asked(provider, "two") == ["What is 04?"]
    assert run["progress"]["total"] == run["progress"]["succeeded"] == 4
    assert len(sound) == 16
    assert [after[cell["id"]] for cell in sound] == sound


async def test_empty_and_failed_asks_for_what_was_never_answered(running: Service, provider: Provider) -> None:
    bench = await ten_rows(running, provider)
    await bench.generate("EMPTY_AND_FAILED")
    provider.reset()
    await running.act("addRows", "rows { id }", benchmarkId=bench.id, rows=[{"input": "And now?"}])

    await bench.generate("EMPTY_AND_FAILED", tracks=[0])

    assert [call.prompt for call in provider.asked()] == ["And now?"]


async def test_selected_rows_are_asked_on_the_chosen_tracks(running: Service, provider: Provider) -> None:
    bench = await ten_rows(running, provider)

    await bench.generate("SELECTED", tracks=[1], rowIds=[bench.rows[5], bench.rows[7]])

    assert asked(provider, "two") == ["What is 05?", "What is 07?"]
    assert asked(provider, "one") == []


async def test_selected_cells_are_asked_whatever_the_tracks(running: Service, provider: Provider) -> None:
    bench = await ten_rows(running, provider)

    await bench.generate("SELECTED", tracks=[], cells=[{"rowId": bench.rows[6], "trackId": bench.tracks[0]}])

    assert asked(provider, "one") == ["What is 06?"]
    assert asked(provider, "two") == []


async def test_selected_rows_and_cells_are_asked_together_and_each_cell_once(
    running: Service, provider: Provider
) -> None:
    bench = await ten_rows(running, provider)
    cells = [
        {"rowId": bench.rows[5], "trackId": bench.tracks[0]},
        {"rowId": bench.rows[6], "trackId": bench.tracks[1]},
    ]

    run = await bench.generate("SELECTED", tracks=[0], rowIds=[bench.rows[5]], cells=cells)

    assert asked(provider, "one") == ["What is 05?"]
    assert asked(provider, "two") == ["What is 06?"]
    assert run["generation"] == {"trackNames": ["one", "two"], "scope": "SELECTED", "cellCount": 2}


async def test_all_overwrites_what_is_there(bench: Bench, provider: Provider) -> None:
    await bench.generate()
    provider.on(model="one", content="another answer")

    await bench.generate(tracks=[0])

    assert [cell["output"] for cell in await bench.cells(0)] == ["another answer"] * 2


async def test_a_failure_takes_the_place_of_an_answer_and_the_expected_output_stays(
    bench: Bench, provider: Provider
) -> None:
    await bench.generate()
    before = [row["expectedOutput"] for row in (await bench.table())["rows"]["nodes"]]
    provider.on(model="one", behaviour="400")

    run = await bench.generate(tracks=[0])

    cells = await bench.cells(0)
    assert run["status"] == "FAILED"
    assert [(cell["status"], cell["output"]) for cell in cells] == [("FAILED", None)] * 2
    assert [cell["error"]["kind"] for cell in cells] == ["PROVIDER"] * 2
    assert [row["expectedOutput"] for row in (await bench.table())["rows"]["nodes"]] == before


async def test_a_run_that_selects_nothing_has_succeeded(bench: Bench, provider: Provider) -> None:
    await bench.generate()
    provider.reset()

    run = await bench.generate("EMPTY_AND_FAILED")

    assert (run["status"], run["progress"]["total"]) == ("SUCCEEDED", 0)
    assert provider.asked() == []


async def test_items_keep_the_input_and_the_settings_of_the_start(bench: Bench, provider: Provider) -> None:
    provider.on(model="one", contains="1?", behaviours=["slow:700"])
    await bench.service.act(
        "updateModel", "model { id }", id=bench.models[0], expectedVersion=1, maxConcurrency=1, requestsPerMinute=None
    )
    run = await bench.start(generation={"trackIds": bench.tracks[:1], "scope": "ALL"})
    await bench.service.act("updateRow", "row { id }", id=bench.rows[1], expectedVersion=1, input="Changed?")
    await bench.service.act("updateTrack", "track { id }", id=bench.tracks[0], expectedVersion=1, systemPrompt="Shout.")

    await bench.ended(run)

    assert asked(provider, "one") == ["What is 1?", "What is 2?"]
    assert all("Shout." not in str(call.body) for call in provider.asked("one"))
