"""What a monitor sees of a run at /metrics, as far as it moved."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.runs.service import Bench, Service
from tests.waiting import eventually

Moved = Callable[[Awaitable[Any]], Awaitable[Mapping[str, float]]]


async def scraped(client: httpx.AsyncClient) -> dict[str, float]:
    families = text_string_to_metric_families((await client.get("/metrics")).text)
    return {
        "_".join((sample.name, *sample.labels.values())): sample.value
        for family in families
        for sample in family.samples
    }


@pytest.fixture
def moved(running: Service) -> Moved:
    """By how much each figure moved while something was done."""

    async def moved(work: Awaitable[Any]) -> Mapping[str, float]:
        before = await scraped(running.client)
        await work
        after = await scraped(running.client)
        return {name: value - before.get(name, 0) for name, value in after.items() if value != before.get(name, 0)}

    return moved


async def test_stages_of_items_are_counted_by_their_outcome(bench: Bench, moved: Moved) -> None:
    bench.provider.on(model="two", contains="2?", behaviour="400")
    await bench.set_metrics(await bench.add_metric("Same", "EXACT_MATCH"))

    figures = await moved(bench.generate())

    ended = {name: value for name, value in figures.items() if name.startswith("assay_run_stages_total")}
    assert ended == {
        "assay_run_stages_total_SUCCEEDED_GENERATE": 3,
        "assay_run_stages_total_FAILED_GENERATE": 1,
        "assay_run_stages_total_SUCCEEDED_EVALUATE": 3,
    }


async def test_calls_are_counted_with_their_repetitions(bench: Bench, moved: Moved) -> None:
    bench.provider.on(model="one", contains="1?", behaviours=["503"])

    figures = await moved(bench.generate(tracks=[0]))

    assert figures["assay_model_calls_total_openai"] == len(bench.provider.asked()) == 3
    assert figures["assay_model_call_seconds_count_openai"] == 3
    assert figures["assay_model_questions_total_ANSWERED_openai"] == 2


async def test_what_calls_took_is_counted_as_the_run_says_it(bench: Bench, moved: Moved) -> None:
    figures = await moved(bench.generate())

    assert figures["assay_model_tokens_total_input_openai"] == 4 * 3
    assert figures["assay_model_tokens_total_output_openai"] == 4 * 5
    assert figures["assay_model_cost_dollars_total_openai"] == pytest.approx(32e-6)


async def test_calls_without_a_price_are_counted_as_such(bench: Bench, moved: Moved) -> None:
    bench.provider.on(behaviour="no_usage")

    figures = await moved(bench.generate())

    assert figures["assay_model_unpriced_calls_total_openai"] == 4
    assert "assay_model_cost_dollars_total_openai" not in figures


async def test_failures_are_counted_by_their_kind(bench: Bench, moved: Moved) -> None:
    bench.provider.on(behaviour="400")

    figures = await moved(bench.generate())

    assert figures["assay_model_questions_total_PROVIDER_openai"] == 4


async def test_no_label_is_what_people_call_their_models(running: Service, bench: Bench) -> None:
    await bench.generate()

    labels = (await running.client.get("/metrics")).text

    assert '"one"' not in labels
    assert 'provider="openai"' in labels


async def test_what_is_held_is_let_go(running: Service, bench: Bench) -> None:
    await bench.generate()

    async def is_free() -> bool:
        return (await scraped(running.client))["assay_run_items_held"] == 0

    await eventually(is_free)
