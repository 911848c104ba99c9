"""A project tree with one large Suite: every slot has three Attempts, whose results are of 2 KB each."""

import hashlib
import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

SLOTS = 10_000
ATTEMPTS = 3
AGENT = "agent-1"
SUITE = "large"


def digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def write_tree(root: Path, slots: int = SLOTS) -> Path:
    """Gives the place of the Suite's events."""
    unit = root / "resources/agents/01-agent"
    suite = root / "results/suites" / SUITE
    unit.mkdir(parents=True)
    suite.mkdir(parents=True)
    (root / "resources/registry.toml").write_text(
        f'[[agents]]\nagent_id = "{AGENT}"\npath = "resources/agents/01-agent"\n'
    )
    (unit / "agent.toml").write_text(f'agent_id = "{AGENT}"\n')
    (suite / "plan.json").write_text(json.dumps(plan(slots)))
    numbered = ({**event, "sequence": number} for number, event in zip(count(1), events(slots), strict=False))
    (suite / "events.json").write_text(f"[{','.join(map(json.dumps, numbered))}]")
    return suite / "events.json"


def plan(slots: int) -> dict[str, Any]:
    agents = [{"agent_id": AGENT, "case_count": slots, "source_sha256": digest("source")}]
    configuration = {"sdk": "kuma"}
    return {
        "schema": "abb.suite.plan.v1",
        "suite_id": SUITE,
        "agents": agents,
        "configuration": configuration,
        "provenance_sha256": digest({"agents": agents, "configuration": configuration}),
    }


def events(slots: int) -> Iterator[dict[str, Any]]:
    yield event("suite_started")
    for index in range(slots):
        for number in range(1, ATTEMPTS + 1):
            attempt = {
                "agent_id": AGENT,
                "case_index": index,
                "attempt_id": f"case-{index}-{number}",
                "attempt_number": number,
            }
            yield event("case_attempt_started", **attempt)
            end = "case_completed" if number == ATTEMPTS else "case_attempt_failed"
            yield event(end, **attempt, case_result=result(index, number))
    yield event("suite_completed")


def event(name: str, **fields: Any) -> dict[str, Any]:
    about = {"schema": "abb.suite.event.v1", "suite_id": SUITE, "timestamp": "2026-10-05T06:00:00Z"}
    return {**about, "event": name, **fields}


def result(index: int, number: int) -> dict[str, Any]:
    """As others write them: nested, with numbers and words, and some that are not ASCII."""
    turns = [
        {"role": role, "tokens": index + turn, "score": turn / 7, "text": f"Turn {turn} of {index}: é " + "word " * 30}
        for turn, role in enumerate(("user", "agent") * 4)
    ]
    return {
        "status": "succeeded" if number == ATTEMPTS else "failed",
        "benchmark": {"report": {"status": "pass"}, "provider_mode": "official-container"},
        "turns": turns,
    }
