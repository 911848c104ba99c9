"""The provider's addresses: OpenAI's, and those that command it from any process.

POST /script takes a rule (tests.provider.rules.Rule, as an object), GET /calls gives {"calls", "most_at_once"},
DELETE /calls forgets rules and calls.
"""

from dataclasses import asdict

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.provider.answers import prompt_of
from tests.provider.behaviours import behave
from tests.provider.rules import Rule, Script


def create_app(script: Script) -> Starlette:
    async def completions(request: Request) -> Response:
        body = await request.json()
        prompt = prompt_of(body)
        rule, behaviour = script.begin(body["model"], prompt, body, request.headers.get("authorization", ""))
        try:
            return await behave(request, body, prompt, rule, behaviour)
        finally:
            script.end(body["model"])

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
            Route("/v1/chat/completions", completions, methods=["POST"]),
            Route("/script", take, methods=["POST"]),
            Route("/calls", calls, methods=["GET"]),
            Route("/calls", forget, methods=["DELETE"]),
        ]
    )
