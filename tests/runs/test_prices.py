from decimal import Decimal
from typing import Any

import pytest

from models.base import CellErrorKind
from resolvers.prices import Priced, Tokens, cost_of, has_price
from runs.calls import LONGEST_MESSAGE, CallFailed, Usage

MILLION = 1_000_000


def priced(**given: Any) -> Priced:
    return Priced(**{"provider": "openai", "model_name": "gpt-4o", **given})


def test_own_prices_are_per_million_tokens() -> None:
    model = priced(input_price=Decimal("2.5"), output_price=Decimal(10))

    assert cost_of(model, Tokens(1_000, 100)) == Decimal("0.0035")


def test_an_own_price_counts_cached_input_alike() -> None:
    model = priced(input_price=Decimal(1), output_price=Decimal(1))

    assert cost_of(model, Tokens(MILLION, 0, cache_read_tokens=MILLION)) == 1


def test_a_price_of_zero_is_a_price() -> None:
    assert cost_of(priced(model_name="unheard-of", input_price=Decimal(0), output_price=Decimal(0)), Tokens(9, 9)) == 0


def test_a_published_price_stands_in_for_one_that_is_missing() -> None:
    published = cost_of(priced(), Tokens(0, MILLION))

    assert published is not None
    assert cost_of(priced(input_price=Decimal(7)), Tokens(MILLION, MILLION)) == published + 7


def test_published_prices_know_cached_input() -> None:
    fresh, cached = (cost_of(priced(), Tokens(MILLION, 0, read)) for read in (0, MILLION))

    assert fresh is not None
    assert cached is not None
    assert 0 < cached < fresh


@pytest.mark.parametrize(
    "model",
    [
        priced(model_name="unheard-of"),
        priced(model_name="unheard-of", input_price=Decimal(1)),
        priced(base_url="http://127.0.0.1:8000/v1"),
        priced(base_url="https://models.example/v1"),
        priced(base_url="https://api.openai.com.models.example/v1"),
    ],
)
def test_no_price_is_guessed(model: Priced) -> None:
    assert cost_of(model, Tokens(1, 1)) is None
    assert not has_price(model)


def test_who_is_known_to_answer_at_a_base_url_has_a_published_price() -> None:
    assert has_price(priced(model_name="deepseek-chat", base_url="https://api.deepseek.com/v1"))


def test_counts_that_contradict_each_other_have_no_published_price() -> None:
    assert cost_of(priced(), Tokens(1, 1, cache_read_tokens=5)) is None


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (Usage(), Usage(), Usage()),
        (Usage(1, 5, 10, 2, Decimal(1)), Usage(), Usage(1, 5, 10, 2, Decimal(1))),
        (
            Usage(2, 5, None, None, None, 1),
            Usage(1, 7, 10, 2, Decimal(1)),
            Usage(3, 7, 10, 2, Decimal(1), 1),
        ),
        (Usage(1, 5, 1, 1, Decimal(1)), Usage(1, 7, 2, 3, Decimal(4)), Usage(2, 7, 3, 4, Decimal(5))),
    ],
)
def test_usage_adds_up_and_the_unknown_stays_out(one: Usage, other: Usage, both: Usage) -> None:
    assert one + other == both


def test_a_message_is_short_and_can_be_kept() -> None:
    error = CallFailed(CellErrorKind.PROVIDER, "a\0\ud800" + "x" * 1_000, Usage())

    assert error.message.startswith("a?x")
    assert len(error.message) == LONGEST_MESSAGE
