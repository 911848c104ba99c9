"""Calls of models over the network, repeated where that may help."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

from pydantic import BaseModel
from pydantic_ai.direct import model_request
from pydantic_ai.messages import (
    BinaryContent,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt, wait_random_exponential

from models.base import CellErrorKind
from resolvers.forms import integer, storable_text
from resolvers.model_rules import ModelRules
from resolvers.prices import Priced, Tokens, cost_of
from runs import figures
from runs.calls import BeforeCall, CallFailed, Document, Endpoint, Reply, Sampling, Usage
from runs.documents import Unreadable, is_attached, labelled, require_attachable, text_of
from runs.endpoints import Unusable, key_of, model_of, takes_pdf, takes_schema
from runs.failures import Failure, clean, failure_of, require_text
from runs.network import LARGEST_ANSWER, client


@dataclass(frozen=True, slots=True)
class CallPolicy:
    """How long one request may take, and when it is repeated; in seconds."""

    timeout: float = 120.0
    attempts: int = 5
    backoff: float = 0.5
    longest_backoff: float = 30.0
    longest_retry_after: float = 120.0
    largest_answer: int = LARGEST_ANSWER


class Providers:
    """Calls models of all providers through one pool of connections. Implements runs.calls.Caller."""

    def __init__(
        self, policy: CallPolicy | None = None, rules: Callable[[], ModelRules] = ModelRules.of_environment
    ) -> None:
        self._policy = policy or CallPolicy()
        self._rules = rules
        self._client = client(self._policy.timeout, self._policy.largest_answer)
        self._models: dict[tuple[str, str, str | None, str], Model] = {}

    async def aclose(self) -> None:
        await self._client.aclose()

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
            key = key_of(endpoint, self._rules())
            content = await _content(prompt, documents, takes_pdf(endpoint))
        except (Unusable, Unreadable) as error:
            raise CallFailed(CellErrorKind.PROVIDER, error.reason, Usage()) from None
        model = await self._model(endpoint, key)
        asking = _Asking(
            self._policy, endpoint, model, _messages(content, sampling), _settings(sampling), wanted, key, before_call
        )
        response = await asking.answered()
        return _reply(response, asking.usage(_priced(endpoint), response), key)

    async def _model(self, endpoint: Endpoint, key: str) -> Model:
        place = (endpoint.provider, endpoint.model_name, endpoint.base_url, key)
        if place not in self._models:
            self._models[place] = await asyncio.to_thread(model_of, endpoint, key, self._client)
        return self._models[place]


class _Failed(Exception):
    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class _Asking:
    """One question, and the requests that it took."""

    def __init__(
        self,
        policy: CallPolicy,
        endpoint: Endpoint,
        model: Model,
        messages: list[ModelRequest],
        settings: ModelSettings,
        wanted: type[BaseModel] | None,
        key: str,
        before_call: BeforeCall | None,
    ) -> None:
        self._policy = policy
        self._seconds = figures.SECONDS.labels(endpoint.provider)
        self._model = model
        self._messages = messages
        self._settings = settings
        self._parameters = _parameters(model, wanted)
        self._key = key
        self._before_call = before_call
        self._calls = 0
        self._latency_ms = 0

    async def answered(self) -> ModelResponse:
        retrying = AsyncRetrying(
            stop=stop_after_attempt(self._policy.attempts),
            wait=self._pause,
            retry=retry_if_exception(lambda error: isinstance(error, _Failed) and error.failure.repeats),
            reraise=True,
        )
        try:
            return await retrying(self._ask)
        except _Failed as error:
            failure = error.failure
            usage = Usage(self._calls, self._latency_ms, unpriced_calls=int(failure.answered))
            raise CallFailed(failure.kind, failure.message, usage) from None

    def usage(self, priced: Priced, response: ModelResponse) -> Usage:
        counted = response.usage
        if not _is_counted(counted):
            return Usage(self._calls, self._latency_ms, unpriced_calls=1)
        tokens = Tokens(
            counted.input_tokens, counted.output_tokens, counted.cache_read_tokens, counted.cache_write_tokens
        )
        cost = cost_of(priced, tokens)
        return Usage(self._calls, self._latency_ms, tokens.input_tokens, tokens.output_tokens, cost, int(cost is None))

    async def _ask(self) -> ModelResponse:
        if self._calls and self._before_call is not None:
            await self._before_call()
        started = perf_counter()
        self._calls += 1
        try:
            async with asyncio.timeout(self._policy.timeout):
                response = await model_request(
                    self._model,
                    self._messages,
                    model_settings=self._settings,
                    model_request_parameters=self._parameters,
                )
            require_text(response)
            return response
        except Exception as error:
            failure = failure_of(error, self._key, self._policy.timeout)
            if failure is None:
                raise
            self._calls -= not failure.sent
            raise _Failed(failure) from error
        finally:
            seconds = perf_counter() - started
            self._latency_ms = round(seconds * 1000)
            self._seconds.observe(seconds)

    def _pause(self, state: RetryCallState) -> float:
        """Full jitter, after whatever the provider asked for.

        Source: M. Brooker, Exponential Backoff And Jitter, AWS Architecture Blog (2015).
        """
        jitter = wait_random_exponential(multiplier=self._policy.backoff, max=self._policy.longest_backoff)(state)
        error = state.outcome.exception() if state.outcome else None
        asked = error.failure.retry_after if isinstance(error, _Failed) else None
        return jitter + min(asked or 0.0, self._policy.longest_retry_after)


def _is_counted(usage: RequestUsage) -> bool:
    """Whether a provider counted at all, and in numbers that can be."""
    if usage.unmeasured_requests or not (usage.input_tokens or usage.output_tokens):
        return False
    return integer(usage.input_tokens) is not None and integer(usage.output_tokens) is not None


async def _content(prompt: str, documents: Sequence[Document], takes_pdf: bool) -> list[UserContent]:
    content: list[UserContent] = [prompt]
    for document in documents:
        if is_attached(document, takes_pdf):
            require_attachable(document)
            content.append(BinaryContent(document.data, media_type=document.media_type))
        else:
            content.append(labelled(document, await text_of(document)))
    return content


def _messages(content: list[UserContent], sampling: Sampling) -> list[ModelRequest]:
    asked = UserPromptPart(content[0] if len(content) == 1 and isinstance(content[0], str) else content)
    if not sampling.system_prompt:
        return [ModelRequest(parts=[asked])]
    return [ModelRequest(parts=[SystemPromptPart(sampling.system_prompt), asked])]


def _settings(sampling: Sampling) -> ModelSettings:
    settings = ModelSettings()
    if sampling.temperature is not None:
        settings["temperature"] = sampling.temperature
    if sampling.top_p is not None:
        settings["top_p"] = sampling.top_p
    if sampling.max_output_tokens is not None:
        settings["max_tokens"] = sampling.max_output_tokens
    return settings


def _parameters(model: Model, wanted: type[BaseModel] | None) -> ModelRequestParameters:
    """Structured output where the model has it for such a schema, else the schema among its instructions."""
    if wanted is None:
        return ModelRequestParameters()
    schema = wanted.model_json_schema()
    asked = OutputObjectDefinition(schema, name=wanted.__name__.lower())
    native = model.profile.get("supports_json_schema_output", False) and takes_schema(model, schema)
    return ModelRequestParameters(output_mode="native" if native else "prompted", output_object=asked)


def _priced(endpoint: Endpoint) -> Priced:
    return Priced(
        endpoint.provider, endpoint.model_name, endpoint.base_url, endpoint.input_price, endpoint.output_price
    )


def _reply(response: ModelResponse, usage: Usage, key: str) -> Reply:
    text = response.text or ""
    if storable_text(text) is None:
        message = "The answer holds NUL or half of a surrogate pair."
        raise CallFailed(CellErrorKind.INVALID_OUTPUT, message, usage, text)
    if response.finish_reason == "length":
        message = "The answer was truncated: it reached maxOutputTokens, or the model's own limit."
        raise CallFailed(CellErrorKind.INVALID_OUTPUT, message, usage, text)
    if response.finish_reason == "content_filter":
        refusal = (response.provider_details or {}).get("refusal") or "its filter held the answer back."
        message = clean(f"The provider refused to answer: {refusal}", key)
        raise CallFailed(CellErrorKind.PROVIDER, message, usage, text or None)
    return Reply(text, usage)
