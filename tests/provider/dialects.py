"""The protocols: each reads its requests as OpenAI's, and writes an answer in its own way."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

REFUSAL = "I cannot help with that."
Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Said:
    """An answer, whatever its protocol. `kind` is the behaviour; the tokens read hold the cached ones."""

    model: str
    content: str
    kind: str
    read: int
    written: int
    cached: int


@dataclass(frozen=True, slots=True)
class Dialect:
    asked: Callable[[Body, str], Body]
    answered: Callable[[Said], Body]


def _openai_answer(said: Said) -> Body:
    refusal = REFUSAL if said.kind == "refusal" else None
    message = {"role": "assistant", "content": None if refusal else said.content, "refusal": refusal}
    finished = {"truncated": "length", "filtered": "content_filter"}.get(said.kind, "stop")
    details = {"prompt_tokens_details": {"cached_tokens": said.cached}} if said.cached else {}
    counted = {"prompt_tokens": said.read, "completion_tokens": said.written, "total_tokens": said.read + said.written}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_767_225_600,
        "model": said.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finished, "logprobs": None}],
        **({} if said.kind == "no_usage" else {"usage": {**counted, **details}}),
    }


def _anthropic_request(body: Body, model: str) -> Body:
    system = [{"role": "system", "content": body["system"]}] if "system" in body else []
    asked: Body = {"model": body["model"], "messages": [*system, *body["messages"]]}
    schema = body.get("output_config", {}).get("format", {}).get("schema")
    return _with_schema(asked, schema)


def _anthropic_answer(said: Said) -> Body:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": said.model,
        "content": [] if said.kind == "refusal" else [{"type": "text", "text": said.content}],
        "stop_reason": {"truncated": "max_tokens", "refusal": "refusal"}.get(said.kind, "end_turn"),
        "stop_sequence": None,
        "usage": {
            "input_tokens": said.read - said.cached,
            "cache_read_input_tokens": said.cached,
            "output_tokens": said.written,
        },
    }


def _google_request(body: Body, model: str) -> Body:
    asked = [body["systemInstruction"]] if "systemInstruction" in body else []
    messages = [{"role": turn["role"], "content": _google_parts(turn)} for turn in [*asked, *body["contents"]]]
    return _with_schema({"model": model, "messages": messages}, body["generationConfig"].get("responseJsonSchema"))


def _google_parts(turn: Body) -> list[Body]:
    return [{"type": "text", **part} if "text" in part else {"type": "file", **part} for part in turn["parts"]]


def _google_answer(said: Said) -> Body:
    finished = {"truncated": "MAX_TOKENS", "filtered": "SAFETY", "refusal": "SAFETY"}.get(said.kind, "STOP")
    counted = {
        "promptTokenCount": said.read,
        "candidatesTokenCount": said.written,
        "totalTokenCount": said.read + said.written,
        "cachedContentTokenCount": said.cached,
    }
    return {
        "candidates": [{"content": {"role": "model", "parts": [{"text": said.content}]}, "finishReason": finished}],
        "modelVersion": said.model,
        **({} if said.kind == "no_usage" else {"usageMetadata": counted}),
    }


def _with_schema(asked: Body, schema: Any) -> Body:
    return {**asked, "response_format": {"json_schema": {"schema": schema}}} if schema else asked


DIALECTS: Mapping[str, Dialect] = {
    "openai": Dialect(lambda body, model: body, _openai_answer),
    "anthropic": Dialect(_anthropic_request, _anthropic_answer),
    "google": Dialect(_google_request, _google_answer),
}
