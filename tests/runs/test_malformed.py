"""Answers that are not what their protocol says: the provider's fault, asked once, and nobody else's."""

import json
from typing import Any

import pytest

from models.base import CellErrorKind
from runs.calls import Endpoint
from runs.failures import clean
from tests.provider import Provider
from tests.runs.calling import endpoint, failed

MALFORMED = "The provider's answer has not the form of its protocol."
MESSAGE = {"role": "assistant", "content": "x"}
ADDRESSES = {"openai": "/v1", "anthropic": "", "google": ""}


def chat(*choices: Any, **given: Any) -> str:
    return json.dumps({"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": choices, **given})


def message(*parts: Any, **given: Any) -> str:
    usage = {"input_tokens": 1, "output_tokens": 1}
    said = {"id": "x", "type": "message", "role": "assistant", "model": "m", "content": parts, "usage": usage}
    return json.dumps({**said, "stop_reason": "end_turn", **given})


def generated(part: Any) -> str:
    return json.dumps({"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}], "modelVersion": "m"})


BODIES = {
    "no choices": ("openai", chat()),
    "a choice of nothing": ("openai", chat(None)),
    "no date": ("openai", chat({"index": 0, "message": MESSAGE, "finish_reason": "stop"}, created=10**30)),
    "nothing at all": ("openai", "null"),
    "levels without end": ("openai", "[" * 1_000_000),
    "a list": ("anthropic", "[]"),
    "no content": ("anthropic", message(content=None)),
    "a part of nothing": ("anthropic", message(None)),
    "a text of nothing": ("anthropic", message({"type": "text", "text": None})),
    "no usage": ("anthropic", message({"type": "text", "text": "x"}, usage=None)),
    "a number": ("google", "5"),
    "a text that is a number": ("google", generated({"text": 5})),
}


@pytest.mark.parametrize(("spoken", "body"), BODIES.values(), ids=BODIES.keys())
async def test_an_answer_against_its_protocol_is_the_providers_failure(
    provider: Provider, spoken: str, body: str
) -> None:
    provider.on(behaviour="raw", content=body)

    error = await failed(Endpoint(spoken, "m", f"{provider.root}{ADDRESSES[spoken]}"))

    assert (error.kind, error.message) == (CellErrorKind.PROVIDER, MALFORMED)
    assert (error.usage.calls, error.usage.unpriced_calls) == (1, 1)


async def test_a_refusal_that_quotes_the_key_does_not_show_it(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODEL_KEY", "open-sesame")
    refused = {"role": "assistant", "content": None, "refusal": "Not for open-sesame."}
    provider.on(behaviour="raw", content=chat({"index": 0, "message": refused, "finish_reason": "stop"}))

    error = await failed(endpoint(provider, api_key_variable="MODEL_KEY"))

    assert error.message == "The provider refused to answer: Not for …."


async def test_words_of_a_provider_without_a_key_are_left_as_they_are(provider: Provider) -> None:
    refused = {"role": "assistant", "content": None, "refusal": "There is none."}
    provider.on(behaviour="raw", content=chat({"index": 0, "message": refused, "finish_reason": "stop"}))

    error = await failed(endpoint(provider))

    assert error.message == "The provider refused to answer: There is none."


def test_an_error_that_quotes_an_address_does_not_show_its_credentials() -> None:
    said = clean("It failed at postgresql://me:secret@db.example/rows.", "")

    assert said == "It failed at postgresql://…@db.example/rows."
