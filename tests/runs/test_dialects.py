from decimal import Decimal

import pytest

from models.base import CellErrorKind, FieldType
from runs.calls import CallFailed, Document, Endpoint, Field, Sampling
from runs.structured import read, wanted_fields
from tests.provider import Provider
from tests.runs.calling import ask, calling, failed
from tests.runs.pdf import pdf

SAMPLING = Sampling("Be brief.", 0.5, max_output_tokens=100)
SIMPLE = wanted_fields([Field("total", FieldType.NUMBER), Field("payer", FieldType.STRING)])
OPEN = wanted_fields([Field("total", FieldType.NUMBER), Field("extra", FieldType.OBJECT)])


@pytest.fixture(params=["anthropic", "google"])
def other(request: pytest.FixtureRequest, provider: Provider) -> Endpoint:
    model = {"anthropic": "claude-opus-test", "google": "gemini-test"}[request.param]
    return Endpoint(request.param, model, provider.root, None, Decimal(1), Decimal(2))


async def test_other_protocols_answer_and_count_alike(other: Endpoint, provider: Provider) -> None:
    provider.on(cached_tokens=1)

    reply = await ask(other, sampling=SAMPLING)

    assert reply.text == f"{other.model_name} answers: How much?"
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.calls) == (4, 4, 1)
    assert reply.usage.cost == Decimal("0.000012")


async def test_other_protocols_carry_the_key_that_the_model_names(
    other: Endpoint, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODEL_KEY", "secret-1")
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GOOGLE_API_KEY"):
        monkeypatch.setenv(name, "secret-2")

    await ask(Endpoint(other.provider, other.model_name, other.base_url, "MODEL_KEY"), sampling=SAMPLING)

    assert provider.asked()[0].key.removeprefix("Bearer ") == "secret-1"


async def test_pdfs_are_attached_where_the_protocol_takes_them(other: Endpoint, provider: Provider) -> None:
    await ask(other, documents=[Document("a.pdf", "application/pdf", pdf("Total"))], sampling=SAMPLING)

    assert "application/pdf" in str(provider.asked()[0].body)


async def test_fields_that_may_hold_anything_are_asked_for_in_words(other: Endpoint, provider: Provider) -> None:
    provider.on(content={"total": 1, "extra": {"a": 2}})

    reply = await ask(other, sampling=SAMPLING, wanted=OPEN)

    assert read(reply.text, OPEN) == {"total": 1, "extra": {"a": 2}}
    assert "responseJsonSchema" not in str(provider.asked()[0].body)
    assert "additionalProperties" in str(provider.asked()[0].body)


async def test_google_is_asked_by_its_schema(provider: Provider) -> None:
    reply = await ask(Endpoint("google", "gemini-test", provider.root), sampling=SAMPLING, wanted=SIMPLE)

    assert read(reply.text, SIMPLE).keys() == {"total", "payer"}
    assert provider.asked()[0].body["generationConfig"]["responseJsonSchema"]["properties"].keys() == {"total", "payer"}


async def test_anthropic_is_asked_by_its_schema(provider: Provider) -> None:
    model = Endpoint("anthropic", "claude-opus-4-8", provider.root)

    reply = await ask(model, sampling=Sampling(max_output_tokens=100), wanted=SIMPLE)

    assert read(reply.text, SIMPLE).keys() == {"total", "payer"}
    assert provider.asked()[0].body["output_config"]["format"]["schema"]["properties"].keys() == {"total", "payer"}


@pytest.mark.parametrize("behaviour", ["429", "500", "503:0", "cut"])
async def test_other_protocols_are_asked_again_alike(other: Endpoint, provider: Provider, behaviour: str) -> None:
    provider.on(behaviours=[behaviour, behaviour])

    reply = await ask(other, sampling=SAMPLING)

    assert (reply.usage.calls, len(provider.asked())) == (3, 3)


@pytest.mark.parametrize(
    ("behaviour", "kind"),
    [
        ("400", CellErrorKind.PROVIDER),
        ("401", CellErrorKind.PROVIDER),
        ("refusal", CellErrorKind.PROVIDER),
        ("broken_body", CellErrorKind.PROVIDER),
        ("truncated", CellErrorKind.INVALID_OUTPUT),
    ],
)
async def test_other_protocols_fail_alike(
    other: Endpoint, provider: Provider, behaviour: str, kind: CellErrorKind
) -> None:
    provider.on(behaviour=behaviour)

    async with calling() as providers:
        with pytest.raises(CallFailed) as caught:
            await providers.call(other, "How much?", (), SAMPLING, None)

    assert (caught.value.kind, len(provider.asked())) == (kind, 1)


async def test_other_protocols_are_refused_metadata_addresses(other: Endpoint) -> None:
    error = await failed(Endpoint(other.provider, other.model_name, "http://[fd00:ec2::254]"))

    assert error.message == "Link-local and metadata addresses cannot be called."
