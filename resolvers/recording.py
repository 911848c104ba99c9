"""Recording decisions: the checks before one is accepted, and one decision per identity."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row
from sqlalchemy.ext.asyncio import AsyncConnection

from models import Assessment
from models.base import AssessmentStatus, Keeper, ReasonCode
from resolvers.acting import OVERVIEW, Acting
from resolvers.decisions import WORDS, Decision, form_fault, identity_fault
from resolvers.errors import Conflict, Refused, RuleError, Subject
from resolvers.locks import hold
from resolvers.reasons import MESSAGES
from resolvers.standing import grounds, held
from resolvers.writing import Write, write

DIFFERS = "Another decision stands under this identity: revise or withdraw that one, or let it stand."


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a decision: the assessment that says so now, or why it was not accepted."""

    key: int | None = None
    created: bool = False
    error: RuleError | None = None


@dataclass(frozen=True, slots=True)
class _Repeated:
    """The decision is that of a write before it in the same call, or another one than that."""

    write: Write
    differs: bool


# What a decision comes to before anything is written: why not, the row that says the same, or a write.
_Step = RuleError | int | Write | _Repeated


async def record(acting: Acting, decisions: Sequence[Decision]) -> list[Outcome]:
    """Write decisions in their order, each with its own outcome; what is not accepted changes nothing."""
    await hold(acting.connection, [decision.identity for decision in decisions if not identity_fault(decision)])
    batch = await _batch(acting.connection, decisions)
    steps = [batch.step(place, decision) for place, decision in enumerate(decisions)]
    if batch.writes:
        await write(acting, batch.writes)
        acting.topics.add(OVERVIEW)
    return [_outcome(step) for step in steps]


async def check(connection: AsyncConnection, decisions: Sequence[Decision]) -> list[Outcome]:
    """What `record` would answer for decisions of different identities; `created` where it would write."""
    batch = await _batch(connection, decisions)
    return [_outcome(batch.step(place, decision)) for place, decision in enumerate(decisions)]


def _outcome(step: _Step) -> Outcome:
    if isinstance(step, RuleError):
        return Outcome(error=step)
    if isinstance(step, int):
        return Outcome(key=step)
    if isinstance(step, Write):
        return Outcome(step.key, created=True)
    if step.differs:
        assert step.write.key is not None
        return Outcome(error=Conflict(DIFFERS, Subject(Assessment, step.write.key), step.write.version))
    return Outcome(step.write.key)


async def _batch(connection: AsyncConnection, decisions: Sequence[Decision]) -> "_Batch":
    return _Batch(await grounds(connection, decisions), await held(connection, decisions))


class _Batch:
    """Decisions of one call, judged one after the other as if each had been written before the next."""

    def __init__(self, grounds: Mapping[int, Row[Any]], held: Sequence[Row[Any]]) -> None:
        self.writes: list[Write] = []
        self._grounds = grounds
        self._held: dict[tuple[Any, ...], list[Row[Any]]] = {}
        for row in held:
            self._held.setdefault(_identity(row), []).append(row)
        self._written: dict[tuple[Any, ...], Write] = {}
        self._replaced: set[int] = set()

    def step(self, place: int, decision: Decision) -> _Step:
        if fault := identity_fault(decision):
            return fault
        ground = self._grounds.get(place)
        if ground is None:
            return Refused("No Suite of this id is known.", ReasonCode.UNKNOWN_SUITE)
        held = self._held.get(decision.identity, [])
        if ground.frozen:
            bound = [row for row in held if row.ground_truth_sha256 == decision.ground_truth_sha256]
            standing, reason = [row for row in bound if _stands_frozen(row, ground)], ground.frozen_reason
            # A row of the trial's own comes first: it alone can be bound like that beside a current one.
            own = sorted((row for row in bound if row.keeper == Keeper.API), key=lambda row: not row.trial)
        else:
            standing, reason = [row for row in held if row.status == AssessmentStatus.ACCEPTED], ground.reason
            own = [row for row in held if row.keeper == Keeper.API and not row.trial]
        return self._decide(decision, ground, standing, own, reason)

    def _decide(
        self,
        decision: Decision,
        ground: Row[Any],
        standing: Sequence[Row[Any]],
        own: Sequence[Row[Any]],
        reason: ReasonCode | None,
    ) -> _Step:
        has_form = form_fault(decision) is None
        key = (*decision.identity, decision.ground_truth_sha256 if ground.frozen else None)
        if has_form and (written := self._written.get(key)):
            return _Repeated(written, written.decision.words != decision.words)
        if has_form and standing:
            row = standing[0]
            if tuple(row._mapping[name] for name in WORDS) == decision.words:
                return int(row.id)
            return Conflict(DIFFERS, Subject(Assessment, row.id), row.version)
        if reason is not None:
            return _refusal(reason, decision)
        replaced = next((row for row in own if row.id not in self._replaced), None)
        if replaced is not None:
            self._replaced.add(replaced.id)
        made = self._written[key] = Write(decision, ground, replaced, bool(ground.frozen))
        self.writes.append(made)
        return made


def _refusal(reason: ReasonCode, decision: Decision) -> RuleError:
    fault = form_fault(decision)
    return fault[1] if fault and fault[1].code == reason else Refused(MESSAGES[reason], reason)


def _identity(row: Row[Any]) -> tuple[Any, ...]:
    return (row.suite_id, row.agent_id, row.case_index, row.attempt_id, row.defect_id)


def _stands_frozen(row: Row[Any], ground: Row[Any]) -> bool:
    """Whether the score reads this record, which is stale for everybody else."""
    is_about = (row.case_sha256, row.result_sha256) == (ground.artifact_sha256, ground.result_sha256)
    return is_about and row.status != AssessmentStatus.WITHDRAWN
