"""What the provider was told to do, and what it was asked."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from time import time
from typing import Any


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, as it came."""

    at: float
    model: str
    prompt: str
    body: Mapping[str, Any]
    key: str
    behaviour: str


@dataclass(slots=True)
class Rule:
    """What happens to calls of a model (of any, without one) whose prompt contains these words.

    `behaviours` are taken one after the other, then all is well again; `per_prompt` counts them for each prompt on its
    own. `behaviour` alone holds for every call, or for each `fail_every`-th. `content` is what is answered then.
    """

    model: str | None = None
    contains: str = ""
    behaviours: list[str] = field(default_factory=list)
    per_prompt: bool = False
    behaviour: str = "ok"
    fail_every: int = 1
    delay_ms: int = 0
    content: Any = None
    cached_tokens: int = 0
    met: Counter[str] = field(default_factory=Counter)

    def fits(self, model: str, prompt: str) -> bool:
        return self.model in (None, model) and self.contains in prompt

    def next_behaviour(self, prompt: str) -> str:
        place = prompt if self.per_prompt else ""
        self.met[place] += 1
        count = self.met[place]
        if self.behaviours:
            return self.behaviours[count - 1] if count <= len(self.behaviours) else "ok"
        return self.behaviour if count % self.fail_every == 0 else "ok"


class Script:
    """Rules, the newest first; without one that fits, all is well."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.reset()

    def reset(self) -> None:
        with self._lock:
            self._rules: list[Rule] = []
            self._asked: list[Asked] = []
            self._running: Counter[str] = Counter()
            self._most: Counter[str] = Counter()

    def add(self, rule: Rule) -> None:
        with self._lock:
            self._rules.insert(0, rule)

    def begin(self, model: str, prompt: str, body: Mapping[str, Any], key: str) -> tuple[Rule, str]:
        with self._lock:
            rule = next((rule for rule in self._rules if rule.fits(model, prompt)), Rule())
            behaviour = rule.next_behaviour(prompt)
            self._asked.append(Asked(time(), model, prompt, body, key, behaviour))
            self._running[model] += 1
            self._most[model] = max(self._most[model], self._running[model])
            return rule, behaviour

    def end(self, model: str) -> None:
        with self._lock:
            self._running[model] -= 1

    def asked(self, model: str | None = None) -> list[Asked]:
        with self._lock:
            return [asked for asked in self._asked if model in (None, asked.model)]

    def most_at_once(self, model: str) -> int:
        with self._lock:
            return self._most[model]

    def most(self) -> dict[str, int]:
        with self._lock:
            return dict(self._most)
