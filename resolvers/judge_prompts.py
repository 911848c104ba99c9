"""A judge's prompt: text with places for what is judged. Braces that mean themselves are doubled."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from models.base import ReasonCode
from resolvers.errors import InvalidInput
from resolvers.forms import WORDLESS, text

AGENT_RESPONSE = "agent_response"
EXPECTED_OUTPUT = "expected_output"
PLACES = ("input", EXPECTED_OUTPUT, AGENT_RESPONSE, "context")
LONGEST_PROMPT = 100_000
PATH = ("judge_prompt",)

_BRACES = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a text is put in, by what stands between the braces."""

    name: str


def parts(prompt: str) -> Iterator[str | Place]:
    """The prompt in order: what stands there, and the places; a brace without its other is a part of its own."""
    end = 0
    for found in _BRACES.finditer(prompt):
        yield prompt[end : found.start()]
        end = found.end()
        if found[0] in ("{{", "}}"):
            yield found[0][0]
        else:
            yield Place(found[0] if found[1] is None else found[1])
    yield prompt[end:]


def places(prompt: str) -> list[str]:
    return [part.name for part in parts(prompt) if isinstance(part, Place)]


def filled(prompt: str, values: Mapping[str, str]) -> str:
    """In one pass: braces in the values mean nothing."""
    return "".join(values[part.name] if isinstance(part, Place) else part for part in parts(prompt))


def require_prompt(prompt: str) -> None:
    if text(prompt) is None:
        raise _fault(WORDLESS)
    if len(prompt) > LONGEST_PROMPT:
        raise _fault(f"A judge's prompt has at most {LONGEST_PROMPT:,} characters.")
    named = places(prompt)
    unknown = sorted({name[:100] for name in named if name not in PLACES})
    if unknown:
        known = ", ".join(f"{{{place}}}" for place in PLACES)
        wrong = ", ".join(name if name in "{}" and name else f"{{{name}}}" for name in unknown)
        raise _fault(f"Unknown in the prompt: {wrong}. Known are {known}; a brace that means itself is doubled.")
    if AGENT_RESPONSE not in named:
        raise _fault(f"A judge's prompt must hold {{{AGENT_RESPONSE}}}, else it judges nothing.")


def _fault(message: str) -> InvalidInput:
    return InvalidInput(message, PATH, ReasonCode.INVALID_FIELD)
