"""What a monitor scrapes at /metrics."""

from functools import cache
from time import perf_counter

from prometheus_client import CONTENT_TYPE_LATEST, Counter, Histogram, disable_created_metrics, generate_latest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

disable_created_metrics()  # type: ignore[no-untyped-call]

REQUESTS = Counter("assay_http_requests", "Requests answered.", ["method", "route", "status"])
SECONDS = Histogram("assay_http_request_seconds", "Time to a whole answer.", ["route"])

# To find a time series among others costs more than to count in it, and they stay for ever anyway.
requests_of = cache(REQUESTS.labels)
seconds_of = cache(SECONDS.labels)

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


def route_of(scope: Scope) -> str:
    """The route's pattern, never the path: each different label is kept for ever."""
    return getattr(scope.get("route"), "path", "other")


def method_of(scope: Scope) -> str:
    return scope["method"] if scope["method"] in METHODS else "other"


class Measured:
    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status = 500

        async def note_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        began = perf_counter()
        try:
            await self.app(scope, receive, note_status)
        finally:
            route = route_of(scope)
            requests_of(method_of(scope), route, status).inc()
            seconds_of(route).observe(perf_counter() - began)


async def metrics(_request: Request) -> Response:
    return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)


routes = [Route("/metrics", metrics)]
