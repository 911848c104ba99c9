"""Calls as tests make them: quick to give up, and free of settings that a test does not speak of."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pydantic import BaseModel

from runs.calls import CallFailed, Document, Endpoint, Reply, Sampling
from runs.providers import CallPolicy, Providers
from tests.provider import Provider

QUICK: dict[str, Any] = {"timeout": 20.0, "backoff": 0.001, "longest_backoff": 0.01}


@asynccontextmanager
async def calling(**policy: Any) -> AsyncIterator[Providers]:
    providers = Providers(CallPolicy(**{**QUICK, **policy}))
    try:
        yield providers
    finally:
        await providers.aclose()


def endpoint(provider: Provider, **given: Any) -> Endpoint:
    return Endpoint(**{"provider": "openai", "model_name": "m", "base_url": provider.base_url, **given})


async def ask(
    at: Endpoint,
    prompt: str = "How much?",
    documents: Sequence[Document] = (),
    sampling: Sampling | None = None,
    wanted: type[BaseModel] | None = None,
    **policy: Any,
) -> Reply:
    async with calling(**policy) as providers:
        return await providers.call(at, prompt, documents, sampling or Sampling(), wanted)


async def failed(at: Endpoint, prompt: str = "How much?", **policy: Any) -> CallFailed:
    with pytest.raises(CallFailed) as caught:
        await ask(at, prompt, **policy)
    return caught.value
