"""The provider's addresses: those of three protocols, and those that command it from any process.

POST /script takes a rule (tests.provider.rules.Rule, as an object), GET /calls gives {"calls", "most_at_once"},
DELETE /calls forgets rules and calls.
"""

from collections.abc import Awaitable, Callable
from dataclasses import asdict

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.provider.answers import prompt_of
from tests.provider.behaviours import behave
from tests.provider.dialects import DIALECTS, Dialect
from tests.provider.rules import Rule, Script

Endpoint = Callable[[Request], Awaitable[Response]]


def key_of(request: Request) -> str:
    given = (request.headers.get(name) for name in ("authorization", "x-api-key", "x-goog-api-key"))
    return next((key for key in given if key), "")


def create_app(script: Script) -> Starlette:
    def speaking(dialect: Dialect) -> Endpoint:
        async def asked(request: Request) -> Response:
            sent = await request.json()
            body = dialect.asked(sent, request.path_params.get("model", ""))
            model, prompt = body["model"], prompt_of(body)
            rule, behaviour = script.begin(model, prompt, sent, key_of(request))
            try:
                return await behave(request, dialect, body, prompt, rule, behaviour)
            finally:
                script.end(model)

        return asked

    async def take(request: Request) -> Response:
        script.add(Rule(**await request.json()))
        return Response(status_code=204)

    async def calls(request: Request) -> Response:
        asked = [asdict(asked) for asked in script.asked(request.query_params.get("model"))]
        return JSONResponse({"calls": asked, "most_at_once": script.most()})

    async def forget(request: Request) -> Response:
        script.reset()
        return Response(status_code=204)

    return Starlette(
        routes=[
            Route("/v1/chat/completions", speaking(DIALECTS["openai"]), methods=["POST"]),
            Route("/v1/messages", speaking(DIALECTS["anthropic"]), methods=["POST"]),
            Route("/v1beta/models/{model}:generateContent", speaking(DIALECTS["google"]), methods=["POST"]),
            Route("/script", take, methods=["POST"]),
            Route("/calls", calls, methods=["GET"]),
            Route("/calls", forget, methods=["DELETE"]),
        ]
    )
