"""What a call of a model takes and gives, and how it fails: the vocabulary of this package."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Protocol, TypeVar

from pydantic import BaseModel

from models.base import CellErrorKind, FieldType

LONGEST_MESSAGE = 500
# What servers without keys are sent.
NO_KEY = "none"

N = TypeVar("N", int, Decimal)

BeforeCall = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model and where it is called. Prices are US dollars per million tokens."""

    provider: str
    model_name: str
    base_url: str | None = None
    api_key_variable: str | None = None
    input_price: Decimal | None = None
    output_price: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Sampling:
    system_prompt: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A file of a row."""

    name: str
    media_type: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Field:
    """What an automation agent extracts under that name."""

    name: str
    type: FieldType
    description: str | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """What calls took: HTTP requests made, the last one's latency, tokens and US dollars as far as they are known."""

    calls: int = 0
    latency_ms: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: Decimal | None = None
    unpriced_calls: int = 0

    def __add__(self, later: "Usage") -> "Usage":
        return Usage(
            self.calls + later.calls,
            later.latency_ms if later.calls else self.latency_ms,
            _sum(self.input_tokens, later.input_tokens),
            _sum(self.output_tokens, later.output_tokens),
            _sum(self.cost, later.cost),
            self.unpriced_calls + later.unpriced_calls,
        )


def _sum(one: N | None, other: N | None) -> N | None:
    if one is None or other is None:
        return other if one is None else one
    return one + other


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered, as it came; blank text is an answer too."""

    text: str
    usage: Usage


class CallFailed(Exception):
    """No answer that can be used. The message is for users: it holds neither keys nor addresses with credentials."""

    def __init__(self, kind: CellErrorKind, message: str, usage: Usage, raw_reply: str | None = None) -> None:
        self.message = _shown(message)
        super().__init__(self.message)
        self.kind = kind
        self.usage = usage
        self.raw_reply = raw_reply


def _shown(message: str) -> str:
    """As much as is read, without what a database cannot keep: providers' words may be in it."""
    return message.replace("\0", "").encode(errors="replace").decode()[:LONGEST_MESSAGE]


class Caller(Protocol):
    """Whoever can ask a model."""

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
        """Ask once, and again where that may help; `before_call` is awaited before every request after the first.

        With `wanted` the provider is asked for that structure; the text is not read here (runs.structured does).
        """
        ...
