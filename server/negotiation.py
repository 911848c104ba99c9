from collections.abc import Iterator
from functools import lru_cache

from starlette.requests import Request

JSON = "application/json"
GRAPHQL_RESPONSE = "application/graphql-response+json"
EVENT_STREAM = "text/event-stream"

# What a range of media types is answered with.
ANSWERS = {GRAPHQL_RESPONSE: GRAPHQL_RESPONSE, JSON: JSON, "application/*": JSON, "*/*": JSON}


def media_ranges(accept: str) -> Iterator[tuple[str, float]]:
    for part in accept.lower().split(","):
        media_range, *parameters = (piece.strip() for piece in part.split(";"))
        yield media_range, quality(parameters)


def quality(parameters: list[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0


# Clients send the same few headers again and again.
@lru_cache(maxsize=64)
def preferences(accept: str) -> tuple[str, ...]:
    """The media ranges an Accept header wants, best first; at equal quality in the order given."""
    wanted = [(media_range, weight) for media_range, weight in media_ranges(accept) if weight > 0]
    return tuple(media_range for media_range, _ in sorted(wanted, key=lambda pair: -pair[1]))


def answer_type(accept: str) -> str | None:
    """The media type to answer with, or None where nothing we have is acceptable."""
    if not accept.strip():
        return JSON
    return next((ANSWERS[media_range] for media_range in preferences(accept) if media_range in ANSWERS), None)


def prefers_stream(accept: str) -> bool:
    """Clients that can read both name the stream last: they want it for subscriptions alone."""
    return preferences(accept)[:1] == (EVENT_STREAM,)


def wants_page(accept: str) -> bool:
    return "text/html" in preferences(accept)


def asks_for_page(request: Request) -> bool:
    if request.method != "GET" or "query" in request.query_params:
        return False
    return wants_page(request.headers.get("accept", ""))
