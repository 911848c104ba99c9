"""What went wrong with a request, in words for users: no key, no address, no stack."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx2
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelConnectionError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelTimeoutError,
    UnexpectedModelBehavior,
    UserError,
)
from pydantic_ai.messages import ModelResponse, TextPart

from models.base import CellErrorKind
from runs.calls import NO_KEY
from runs.network import CONNECT_SECONDS, AddressRefused, AnswerPacked, AnswerTooLarge

LONGEST_QUOTE = 300

E = TypeVar("E", bound=BaseException)

# What the libraries raise for an answer that lacks what they take for granted.
MISREAD = (LookupError, AttributeError, TypeError, ValueError, AssertionError, RecursionError)

_KEYLIKE = re.compile(r"\b(?:sk|pk|gsk|xai|AIza)[-_A-Za-z0-9*]{6,}")
_CREDENTIALS = re.compile(r"(?<=://)[^\s/@]+(?=@)")


@dataclass(frozen=True, slots=True)
class Failure:
    """`repeats`: asking again may help. `answered`: something was answered, and may be billed."""

    kind: CellErrorKind
    message: str
    repeats: bool = False
    retry_after: float | None = None
    sent: bool = True
    answered: bool = False


def failure_of(error: Exception, key: str, timeout: float) -> Failure | None:
    """None for what no provider did: a fault of this program."""
    if caused_by(error, AddressRefused):
        return Failure(CellErrorKind.PROVIDER, "Link-local and metadata addresses cannot be called.", sent=False)
    if caused_by(error, AnswerTooLarge):
        return Failure(CellErrorKind.INVALID_OUTPUT, "The answer is too large.", answered=True)
    if caused_by(error, AnswerPacked):
        return Failure(CellErrorKind.PROVIDER, "The provider packs its answers, though asked not to.", answered=True)
    if caused_by(error, httpx2.ConnectTimeout):
        message = f"The provider cannot be reached within {CONNECT_SECONDS:g} seconds."
        return Failure(CellErrorKind.TIMEOUT, message, repeats=True)
    if caused_by(error, json.JSONDecodeError) or isinstance(error, (UnexpectedModelBehavior, *MISREAD)):
        message = "The provider's answer has not the form of its protocol."
        return Failure(CellErrorKind.PROVIDER, message, answered=True)
    match error:
        case TimeoutError() | ModelTimeoutError():
            return Failure(CellErrorKind.TIMEOUT, f"No answer came within {timeout:g} seconds.", repeats=True)
        case ModelHTTPError():
            return _of_status(error, key)
        case ModelConnectionError() | httpx2.TransportError():
            return _of_connection(error)
        case ModelAPIError():
            return _of_answer(error, key)
        case UserError():
            return Failure(CellErrorKind.PROVIDER, clean(f"The model takes no such request: {error}", key), sent=False)
    return None


def require_text(response: ModelResponse) -> None:
    """Not every library looks at what its provider sends as text."""
    if not all(isinstance(part.content, str) for part in response.parts if isinstance(part, TextPart)):
        raise UnexpectedModelBehavior("A text is none.")


def caused_by(error: BaseException, kind: type[E]) -> bool:
    return any(isinstance(each, kind) for each in _chain(error))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _of_status(error: ModelHTTPError, key: str) -> Failure:
    status = error.status_code
    if isinstance(error, ModelQuotaExceededError):
        return Failure(CellErrorKind.RATE_LIMITED, _quoting("The provider's quota is used up", error, key))
    if status == 429:
        message = _quoting("The provider limits the rate of calls", error, key)
        return Failure(CellErrorKind.RATE_LIMITED, message, repeats=True, retry_after=error.retry_after)
    if status == 408:
        return Failure(CellErrorKind.TIMEOUT, "The provider gave up waiting.", repeats=True)
    if status in (401, 403):
        # Providers quote keys here, or parts of them.
        return Failure(CellErrorKind.PROVIDER, f"The provider refused the key (status {status}).")
    message = _quoting(f"The provider answered with status {status}", error, key)
    return Failure(CellErrorKind.PROVIDER, message, repeats=status >= 500, retry_after=error.retry_after)


def _of_connection(error: ModelConnectionError | httpx2.TransportError) -> Failure:
    if caused_by(error, httpx2.ConnectError):
        return Failure(CellErrorKind.PROVIDER, "The provider cannot be reached.", repeats=True)
    return Failure(CellErrorKind.TIMEOUT, "The connection broke before the answer was complete.", repeats=True)


def _of_answer(error: ModelAPIError, key: str) -> Failure:
    for each in _chain(error):
        if isinstance(each, httpx2.HTTPStatusError) and each.response.is_redirect:
            return Failure(CellErrorKind.PROVIDER, "The provider redirects calls, and redirects are not followed.")
    return Failure(CellErrorKind.PROVIDER, _quoting("The provider failed", error, key))


def _quoting(said: str, error: ModelAPIError, key: str) -> str:
    quote = _words_of(error.body)
    return clean(f"{said}: {quote}" if quote else f"{said}.", key)


def _words_of(body: Any) -> str | None:
    """What a provider says in its error: {"error": {"message"}}, or the inner object alone."""
    if not isinstance(body, Mapping):
        return None
    inner = body.get("error", body)
    words = inner.get("message") if isinstance(inner, Mapping) else inner
    return words if isinstance(words, str) else None


def clean(message: str, key: str) -> str:
    """A provider's words without what they may give away."""
    shown = message.replace(key, "…") if key not in ("", NO_KEY) else message
    shown = _CREDENTIALS.sub("…", _KEYLIKE.sub("…", shown))
    shown = " ".join(shown.replace("\0", "").split())
    return shown.encode(errors="replace").decode()[:LONGEST_QUOTE]
