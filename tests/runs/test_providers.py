import base64
import subprocess
import sys
from decimal import Decimal
from typing import Any

import pytest

from models.base import CellErrorKind, FieldType
from runs.calls import CallFailed, Document, Endpoint, Field, Sampling
from runs.structured import read, wanted_fields
from tests.provider import Provider
from tests.runs.calling import ask, endpoint, failed
from tests.runs.pdf import pdf

FIELDS = wanted_fields([Field("total", FieldType.NUMBER, "in euros"), Field("extra", FieldType.OBJECT)])
PICTURE = Document("a.png", "image/png", b"\x89PNG")


async def test_a_model_is_asked_with_its_prompts_and_settings(provider: Provider) -> None:
    await ask(endpoint(provider), "How much?", (), Sampling("Be brief.", 0.0, 0.5, 100))

    (asked,) = provider.asked()
    assert asked.body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "How much?"},
    ]
    assert [asked.body[name] for name in ("temperature", "top_p", "max_tokens", "stream")] == [0.0, 0.5, 100, False]


async def test_settings_that_are_not_given_are_not_sent(provider: Provider) -> None:
    await ask(endpoint(provider))

    assert provider.asked()[0].body.keys() == {"model", "messages", "stream"}


async def test_a_reply_has_the_text_and_what_the_provider_counted(provider: Provider) -> None:
    reply = await ask(endpoint(provider, input_price=Decimal("1.5"), output_price=Decimal(2)))

    assert reply.text == "m answers: How much?"
    assert (reply.usage.calls, reply.usage.input_tokens, reply.usage.output_tokens) == (1, 2, 4)
    assert (reply.usage.cost, reply.usage.unpriced_calls) == (Decimal("0.000011"), 0)


async def test_cached_input_is_counted_once(provider: Provider) -> None:
    provider.on(cached_tokens=2)

    reply = await ask(endpoint(provider, input_price=Decimal(1), output_price=Decimal(0)))

    assert (reply.usage.input_tokens, reply.usage.cost) == (2, Decimal("0.000002"))


async def test_a_reply_without_usage_has_no_cost(provider: Provider) -> None:
    provider.on(behaviour="no_usage")

    usage = (await ask(endpoint(provider, input_price=Decimal(1), output_price=Decimal(1)))).usage

    assert (usage.input_tokens, usage.output_tokens, usage.cost, usage.unpriced_calls) == (None, None, None, 1)


@pytest.mark.filterwarnings("ignore::pydantic_ai.exceptions.UsageExtractionFailedWarning")
@pytest.mark.parametrize("tokens", [-1, 10**12])
async def test_a_count_that_cannot_be_is_none(provider: Provider, tokens: int) -> None:
    provider.on(behaviour=f"counted:{tokens}")

    usage = (await ask(endpoint(provider, input_price=Decimal(1), output_price=Decimal(1)))).usage

    assert (usage.input_tokens, usage.cost, usage.unpriced_calls) == (None, None, 1)


async def test_a_model_without_a_price_has_tokens_and_no_cost(provider: Provider) -> None:
    usage = (await ask(endpoint(provider, model_name="gpt-4o"))).usage

    assert (usage.input_tokens, usage.cost, usage.unpriced_calls) == (2, None, 1)


@pytest.mark.parametrize("behaviour", ["empty", "blank"])
async def test_a_blank_answer_is_an_answer(provider: Provider, behaviour: str) -> None:
    provider.on(behaviour=behaviour)

    reply = await ask(endpoint(provider))

    assert (reply.text.strip(), reply.usage.input_tokens) == ("", 2)


async def test_a_structured_answer_is_asked_for_by_its_schema(provider: Provider) -> None:
    reply = await ask(endpoint(provider), wanted=FIELDS)

    asked = provider.asked()[0].body["response_format"]["json_schema"]
    assert asked["schema"]["properties"]["total"] == {
        "anyOf": [{"type": "number"}, {"type": "null"}],
        "description": "in euros",
    }
    assert asked["schema"]["properties"]["extra"]["anyOf"][0]["additionalProperties"] is True
    assert read(reply.text, FIELDS).keys() == {"total", "extra"}


@pytest.mark.parametrize("behaviour", ["fenced", "extra_text", "wrong_json", "wrong_types", "unknown_field"])
async def test_a_structured_answer_comes_as_it_was_given(provider: Provider, behaviour: str) -> None:
    provider.on(behaviour=behaviour, content={"total": 3})
    sent = {
        "fenced": '```json\n{"total": 3}\n```',
        "extra_text": 'Here you are: {"total": 3}',
        "wrong_json": '{"total": 3, oops',
        "wrong_types": '{"total": [{"no": "such"}]}',
        "unknown_field": '{"total": 3, "unasked": 1}',
    }

    reply = await ask(endpoint(provider), wanted=FIELDS)

    assert reply.text == sent[behaviour]


async def test_a_truncated_answer_fails_and_is_kept_and_paid(provider: Provider) -> None:
    provider.on(behaviour="truncated")

    error = await failed(endpoint(provider, input_price=Decimal(1), output_price=Decimal(1)))

    assert (error.kind, error.raw_reply) == (CellErrorKind.INVALID_OUTPUT, "m answers:")
    assert error.message == "The answer was truncated: it reached maxOutputTokens, or the model's own limit."
    assert error.usage.cost == Decimal("0.000004")


async def test_an_answer_that_no_database_can_hold_fails_and_is_kept(provider: Provider) -> None:
    provider.on(content="a\0b")

    error = await failed(endpoint(provider))

    assert (error.kind, error.raw_reply) == (CellErrorKind.INVALID_OUTPUT, "a\0b")


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [("refusal", "I cannot help with that."), ("filtered", "its filter held the answer back.")],
)
async def test_a_refusal_is_told_in_the_providers_words(provider: Provider, behaviour: str, said: str) -> None:
    provider.on(behaviour=behaviour)

    error = await failed(endpoint(provider))

    assert (error.kind, error.message) == (CellErrorKind.PROVIDER, f"The provider refused to answer: {said}")


async def test_an_answer_beyond_the_bound_is_not_read_to_its_end(provider: Provider) -> None:
    provider.on(behaviour="huge:100000")

    error = await failed(endpoint(provider), largest_answer=50_000)

    assert (error.kind, error.message) == (CellErrorKind.INVALID_OUTPUT, "The answer is too large.")
    assert (error.usage.calls, error.usage.unpriced_calls) == (1, 1)


async def test_an_answer_that_no_database_keeps_fails(provider: Provider) -> None:
    provider.on(content="a\0b")

    assert (await failed(endpoint(provider))).kind == CellErrorKind.INVALID_OUTPUT


async def test_the_key_is_read_from_the_variable_that_the_model_names(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODEL_KEY", "secret-1")
    monkeypatch.setenv("OPENAI_API_KEY", "secret-2")
    monkeypatch.setenv("OPENAI_ORG_ID", "organization")

    await ask(endpoint(provider, api_key_variable="MODEL_KEY"))
    await ask(endpoint(provider))

    assert [asked.key for asked in provider.asked()] == ["Bearer secret-1", "Bearer none"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"api_key_variable": "UNSET_KEY"},
            "The variable UNSET_KEY, which holds the key, is not set where the worker runs.",
        ),
        ({"api_key_variable": "ODD_KEY"}, "The variable ODD_KEY holds nothing that could be a key."),
        (
            {"api_key_variable": "ASSAY_HOST"},
            "ASSAY_HOST: Variables of Assay itself hold no keys of models.",
        ),
        ({"base_url": None}, "The model names no variable that holds its key: set its apiKeyVariable."),
        ({"base_url": "http://169.254.169.254"}, "Link-local and metadata addresses cannot be called."),
    ],
)
async def test_a_model_that_cannot_be_called_fails_without_a_call(
    provider: Provider, monkeypatch: pytest.MonkeyPatch, given: Any, message: str
) -> None:
    monkeypatch.setenv("ODD_KEY", "sé\ncret")

    error = await failed(endpoint(provider, **given))

    assert (error.kind, error.message, error.usage.calls) == (CellErrorKind.PROVIDER, message, 0)
    assert provider.asked() == []


async def test_rules_that_came_later_hold_for_the_next_call(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_MODEL_URLS", "https://models.example")

    assert "ASSAY_MODEL_URLS" in (await failed(endpoint(provider))).message


@pytest.mark.parametrize("behaviour", ["400", "401"])
async def test_no_message_holds_the_key(provider: Provider, monkeypatch: pytest.MonkeyPatch, behaviour: str) -> None:
    monkeypatch.setenv("MODEL_KEY", f"answer {behaviour}")
    provider.on(behaviour=behaviour)

    error = await failed(endpoint(provider, api_key_variable="MODEL_KEY"))

    assert f"answer {behaviour}" not in error.message


async def test_images_go_as_they_are_and_other_files_as_their_text(provider: Provider) -> None:
    documents = [
        PICTURE,
        Document("invoice.pdf", "application/pdf", pdf("Total 42")),
        Document("notes.txt", "text/plain", b"paid"),
    ]

    await ask(endpoint(provider), "Read them.", documents)

    prompt, picture, invoice, notes = provider.asked()[0].body["messages"][0]["content"]
    assert prompt == {"type": "text", "text": "Read them."}
    assert picture["image_url"]["url"] == f"data:image/png;base64,{base64.b64encode(PICTURE.data).decode()}"
    assert (invoice["text"], notes["text"]) == ("File invoice.pdf:\nTotal 42", "File notes.txt:\npaid")


async def test_a_file_that_no_model_can_be_given_fails_the_call(provider: Provider) -> None:
    with pytest.raises(CallFailed) as caught:
        await ask(endpoint(provider), documents=[Document("a.bin", "application/zip", b"\xff\xfe")])

    assert caught.value.message == "The file a.bin can neither be attached nor read as text."
    assert provider.asked() == []


def test_the_vocabulary_alone_loads_no_provider() -> None:
    script = "import runs.calls, runs.structured, resolvers.catalog, sys; print('pydantic_ai' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", script], text=True).strip() == "False"


def test_nothing_shows_the_bytes_of_a_document() -> None:
    assert "PNG" not in repr(PICTURE)
    assert "secret" not in repr(Endpoint("openai", "m", api_key_variable="MODEL_KEY"))
