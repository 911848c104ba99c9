"""Which keys and addresses the models of this installation may use."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from resolvers.addresses import fault_of_base_url

KEYS = "ASSAY_MODEL_KEYS"
URLS = "ASSAY_MODEL_URLS"
# Where each provider is called when a model names no base URL.
OFFICIAL: Mapping[str, str] = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "google": "https://generativelanguage.googleapis.com",
}

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class ModelRules:
    """Patterns of the variables that may hold keys, and the URLs that calls may go to; None allows all."""

    keys: tuple[str, ...] | None = None
    urls: tuple[str, ...] | None = None

    @classmethod
    def of_environment(cls) -> "ModelRules":
        return cls(listed(os.environ.get(KEYS)), listed(os.environ.get(URLS)))

    def fault_of_key_variable(self, name: str) -> str | None:
        if not _VARIABLE.fullmatch(name):
            return "This must be the name of an environment variable."
        if name.upper().startswith("ASSAY_"):
            return "Variables of Assay itself hold no keys of models."
        if self.keys is not None and not any(fnmatchcase(name, pattern) for pattern in self.keys):
            return f"This variable is not among those that may hold keys ({KEYS})."
        return None

    def fault_of_address(self, provider: str, base_url: str | None) -> str | None:
        """What is wrong with where a model is called: its base URL, or its provider's own address."""
        return fault_of_base_url(base_url or OFFICIAL[provider], self.urls)


def listed(value: str | None) -> tuple[str, ...] | None:
    """The entries between commas; None where nothing is said."""
    if value is None or not value.strip():
        return None
    return tuple(entry.strip() for entry in value.split(",") if entry.strip())
