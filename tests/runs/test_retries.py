import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise

import pytest

from models.base import CellErrorKind
from runs.calls import Sampling
from tests.provider import Provider
from tests.runs.calling import ask, calling, endpoint, failed
from tests.waiting import eventually


def pauses(provider: Provider) -> list[float]:
    return [later.at - earlier.at for earlier, later in pairwise(provider.asked())]


async def test_two_rate_limits_that_ask_for_a_second_take_three_calls(provider: Provider) -> None:
    provider.on(behaviours=["429:1", "429:1"])

    reply = await ask(endpoint(provider))

    assert (reply.usage.calls, len(provider.asked())) == (3, 3)
    assert all(pause >= 1 for pause in pauses(provider))


async def test_a_date_is_waited_for(provider: Provider) -> None:
    until = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=2)
    provider.on(behaviours=[f"429:{format_datetime(until, usegmt=True)}"])

    await ask(endpoint(provider))

    assert provider.asked()[1].at >= until.timestamp()


async def test_no_provider_makes_a_call_wait_beyond_the_cap(provider: Provider) -> None:
    provider.on(behaviours=["503:3600"])

    async with asyncio.timeout(20):
        reply = await ask(endpoint(provider), longest_retry_after=0.01)

    assert reply.usage.calls == 2


@pytest.mark.parametrize("behaviour", ["429", "500", "503", "408", "cut"])
async def test_what_may_pass_is_asked_again(provider: Provider, behaviour: str) -> None:
    provider.on(behaviours=[behaviour, behaviour])

    reply = await ask(endpoint(provider))

    assert (reply.text, reply.usage.calls) == ("m answers: How much?", 3)


@pytest.mark.parametrize(
    ("behaviour", "kind", "message"),
    [
        ("429", CellErrorKind.RATE_LIMITED, "The provider limits the rate of calls: Told to answer 429."),
        ("500", CellErrorKind.PROVIDER, "The provider answered with status 500: Told to answer 500."),
        ("503", CellErrorKind.PROVIDER, "The provider answered with status 503: Told to answer 503."),
        ("cut", CellErrorKind.TIMEOUT, "The connection broke before the answer was complete."),
    ],
)
async def test_after_five_calls_it_fails_unbilled(
    provider: Provider, behaviour: str, kind: CellErrorKind, message: str
) -> None:
    provider.on(behaviour=behaviour)

    error = await failed(endpoint(provider))

    assert (error.kind, error.message) == (kind, message)
    assert (error.usage.calls, len(provider.asked())) == (5, 5)
    assert (error.usage.cost, error.usage.unpriced_calls) == (None, 0)


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        ("400", "The provider answered with status 400: Told to answer 400."),
        ("404", "The provider answered with status 404: Told to answer 404."),
        ("401", "The provider refused the key (status 401)."),
        ("403", "The provider refused the key (status 403)."),
        ("broken_body", "The provider's answer has not the form of its protocol."),
    ],
)
async def test_what_will_not_pass_is_asked_once(provider: Provider, behaviour: str, message: str) -> None:
    provider.on(behaviour=behaviour)

    error = await failed(endpoint(provider))

    assert (error.kind, error.message, len(provider.asked())) == (CellErrorKind.PROVIDER, message, 1)


async def test_a_call_that_hangs_is_given_up_and_repeated(provider: Provider) -> None:
    provider.on(behaviours=["hang"])

    reply = await ask(endpoint(provider), timeout=1.0)

    assert reply.usage.calls == 2


async def test_a_provider_that_never_answers_is_a_timeout(provider: Provider) -> None:
    provider.on(behaviour="hang")

    error = await failed(endpoint(provider), timeout=0.3, attempts=2)

    assert (error.kind, error.message) == (CellErrorKind.TIMEOUT, "No answer came within 0.3 seconds.")
    assert error.usage.calls == 2


async def test_a_slow_answer_is_waited_for_and_its_latency_told(provider: Provider) -> None:
    provider.on(behaviours=["500", "slow:200"])

    usage = (await ask(endpoint(provider))).usage

    assert (usage.calls, usage.latency_ms >= 200) == (2, True)


async def test_a_connection_that_is_refused_is_tried_again(provider: Provider) -> None:
    with_nobody = endpoint(provider, base_url="http://127.0.0.1:1/v1")

    error = await failed(with_nobody)

    assert (error.kind, error.message) == (CellErrorKind.PROVIDER, "The provider cannot be reached.")
    assert error.usage.calls == 5


async def test_each_repetition_takes_its_turn_first(provider: Provider) -> None:
    provider.on(behaviours=["500", "500"])
    turns: list[int] = []

    async def turn() -> None:
        turns.append(len(provider.asked()))

    async with calling() as providers:
        await providers.call(endpoint(provider), "How much?", (), Sampling(), None, before_call=turn)

    assert turns == [1, 2]


async def test_a_turn_that_is_refused_ends_the_call(provider: Provider) -> None:
    provider.on(behaviour="500")

    async def refused() -> None:
        raise LookupError("cancelled")

    async with calling() as providers:
        with pytest.raises(LookupError):
            await providers.call(endpoint(provider), "How much?", (), Sampling(), None, before_call=refused)

    assert len(provider.asked()) == 1


@pytest.mark.parametrize("behaviour", ["hang", "429:100"])
async def test_a_call_is_abandoned_at_once(provider: Provider, behaviour: str) -> None:
    provider.on(behaviour=behaviour)

    async def asked() -> bool:
        return len(provider.asked()) == 1

    async with calling() as providers:
        call = asyncio.create_task(providers.call(endpoint(provider), "How much?", (), Sampling(), None))
        await eventually(asked)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    assert len(provider.asked()) == 1


async def test_calls_run_side_by_side(provider: Provider) -> None:
    provider.on(delay_ms=300)

    async with calling() as providers:
        calls = [providers.call(endpoint(provider), f"{number}", (), Sampling(), None) for number in range(20)]
        replies = await asyncio.gather(*calls)

    assert {reply.text for reply in replies} == {f"m answers: {number}" for number in range(20)}
    assert provider.most_at_once("m") > 1
