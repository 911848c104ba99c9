"""One metric over one cell."""

from typing import Any

from models.base import AgentKind, MetricKind, ScoreStatus
from runs.metrics import Subject, measure

# More than a screen of words, and as many as a long answer has.
LONG = "Ein längerer Satz, der sich wiederholt — 長い文章です。 " * 400


def value(kind: MetricKind, output: str, expected: str = "", **options: Any) -> bool | float:
    """The one value of a metric over a conversation."""
    subject = Subject(AgentKind.CONVERSATION, output=output, expected_text=expected)
    [outcome] = measure(kind, options, subject).values()
    assert outcome.status == ScoreStatus.SCORED, outcome.reason
    found = outcome.number if outcome.boolean is None else outcome.boolean
    assert found is not None
    return found


def reason(kind: MetricKind, output: str, expected: str = "", **options: Any) -> str:
    """Why there is no value."""
    subject = Subject(AgentKind.CONVERSATION, output=output, expected_text=expected)
    [outcome] = measure(kind, options, subject).values()
    assert outcome.status == ScoreStatus.FAILED
    assert (outcome.number, outcome.boolean, outcome.text) == (None, None, None)
    return outcome.reason or ""
