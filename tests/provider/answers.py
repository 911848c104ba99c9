"""Answers that follow from the prompt alone: the same question gets the same answer."""

import json
from datetime import date, timedelta
from hashlib import sha256
from typing import Any


def prompt_of(body: dict[str, Any]) -> str:
    """The words of the last message of a user."""
    asked = [message["content"] for message in body["messages"] if message["role"] == "user"]
    return _words(asked[-1]) if asked else ""


def _words(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part["type"] == "text")


def content_of(body: dict[str, Any], prompt: str, given: Any) -> str:
    if given is not None:
        return given if isinstance(given, str) else json.dumps(given)
    schema = schema_of(body)
    return f"{body['model']} answers: {prompt}" if schema is None else json.dumps(value_of(schema, prompt))


def schema_of(body: dict[str, Any]) -> dict[str, Any] | None:
    asked: dict[str, Any] | None = body.get("response_format", {}).get("json_schema")
    return None if asked is None else asked["schema"]


def value_of(schema: dict[str, Any], seed: str) -> Any:
    """A value that the schema allows."""
    if "anyOf" in schema:
        return value_of(next(kind for kind in schema["anyOf"] if kind.get("type") != "null"), seed)
    number = int.from_bytes(sha256(seed.encode()).digest()[:4])
    match schema.get("type"):
        case "object":
            properties: dict[str, Any] = schema.get("properties", {})
            return {name: value_of(kind, f"{name} of {seed}") for name, kind in properties.items()}
        case "array":
            return [value_of(schema.get("items", {}), f"{seed}, {place}") for place in range(2)]
        case "boolean":
            return number % 2 == 0
        case "number" | "integer":
            least = schema.get("minimum", 0)
            return least + number % (int(schema.get("maximum", least + 100) - least) + 1)
        case _ if schema.get("format") == "date":
            return (date(2026, 1, 1) + timedelta(number % 365)).isoformat()
        case _:
            return seed


def words(body: dict[str, Any]) -> int:
    """Input tokens here: words of all messages."""
    return sum(len(_words(message["content"] or "").split()) for message in body["messages"])
