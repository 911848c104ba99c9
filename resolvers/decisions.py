"""A decision as its caller sends it, and where its form can be at fault."""

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from models.base import ReasonCode
from resolvers.errors import InvalidInput
from resolvers.forms import WORDLESS, text
from resolvers.locks import Identity
from resolvers.reasons import MESSAGES

# Places in the order of checks, where the form of a decision may be at fault: judgement.reason names them all.
DECISIONS, CONTRADICTION, REVIEW = 6, 7, 8


@dataclass(frozen=True, slots=True)
class Decision:
    """What a caller decided, under the identity that is claimed."""

    suite_id: str
    agent_id: str
    case_index: int
    attempt_id: str
    defect_id: str
    # Of these, null is what lacks its form in a document; `fault` says so then.
    ground_truth_sha256: str | None
    case_sha256: str | None
    result_sha256: str | None
    case_reproduced: bool | None
    judge_detected: bool | None
    reviewed_by: str | None
    reviewed_at: datetime | None
    rationale: str | None
    # The decision that was left out, where null would have meant that there is none.
    omitted: str | None = None
    # The first fault of form that a reader found, and its place in the order of checks.
    fault: tuple[int, ReasonCode] | None = None

    @property
    def identity(self) -> Identity:
        return (self.suite_id, self.agent_id, self.case_index, self.attempt_id, self.defect_id)

    @property
    def words(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in WORDS)


WORDS = tuple(field.name for field in fields(Decision))[5:13]


def identity_fault(decision: Decision) -> InvalidInput | None:
    """The first part of an identity that is none."""
    for name in ("suite_id", "agent_id", "attempt_id", "defect_id"):
        if text(getattr(decision, name)) is None:
            return InvalidInput(WORDLESS, (name,), ReasonCode.INVALID_FIELD)
    if decision.case_index < 0:
        return InvalidInput("An index must be 0 or more.", ("case_index",), ReasonCode.INVALID_FIELD)
    return None


def form_fault(decision: Decision) -> tuple[int, InvalidInput] | None:
    """The first fault of form beyond the identity, and its place in the order of checks."""
    if decision.fault:
        step, code = decision.fault
        return step, InvalidInput(MESSAGES[code], (), code)
    if decision.omitted:
        message = "A decision must be given: true, false, or null for none."
        return DECISIONS, InvalidInput(message, (decision.omitted,), ReasonCode.INVALID_FIELD)
    if decision.judge_detected and not decision.case_reproduced:
        message = MESSAGES[ReasonCode.INVALID_DECISION]
        return CONTRADICTION, InvalidInput(message, ("judge_detected",), ReasonCode.INVALID_DECISION)
    for name in ("reviewed_by", "rationale"):
        if text(getattr(decision, name)) is None:
            return REVIEW, InvalidInput(WORDLESS, (name,), ReasonCode.INVALID_FIELD)
    return None


def is_decided(decision: Decision, *, has_report: bool) -> bool:
    """Both decisions, or the Case's where no report was saved that a Judge could have detected anything in."""
    if decision.case_reproduced is None:
        return False
    return decision.judge_detected is not None or not has_report
