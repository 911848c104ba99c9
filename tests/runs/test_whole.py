"""The whole of it, through GraphQL alone: from a model to scores, for both kinds of agents."""

from tests.provider import Provider
from tests.runs.pdf import pdf
from tests.runs.service import Bench, Service, made

FIELDS = [
    {"name": "total", "type": "NUMBER", "description": "The sum to pay."},
    {"name": "note", "type": "STRING"},
]


async def expected(bench: Bench, row: int = 0) -> dict[str, object]:
    found = (await bench.table())["rows"]["nodes"][row]["expectedOutput"]
    return {"text": found["text"], "origin": found["origin"], "locked": found["locked"]}


async def switch(bench: Bench, track: int, **given: str) -> None:
    version = (await bench.table())["version"]
    source = {"benchmarkId": bench.id, "trackId": bench.tracks[track], "expectedVersion": version}
    await bench.service.act("setSourceTrack", "recapturedRows", **source, **given)


async def test_a_conversation_is_generated_captured_edited_switched_and_scored(
    bench: Bench, provider: Provider
) -> None:
    await bench.generate()
    captured = await expected(bench)
    row = (await bench.table())["rows"]["nodes"][1]
    edit = {"rowId": row["id"], "expectedRevision": row["expectedOutput"]["revision"], "text": "by hand"}
    await bench.service.act("editExpectedOutput", "expectedOutput { id }", **edit)
    await switch(bench, 1, existing="RECAPTURE")
    switched = await expected(bench)
    await switch(bench, 0, existing="KEEP")
    kept = await expected(bench)
    await bench.set_metrics(await bench.add_metric("near", "EDIT_SIMILARITY"))
    scored = await bench.evaluate()
    both = await bench.generate(tracks=[1])

    assert captured == {"text": "one answers: What is 1?", "origin": "AUTO", "locked": False}
    assert switched == kept == {"text": "two answers: What is 1?", "origin": "AUTO", "locked": False}
    assert await expected(bench, 1) == {"text": "by hand", "origin": "MANUAL", "locked": True}
    assert scored["evaluation"]["scoreCount"] == 4
    assert both["progress"]["succeeded"] == 2
    [first, _] = await bench.cells(1)
    assert [(score["number"], score["stale"]) for score in first["scores"]] == [(1, False)]


async def test_an_automation_reads_the_files_of_its_rows(running: Service, provider: Provider) -> None:
    bench = await made(running, provider, kind="AUTOMATION", fields=FIELDS, inputs=["Read the invoice."])
    files = [
        {"sha256": await running.send(pdf("Total 42 euros")), "name": "invoice.pdf"},
        {"sha256": await running.send(b"Paid in cash."), "name": "note.txt"},
    ]
    await running.act("updateRow", "row { id }", id=bench.rows[0], expectedVersion=1, files=files)
    provider.on(model="one", content={"total": 42, "note": None})
    provider.on(model="two", content={"total": 41})
    await bench.set_metrics(await bench.add_metric("fields", "FIELD_ACCURACY"))

    run = await bench.generate()

    [asked] = provider.asked("one")
    row = (await bench.table())["rows"]["nodes"][0]
    values = {field["name"]: (field["value"], field["origin"]) for field in row["expectedOutput"]["fields"]}
    found = [{score["variable"]: score["number"] for score in cell["scores"]} for cell in row["cells"]]
    assert "Total 42 euros" in asked.prompt
    assert "Paid in cash." in asked.prompt
    assert run["status"] == "SUCCEEDED"
    assert values == {"total": (42, "AUTO"), "note": (None, "AUTO")}
    assert found == [{"precision": 1, "recall": 1, "f1": 1}, {"precision": 0, "recall": 0, "f1": 0}]


async def test_a_locked_field_is_skipped_and_the_others_are_captured(running: Service, provider: Provider) -> None:
    bench = await made(running, provider, kind="AUTOMATION", fields=FIELDS, inputs=["Read."], tracks=["one"])
    edit = {"rowId": bench.rows[0], "expectedRevision": 0, "fields": [{"name": "total", "value": 7}]}
    await running.act("editExpectedOutput", "expectedOutput { id }", **edit)
    provider.on(model="one", content={"total": 42, "note": "read"})

    run = await bench.generate()

    row = (await bench.table())["rows"]["nodes"][0]
    values = {field["name"]: (field["value"], field["locked"]) for field in row["expectedOutput"]["fields"]}
    assert values == {"total": (7, True), "note": ("read", False)}
    assert (run["progress"]["captured"], run["progress"]["lockedSkipped"]) == (1, 1)


async def test_an_answer_that_does_not_fit_the_fields_is_a_failure_that_says_why(
    running: Service, provider: Provider
) -> None:
    bench = await made(running, provider, kind="AUTOMATION", fields=FIELDS, inputs=["Read."], tracks=["one"])
    provider.on(model="one", content={"total": "forty-two"})

    await bench.generate()

    [cell] = await bench.cells()
    assert (cell["status"], cell["error"]["kind"]) == ("FAILED", "INVALID_OUTPUT")
    assert "total" in cell["error"]["message"]
