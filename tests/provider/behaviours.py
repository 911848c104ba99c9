"""How the provider behaves: well, or in one of the ways in which providers fail.

ok no_usage counted:INPUT_TOKENS slow:MS huge:BYTES –
empty blank fenced extra_text wrong_json wrong_types unknown_field truncated – refusal filtered –
400 401 429[:RETRY_AFTER] 500 503[:RETRY_AFTER] – hang cut broken_body redirect:URL – raw (the content is the body)
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse

from tests.provider.answers import content_of, words
from tests.provider.dialects import Dialect, Said
from tests.provider.rules import Rule

RESHAPED: Mapping[str, Callable[[str, str], str]] = {
    "huge": lambda content, argument: "x" * int(argument or 16 * 1024 * 1024),
    "empty": lambda content, argument: "",
    "blank": lambda content, argument: " \n",
    "fenced": lambda content, argument: f"```json\n{content}\n```",
    "extra_text": lambda content, argument: f"Here you are: {content}",
    "wrong_json": lambda content, argument: content[:-1] + ", oops",
    "wrong_types": lambda content, argument: json.dumps({name: [{"no": "such"}] for name in json.loads(content)}),
    "unknown_field": lambda content, argument: json.dumps({**json.loads(content), "unasked": 1}),
    "truncated": lambda content, argument: content[: len(content) // 2],
}


async def behave(
    request: Request, dialect: Dialect, body: dict[str, Any], prompt: str, rule: Rule, behaviour: str
) -> Response:
    kind, _, argument = behaviour.partition(":")
    await asyncio.sleep(rule.delay_ms / 1000)
    if kind.isdigit():
        return _refused(int(kind), argument)
    match kind:
        case "hang":
            await _left(request)
            return Response()
        case "cut":
            return StreamingResponse(_half(), headers={"content-length": "1000"}, media_type="application/json")
        case "broken_body":
            return Response("<html>Bad gateway</html>", media_type="application/json")
        case "raw":
            return Response(rule.content, media_type="application/json")
        case "redirect":
            return RedirectResponse(argument, 307)
        case "slow":
            await asyncio.sleep(int(argument) / 1000)
    content = content_of(body, prompt, rule.content)
    if kind in RESHAPED:
        content = RESHAPED[kind](content, argument)
    read = int(argument) if kind == "counted" else words(body)
    said = Said(body["model"], content, kind, read, len(content.split()), rule.cached_tokens)
    return JSONResponse(dialect.answered(said))


def _refused(status: int, retry_after: str) -> Response:
    headers = {"retry-after": retry_after} if retry_after else {}
    return JSONResponse({"error": {"message": f"Told to answer {status}.", "code": None}}, status, headers)


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _half() -> Any:
    yield b'{"id": "cut", "choices": ['
