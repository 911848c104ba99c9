"""The one spelling of a JSON document that its digest is taken of."""

import hashlib
import json
from typing import Any

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def spelled(value: Any) -> str:
    """Keys sorted, no spaces, numbers as Python prints them; lone surrogates stay."""
    return _ENCODER.encode(value)


def digest_text(text: str) -> str:
    """Raises UnicodeEncodeError where a lone surrogate leaves the text without bytes."""
    return hashlib.sha256(text.encode()).hexdigest()
