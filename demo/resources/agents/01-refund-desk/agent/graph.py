"""The loop of the refund desk: think, call a tool, think again, answer."""

from collections.abc import Callable
from typing import Any

MOST_STEPS = 12

Message = dict[str, Any]
Model = Callable[[list[Message]], Message]


def answer(model: Model, tools: Any, messages: list[Message]) -> str:
    for _ in range(MOST_STEPS):
        reply = model(messages)
        messages.append(reply)
        if not (calls := reply.get("tool_calls")):
            return str(reply["content"])
        messages.extend(called(tools, call) for call in calls)
    return "I am sorry, I could not finish this. A colleague will call you back."


def called(tools: Any, call: Message) -> Message:
    try:
        result = getattr(tools, call["name"])(**call["arguments"])
    except TimeoutError:
        result = {"error": "timeout", "hint": "try again"}
    return {"role": "tool", "call_id": call["id"], "content": result}
