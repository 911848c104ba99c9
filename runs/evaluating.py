"""One cell's scores: the metrics that need no model, or those whose judge is the model that was claimed."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any, Final

from models.base import CellErrorKind
from resolvers.facts import CellFacts, MetricUsed
from resolvers.queue import Held
from resolvers.scoring import Scored, ScoreGiven
from resolvers.values import written
from runs.calls import BeforeCall, Caller, Document, Endpoint, Usage
from runs.documents import Unreadable, context_of
from runs.judge import Judged, judge, render
from runs.metrics import Outcome, Subject, failed, measure, skipped

NO_OUTPUT = "The cell has no output."
NOT_EXPECTED = "The row has no expected output."

Documents = Callable[[], Awaitable[Sequence[Document]]]

# Comparing long texts lets go of the interpreter at its end alone: leases and requests would wait for several threads.
_MEASURING: Final = ThreadPoolExecutor(1, "measuring")


async def evaluate(
    caller: Callable[[], Awaitable[Caller]],
    item: Held,
    facts: CellFacts,
    metrics: Mapping[int, MetricUsed],
    documents: Documents,
    before_call: BeforeCall,
) -> Scored:
    left = [metrics[pk] for pk in item.metric_pks if pk in metrics and pk not in item.scored_pks]
    now = [metric for metric in left if metric.judge_pk == item.model_pk]
    later = [metric for metric in left if metric not in now]
    if item.model_pk is None:
        computing = asyncio.get_running_loop().run_in_executor(_MEASURING, _measured, now, facts)
        scores, usage, error = await computing, Usage(), None
    else:
        scores, usage, error = await _judged(await caller(), now, facts, documents, before_call)
    models = [metric.judge_pk for metric in later]
    return Scored(
        item,
        [metric.id for metric in now],
        scores,
        is_last=not later,
        next_model_pk=None if None in models or not models else models[0],
        calls=usage.calls,
        unpriced_calls=usage.unpriced_calls,
        cost=usage.cost,
        error=error,
    )


def _measured(metrics: Sequence[MetricUsed], facts: CellFacts) -> list[ScoreGiven]:
    subject = Subject(
        facts.kind,
        facts.output,
        facts.fields,
        facts.expected_text,
        facts.expected_fields,
        facts.field_types,
        facts.latency_ms,
        facts.input_tokens,
        facts.output_tokens,
        facts.cost,
    )
    return [
        _given(metric, facts, variable, outcome)
        for metric in metrics
        for variable, outcome in measure(metric.kind, metric.options, subject).items()
    ]


async def _judged(
    caller: Caller, metrics: Sequence[MetricUsed], facts: CellFacts, documents: Documents, before_call: BeforeCall
) -> tuple[list[ScoreGiven], Usage, tuple[CellErrorKind, str] | None]:
    scores: list[ScoreGiven] = []
    usage, error = Usage(), None
    for metric in metrics:
        if usage.calls:
            # The claim took the first call's place in the pace, and no more.
            await before_call()
        judged = await _judge(caller, metric, facts, documents, before_call)
        usage += judged.usage
        error = judged.error or error
        scores += _of_judge(metric, facts, judged)
    return scores, usage, error


async def _judge(
    caller: Caller, metric: MetricUsed, facts: CellFacts, documents: Documents, before_call: BeforeCall
) -> Judged:
    response = facts.output if facts.fields is None else written(facts.fields)
    expected = facts.expected_text if not facts.expected_fields else written(facts.expected_fields)
    if response is None:
        return _none(metric, skipped(NO_OUTPUT))
    if metric.needs_expected and expected is None:
        return _none(metric, skipped(NOT_EXPECTED))
    prompt, its = metric.prompt or "", metric.judge
    assert its is not None, "a judge has a model"
    try:
        context = await context_of(await documents()) if "{context}" in prompt else ""
    except Unreadable as error:
        return _none(metric, failed(error.reason), (CellErrorKind.PROVIDER, error.reason))
    endpoint = Endpoint(
        its.provider, its.model_name, its.base_url, its.api_key_variable, its.input_price, its.output_price
    )
    text = render(prompt, input=facts.input, expected_output=expected, agent_response=response, context=context)
    return await judge(caller, endpoint, text, metric.variables, before_call=before_call)


def _none(metric: MetricUsed, outcome: Outcome, error: tuple[CellErrorKind, str] | None = None) -> Judged:
    """The judge was not asked."""
    return Judged({variable.name: outcome for variable in metric.variables}, Usage(), error)


def _of_judge(metric: MetricUsed, facts: CellFacts, judged: Judged) -> list[ScoreGiven]:
    """What the reply cost stands at the first variable, and nothing at the others."""
    rest = None if judged.usage.cost is None else Decimal(0)
    return [
        _given(metric, facts, variable, outcome, raw_reply=judged.raw_reply, cost=rest if place else judged.usage.cost)
        for place, (variable, outcome) in enumerate(judged.outcomes.items())
    ]


def _given(metric: MetricUsed, facts: CellFacts, variable: str, outcome: Outcome, **more: Any) -> ScoreGiven:
    return ScoreGiven(
        metric.id,
        variable,
        outcome.status,
        facts.cell_revision,
        facts.expected_revision if metric.needs_expected else None,
        metric.version,
        outcome.number,
        outcome.boolean,
        outcome.text,
        outcome.reason,
        **more,
    )
