"""Records of sidecars as decisions through the API: what each of them comes to."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from interchange.records import Notice, SidecarRecord
from models.base import ReasonCode
from resolvers import recording
from resolvers.acting import Acting
from resolvers.decisions import Decision
from resolvers.errors import Conflict, InvalidInput, Refused, RuleError
from resolvers.reasons import MESSAGES
from resolvers.recording import Outcome

Step = Callable[[Sequence[Decision]], Awaitable[list[Outcome]]]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one record came to, by its place in the sidecar; without a code it stands."""

    index: int
    created: bool = False
    code: ReasonCode | None = None
    message: str | None = None

    def notice(self, suite_id: str) -> Notice | None:
        if self.code is None:
            return None
        return Notice(self.code, self.message or "", suite_id=suite_id, assessment_index=self.index)


async def record_claims(acting: Acting, suite_id: str, claims: Sequence[SidecarRecord]) -> list[Verdict]:
    """Writes what is acceptable, as `recordAssessment` would one by one; records in conflict are all refused."""
    return await _decided(lambda given: recording.record(acting, given), suite_id, claims)


async def check_claims(connection: AsyncConnection, suite_id: str, claims: Sequence[SidecarRecord]) -> list[Verdict]:
    """What `record_claims` would answer, without writing."""
    return await _decided(lambda given: recording.check(connection, given), suite_id, claims)


def notices_of(suite_id: str, verdicts: Iterable[Verdict]) -> list[Notice]:
    return [notice for verdict in verdicts if (notice := verdict.notice(suite_id))]


async def _decided(step: Step, suite_id: str, claims: Sequence[SidecarRecord]) -> list[Verdict]:
    alone, conflicts = _apart(claims)
    outcomes = await step([_decision(suite_id, claim) for claim in alone])
    verdicts = [_verdict(claim.index, outcome) for claim, outcome in zip(alone, outcomes, strict=True)]
    return sorted([*verdicts, *conflicts], key=lambda verdict: verdict.index)


def _apart(claims: Iterable[SidecarRecord]) -> tuple[list[SidecarRecord], list[Verdict]]:
    """Claims whose identity is theirs alone, and a verdict for each identity that several records decide."""
    groups: dict[tuple[Any, ...], list[SidecarRecord]] = defaultdict(list)
    for claim in claims:
        groups[claim.agent_id, claim.case_index, claim.attempt_id, claim.defect_id].append(claim)
    code = ReasonCode.CONFLICTING_ASSESSMENTS
    conflicts = [Verdict(min(c.index for c in g), code=code, message=MESSAGES[code]) for g in groups.values() if g[1:]]
    return [group[0] for group in groups.values() if not group[1:]], conflicts


def _decision(suite_id: str, claim: SidecarRecord) -> Decision:
    return Decision(
        suite_id=suite_id,
        agent_id=claim.agent_id,
        case_index=claim.case_index,
        attempt_id=claim.attempt_id,
        defect_id=claim.defect_id,
        ground_truth_sha256=claim.ground_truth_sha256,
        case_sha256=claim.case_sha256,
        result_sha256=claim.result_sha256,
        case_reproduced=claim.case_reproduced,
        judge_detected=claim.judge_detected,
        reviewed_by=claim.reviewed_by,
        reviewed_at=claim.reviewed_at,
        rationale=claim.rationale,
        fault=(claim.fault_step, claim.fault_code) if claim.fault_step and claim.fault_code else None,
    )


def _verdict(index: int, outcome: Outcome) -> Verdict:
    if outcome.error is None:
        return Verdict(index, outcome.created)
    return Verdict(index, code=code_of(outcome.error), message=outcome.error.message)


def code_of(error: RuleError) -> ReasonCode | None:
    if isinstance(error, Conflict):
        return ReasonCode.CONFLICTING_ASSESSMENTS
    return error.code if isinstance(error, InvalidInput | Refused) else None
