"""What calls cost: by the model's own prices, else by published ones, else nobody knows."""

import re
from dataclasses import dataclass
from decimal import Decimal

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Tokens:
    """What one call took. Those read from or written to the provider's cache are among the input."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Priced:
    """What is known of a model's prices, in US dollars per million tokens."""

    provider: str
    model_name: str
    base_url: str | None = None
    input_price: Decimal | None = None
    output_price: Decimal | None = None


def cost_of(model: Priced, tokens: Tokens) -> Decimal | None:
    """US dollars, None where no price is known. Own prices count all tokens alike, cached ones too."""
    read = _own(model.input_price, tokens.input_tokens)
    written = _own(model.output_price, tokens.output_tokens)
    if read is None or written is None:
        published = _published(model, tokens)
        if published is None:
            return None
        read = published[0] if read is None else read
        written = published[1] if written is None else written
    return read + written


def has_price(model: Priced) -> bool:
    """Whether the cost of its calls will be known."""
    return cost_of(model, Tokens(1, 1)) is not None


def _own(price: Decimal | None, tokens: int) -> Decimal | None:
    return None if price is None else price * tokens / MILLION


def _published(model: Priced, tokens: Tokens) -> tuple[Decimal, Decimal] | None:
    """Prices of input and output. Behind a base URL they are those of who is known to answer there, or none."""
    # Its list of prices is large: only who asks for one loads it.
    from genai_prices import calc_price

    try:
        if model.base_url is None:
            found = calc_price(tokens, model.model_name, provider_id=model.provider)
        else:
            found = calc_price(tokens, model.model_name, provider_api_url=model.base_url)
    except (LookupError, ValueError):
        # The model is not listed, or its provider's counts contradict each other.
        return None
    if model.base_url is not None and not _is_at(found.provider.api_pattern, model.base_url):
        return None
    return found.input_price, found.output_price


def _is_at(place: str, url: str) -> bool:
    """Whether an address is in that place, and not merely spelled like it as far as the pattern goes."""
    return re.fullmatch(f"(?:{place})(?:[:/?#].*)?", url) is not None
