"""Figures of the work on runs, for whoever scrapes this process.

No label is a model's name: people make and name models as they like, and what was once a label is kept for ever. The
provider is one of three words. What a model or a run took stands in the graph.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Final

from prometheus_client import Counter, Gauge, Histogram
from pydantic import BaseModel

from models.base import CellStatus, ScoreStatus
from resolvers.generating import Generated
from resolvers.scoring import Scored
from runs.calls import BeforeCall, Caller, CallFailed, Document, Endpoint, Reply, Sampling, Usage

STAGES = Counter("assay_run_stages", "Stages of items that this process ended.", ["stage", "outcome"])
HELD = Gauge("assay_run_items_held", "Items that this process is at.")
LOST_LEASES = Counter(
    "assay_run_lost_leases", "Items that others took, or nobody does any more, while this process was at them."
)
QUESTIONS = Counter("assay_model_questions", "What models were asked, repetitions aside.", ["provider", "outcome"])
CALLS = Counter("assay_model_calls", "Requests sent to models.", ["provider"])
UNPRICED = Counter("assay_model_unpriced_calls", "Calls of which the cost is not known.", ["provider"])
TOKENS = Counter("assay_model_tokens", "Tokens that providers counted.", ["provider", "direction"])
COST = Counter("assay_model_cost_dollars", "Of priced calls.", ["provider"])
SECONDS = Histogram(
    "assay_model_call_seconds",
    "Until a request was answered, failed or was given up.",
    ["provider"],
    buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120),
)

ANSWERED: Final = "ANSWERED"
SUCCEEDED, FAILED, LOST = "SUCCEEDED", "FAILED", "LOST"


def hold(task: "asyncio.Task[Any]") -> None:
    """An item is held as long as there is a task that is at it."""
    HELD.inc()
    task.add_done_callback(lambda _: HELD.dec())


def end(results: Iterable[Generated | Scored], stored: frozenset[int]) -> None:
    for result in results:
        STAGES.labels(result.item.stage, _outcome(result) if result.item.id in stored else LOST).inc()


def _outcome(result: Generated | Scored) -> str:
    if isinstance(result, Generated):
        return FAILED if result.answer.status == CellStatus.FAILED else SUCCEEDED
    is_failure = bool(result.scores) and all(score.status == ScoreStatus.FAILED for score in result.scores)
    return FAILED if is_failure else SUCCEEDED


class Counted:
    """A caller whose calls are counted. Implements runs.calls.Caller."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def call(
        self,
        endpoint: Endpoint,
        prompt: str,
        documents: Sequence[Document],
        sampling: Sampling,
        wanted: type[BaseModel] | None,
        *,
        before_call: BeforeCall | None = None,
    ) -> Reply:
        try:
            reply = await self._caller.call(endpoint, prompt, documents, sampling, wanted, before_call=before_call)
        except CallFailed as failure:
            _count(endpoint.provider, failure.kind, failure.usage)
            raise
        _count(endpoint.provider, ANSWERED, reply.usage)
        return reply


def _count(provider: str, outcome: str, usage: Usage) -> None:
    QUESTIONS.labels(provider, outcome).inc()
    CALLS.labels(provider).inc(usage.calls)
    UNPRICED.labels(provider).inc(usage.unpriced_calls)
    TOKENS.labels(provider, "input").inc(usage.input_tokens or 0)
    TOKENS.labels(provider, "output").inc(usage.output_tokens or 0)
    COST.labels(provider).inc(float(usage.cost or 0))
