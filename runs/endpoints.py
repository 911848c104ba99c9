"""Models as pydantic-ai calls them, each with its provider's protocol and nothing from the environment but its key."""

import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx2
from openai import AsyncOpenAI
from pydantic_ai.models import Model
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

from resolvers.model_rules import OFFICIAL, ModelRules
from runs.calls import NO_KEY, Endpoint

# Anthropic refuses schemas with more.
MOST_UNIONS = 16


class Unusable(Exception):
    """A model that cannot be called as it is set. The reason is for users."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def key_of(endpoint: Endpoint, rules: ModelRules) -> str:
    """The key of a model that the rules allow. Raises Unusable, which names the variable and nothing else."""
    fault = rules.fault_of_address(endpoint.provider, endpoint.base_url)
    if fault:
        raise Unusable(fault)
    variable = endpoint.api_key_variable
    if variable is None:
        if endpoint.base_url is None:
            raise Unusable("The model names no variable that holds its key: set its apiKeyVariable.")
        return NO_KEY
    fault = rules.fault_of_key_variable(variable)
    if fault:
        raise Unusable(f"{variable}: {fault}")
    key = os.environ.get(variable, "").strip()
    if not key:
        raise Unusable(f"The variable {variable}, which holds the key, is not set where the worker runs.")
    if not (key.isascii() and key.isprintable()):
        raise Unusable(f"The variable {variable} holds nothing that could be a key.")
    return key


def takes_pdf(endpoint: Endpoint) -> bool:
    """Servers that merely speak OpenAI's protocol take images at most."""
    return endpoint.provider != "openai" or is_openai(endpoint)


def is_openai(endpoint: Endpoint) -> bool:
    host = urlsplit(endpoint.base_url or OFFICIAL["openai"]).hostname or ""
    return endpoint.provider == "openai" and f".{host}".endswith(".openai.com")


def takes_schema(model: Model, schema: Mapping[str, Any]) -> bool:
    """Whether the provider's own structured output can hold to it: only OpenAI's leaves values open, or many null."""
    return isinstance(model, OpenAIChatModel) or not (_is_open(schema) or _unions(schema) > MOST_UNIONS)


def _is_open(schema: Any) -> bool:
    """Whether it has objects or lists that may hold anything."""
    if isinstance(schema, Mapping):
        anything = schema.get("additionalProperties") is True or schema.get("items") == {}
        return anything or any(_is_open(part) for part in schema.values())
    return isinstance(schema, list) and any(_is_open(part) for part in schema)


def _unions(schema: Mapping[str, Any]) -> int:
    return sum("anyOf" in part for part in schema.get("properties", {}).values())


def model_of(endpoint: Endpoint, key: str, client: httpx2.AsyncClient) -> Model:
    """Each provider's library takes seconds to load, and is loaded with its first model: call this in a thread.

    Addresses are always given: the libraries would look for others in the environment.
    """
    url = endpoint.base_url or OFFICIAL[endpoint.provider]
    match endpoint.provider:
        case "anthropic":
            return _anthropic(endpoint.model_name, url, key, client)
        case "google":
            return _google(endpoint.model_name, url, key, client)
        case _:
            return _openai(endpoint, AsyncOpenAI(api_key=key, base_url=url, http_client=client, max_retries=0))


def _anthropic(name: str, url: str, key: str, client: httpx2.AsyncClient) -> Model:
    from anthropic import AsyncAnthropic
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    anthropic = AsyncAnthropic(api_key=key, base_url=url, http_client=client, max_retries=0)
    return AnthropicModel(name, provider=AnthropicProvider(anthropic_client=anthropic))


def _google(name: str, url: str, key: str, client: httpx2.AsyncClient) -> Model:
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    return GoogleModel(name, provider=GoogleProvider(api_key=key, base_url=url, http_client=client))


def _openai(endpoint: Endpoint, client: AsyncOpenAI) -> Model:
    # The environment may name an organization, which is nobody else's business, nor the key's.
    client.organization = client.project = None
    if is_openai(endpoint):
        return OpenAIChatModel(endpoint.model_name, provider=OpenAIProvider(openai_client=client))
    compatible = OpenAICompatibleProvider("openai-compatible", openai_client=client)
    # Its name of the limit is the older one, which all of them know.
    profile = OpenAIModelProfile(openai_chat_supports_max_completion_tokens=False)
    return OpenAIChatModel(endpoint.model_name, provider=compatible, profile=profile)
