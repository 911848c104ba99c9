"""What a run may be started with, and that a refusal says where the fault is and leaves nothing behind."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.provider import Provider
from tests.runs.service import Bench, Refused, Service, made

Given = Callable[[Bench, Bench], dict[str, Any]]


def generation(bench: Bench, **given: Any) -> dict[str, Any]:
    return {"generation": {"trackIds": bench.tracks, "scope": "SELECTED", **given}}


def evaluation(bench: Bench, **given: Any) -> dict[str, Any]:
    return {"evaluation": {"scope": "MISSING", **given}}


def cell(row: Bench, track: Bench) -> dict[str, str]:
    return {"rowId": row.rows[0], "trackId": track.tracks[0]}


FAULTS: dict[str, tuple[Given, list[str]]] = {
    "no part": (lambda bench, other: {}, ["generation"]),
    "no tracks": (lambda bench, other: generation(bench, scope="ALL", trackIds=[]), ["generation", "trackIds"]),
    "nothing selected": (lambda bench, other: generation(bench, rowIds=[], cells=[]), ["generation", "rowIds"]),
    "rows with ALL": (
        lambda bench, other: generation(bench, scope="ALL", rowIds=bench.rows),
        ["generation", "rowIds"],
    ),
    "cells with MISSING": (lambda bench, other: evaluation(bench, cells=[cell(bench, bench)]), ["evaluation", "cells"]),
    "a track of another": (
        lambda bench, other: generation(bench, rowIds=bench.rows, trackIds=[*bench.tracks, *other.tracks]),
        ["generation", "trackIds", "2"],
    ),
    "a row of another": (lambda bench, other: generation(bench, rowIds=other.rows), ["generation", "rowIds", "0"]),
    "a cell's row of another": (
        lambda bench, other: generation(bench, cells=[cell(bench, bench), cell(other, bench)]),
        ["generation", "cells", "1", "rowId"],
    ),
    "a cell's track of another": (
        lambda bench, other: generation(bench, cells=[cell(bench, other)]),
        ["generation", "cells", "0", "trackId"],
    ),
    "a row as a track": (
        lambda bench, other: generation(bench, rowIds=bench.rows, trackIds=bench.rows),
        ["generation", "trackIds", "0"],
    ),
    "no metrics": (lambda bench, other: evaluation(bench), ["evaluation", "metricIds"]),
    "a row as a metric": (
        lambda bench, other: evaluation(bench, metricIds=bench.rows),
        ["evaluation", "metricIds", "0"],
    ),
    "no tracks to score": (lambda bench, other: evaluation(bench, trackIds=[]), ["evaluation", "trackIds"]),
    "a negative limit": (lambda bench, other: {**generation(bench, rowIds=bench.rows), "maxCost": "-1"}, ["maxCost"]),
    "an empty key": (
        lambda bench, other: {**generation(bench, rowIds=bench.rows), "idempotencyKey": ""},
        ["idempotencyKey"],
    ),
}


@pytest.mark.parametrize(("given", "path"), FAULTS.values(), ids=FAULTS.keys())
async def test_a_fault_is_told_with_its_place_and_nothing_is_started(
    running: Service, bench: Bench, provider: Provider, given: Given, path: list[str]
) -> None:
    other = await made(running, provider, tracks=("elsewhere",), name="another")

    with pytest.raises(Refused) as refused:
        await bench.start(**given(bench, other))

    assert refused.value.answer.get("path", refused.value.answer.get("lost")) == path
    assert (await running.ask("{ runs { totalCount } }"))["runs"]["totalCount"] == 0


async def test_the_same_key_answers_the_same_run_and_another_input_is_a_conflict(bench: Bench) -> None:
    run = await bench.start(**generation(bench, rowIds=bench.rows), idempotencyKey="once")

    again = await bench.start(**generation(bench, rowIds=bench.rows), idempotencyKey="once")
    with pytest.raises(Refused) as refused:
        await bench.start(**generation(bench, rowIds=bench.rows[:1]), idempotencyKey="once")

    assert again == run
    assert refused.value.kind == "Conflict"


async def test_the_key_of_a_run_that_went_with_its_benchmark_is_free_again(
    running: Service, bench: Bench, provider: Provider
) -> None:
    other = await made(running, provider, tracks=("elsewhere",), name="another")
    await bench.ended(await bench.start(**generation(bench, rowIds=bench.rows), idempotencyKey="once"))
    version = (await bench.table())["version"]
    await running.act("deleteBenchmark", "rows", id=bench.id, expectedVersion=version)

    run = await other.start(**generation(other, rowIds=other.rows), idempotencyKey="once")

    assert (await other.ended(run))["status"] == "SUCCEEDED"
