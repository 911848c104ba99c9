"""A provider of models that answers each chat completion alike, after 200 ms, with as little work as possible."""

import asyncio
import socket
from typing import Any

import orjson
import uvicorn

from bench.peers.running import Announced

SECONDS = 0.2
ANSWER = orjson.dumps(
    {
        "id": "answer",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "An answer."}}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }
)
START = {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]}


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    await asyncio.sleep(SECONDS)
    await send(START)
    await send({"type": "http.response.body", "body": ANSWER})


if __name__ == "__main__":
    config = uvicorn.Config(app, loop="uvloop", http="httptools", lifespan="off", log_config=None, access_log=False)
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        Announced(config).run(sockets=[listener])
