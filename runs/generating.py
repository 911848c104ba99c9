"""One cell's generation: the question put to the track's model, and its reply as an answer of the table."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from models.base import AgentKind, CellErrorKind
from resolvers.asking import Question
from resolvers.cells import Answer
from resolvers.forms import UNSTORABLE, storable_text
from resolvers.generating import Generated
from resolvers.queue import Held
from runs.calls import BeforeCall, Caller, CallFailed, Document, Endpoint, Field, Reply, Sampling, Usage
from runs.structured import Misfit, read, wanted_fields


async def generate(
    caller: Caller, item: Held, question: Question, documents: Sequence[Document], before_call: BeforeCall
) -> Generated:
    its, is_text = question.settings, question.kind == AgentKind.CONVERSATION
    endpoint = Endpoint(
        its.provider, its.model_name, its.base_url, its.api_key_variable, its.input_price, its.output_price
    )
    sampling = Sampling(its.system_prompt, its.temperature, its.top_p, its.max_output_tokens)
    fields = [Field(field.name, field.type, field.description) for field in question.fields]
    wanted = None if is_text else wanted_fields(fields)
    try:
        reply = await caller.call(endpoint, question.input, documents, sampling, wanted, before_call=before_call)
        said = _text(reply) if wanted is None else _values(reply, wanted)
    except CallFailed as failure:
        return failed(item, failure.kind, failure.message, failure.usage)
    return _generated(item, said, reply.usage)


def failed(item: Held, kind: CellErrorKind, message: str, usage: Usage) -> Generated:
    said = {"error": message, "error_kind": kind, "error_attempts": usage.calls}
    return _generated(item, said, usage)


def _text(reply: Reply) -> dict[str, Any]:
    if storable_text(reply.text) is None:
        raise CallFailed(CellErrorKind.INVALID_OUTPUT, UNSTORABLE, reply.usage, reply.text)
    return {"output": reply.text}


def _values(reply: Reply, wanted: type[BaseModel]) -> dict[str, Any]:
    """A blank reply is an answer without fields."""
    if not reply.text.strip():
        return {"fields": {}}
    try:
        return {"fields": read(reply.text, wanted)}
    except Misfit as misfit:
        raise CallFailed(CellErrorKind.INVALID_OUTPUT, misfit.reason, reply.usage, reply.text) from None


def _generated(item: Held, said: dict[str, Any], usage: Usage) -> Generated:
    answer = Answer(
        item.row_pk,
        item.track_pk,
        **said,
        latency_ms=usage.latency_ms if usage.calls else None,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost=usage.cost,
    )
    return Generated(item, answer, usage.calls, usage.unpriced_calls)
