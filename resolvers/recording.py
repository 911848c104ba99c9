"""Recording decisions: the checks before one is accepted, and one decision per identity."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    DateTime,
    FromClause,
    Integer,
    Row,
    Text,
    and_,
    column,
    delete,
    false,
    func,
    insert,
    literal,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.ext.asyncio import AsyncConnection

from models import Assessment, ProtocolAgent, ProtocolDefect, ReviewClaim, TrialSuite
from models.assessments import IDENTITY
from models.base import AssessmentStatus, Keeper, ReasonCode, table
from resolvers.acting import OVERVIEW, Acting
from resolvers.errors import Conflict, InvalidInput, Refused, RuleError, Subject
from resolvers.forms import WORDLESS, text
from resolvers.judgement import agents, assessments, attempts, defects, ground, reason, suites
from resolvers.locks import Identity, hold
from resolvers.reasons import MESSAGES

trial_suites, protocol_agents, protocol_defects = table(TrialSuite), table(ProtocolAgent), table(ProtocolDefect)
claims = table(ReviewClaim)

DIFFERS = "Another decision stands under this identity: revise or withdraw that one, or let it stand."
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
TYPES: Mapping[str, Any] = {
    "place": Integer(),
    "suite_id": Text(),
    "agent_id": Text(),
    "case_index": Integer(),
    "attempt_id": Text(),
    "defect_id": Text(),
    "ground_truth_sha256": Text(),
    "case_sha256": Text(),
    "result_sha256": Text(),
    "case_reproduced": Boolean(),
    "judge_detected": Boolean(),
    "reviewed_by": Text(),
    "reviewed_at": DateTime(timezone=True),
    "rationale": Text(),
    "fault_step": Integer(),
    "fault_code": Text(),
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a decision: the assessment that says so now, or why it was not accepted."""

    key: int | None = None
    created: bool = False
    error: RuleError | None = None


@dataclass(eq=False, slots=True)
class _Write:
    """An accepted decision on its way: a new row, or a new version of the one that no longer stands."""

    decision: Decision
    ground: Row[Any]
    replaced: Row[Any] | None
    trial: bool
    key: int | None = None

    @property
    def version(self) -> int:
        return 1 if self.replaced is None else int(self.replaced.version) + 1


@dataclass(frozen=True, slots=True)
class _Repeated:
    """The decision is that of a write before it in the same call, or another one than that."""

    write: _Write
    differs: bool


# What a decision comes to before anything is written: why not, the row that says the same, or a write.
_Step = RuleError | int | _Write | _Repeated


async def record(acting: Acting, decisions: Sequence[Decision], *, whole_suite: bool = False) -> list[Outcome]:
    """Write decisions in their order, each with its own outcome; what is not accepted changes nothing.

    `whole_suite` locks their Suites instead of each identity, of which there can be too many.
    """
    identities = [decision.identity for decision in decisions if not identity_fault(decision)]
    await hold(acting.connection, identities, whole_suite=whole_suite)
    batch = _Batch(await _grounds(acting.connection, decisions), await _held(acting.connection, decisions))
    steps = [batch.step(place, decision) for place, decision in enumerate(decisions)]
    if batch.writes:
        await _write(acting, batch.writes)
        acting.topics.add(OVERVIEW)
    return [_outcome(step) for step in steps]


async def check(connection: AsyncConnection, decisions: Sequence[Decision]) -> list[Outcome]:
    """What `record` would answer for decisions of different identities; `created` where it would write."""
    batch = _Batch(await _grounds(connection, decisions), await _held(connection, decisions))
    return [_outcome(batch.step(place, decision)) for place, decision in enumerate(decisions)]


def _outcome(step: _Step) -> Outcome:
    if isinstance(step, RuleError):
        return Outcome(error=step)
    if isinstance(step, int):
        return Outcome(key=step)
    if isinstance(step, _Write):
        return Outcome(step.key, created=True)
    if step.differs:
        assert step.write.key is not None
        return Outcome(error=Conflict(DIFFERS, Subject(Assessment, step.write.key), step.write.version))
    return Outcome(step.write.key)


class _Batch:
    """Decisions of one call, judged one after the other as if each had been written before the next."""

    def __init__(self, grounds: Mapping[int, Row[Any]], held: Sequence[Row[Any]]) -> None:
        self.writes: list[_Write] = []
        self._grounds = grounds
        self._held: dict[tuple[Any, ...], list[Row[Any]]] = {}
        for row in held:
            self._held.setdefault(_identity(row), []).append(row)
        self._written: dict[tuple[Any, ...], _Write] = {}

    def step(self, place: int, decision: Decision) -> _Step:
        if fault := identity_fault(decision):
            return fault
        ground = self._grounds.get(place)
        if ground is None:
            return Refused("No Suite of this id is known.", ReasonCode.UNKNOWN_SUITE)
        held = self._held.get(decision.identity, [])
        if ground.frozen:
            bound = [row for row in held if row.ground_truth_sha256 == decision.ground_truth_sha256]
            return self._decide(decision, ground, [row for row in bound if _is_live(row)], bound, ground.frozen_reason)
        standing = [row for row in held if row.status == AssessmentStatus.ACCEPTED]
        own = [row for row in held if row.keeper == Keeper.API and not row.trial]
        return self._decide(decision, ground, standing, own, ground.reason)

    def _decide(
        self,
        decision: Decision,
        ground: Row[Any],
        standing: Sequence[Row[Any]],
        replaceable: Sequence[Row[Any]],
        reason: ReasonCode | None,
    ) -> _Step:
        key = (*decision.identity, decision.ground_truth_sha256 if ground.frozen else None)
        if (write := self._written.get(key)) is not None:
            return _Repeated(write, write.decision.words != decision.words)
        if standing:
            row = standing[0]
            if tuple(row._mapping[name] for name in WORDS) == decision.words:
                return int(row.id)
            return Conflict(DIFFERS, Subject(Assessment, row.id), row.version)
        if reason is not None:
            return _refusal(reason, decision)
        replaced = next((row for row in replaceable if row.keeper == Keeper.API), None)
        write = self._written[key] = _Write(decision, ground, replaced, bool(ground.frozen))
        self.writes.append(write)
        return write


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


def _refusal(reason: ReasonCode, decision: Decision) -> RuleError:
    fault = form_fault(decision)
    return fault[1] if fault and fault[1].code == reason else Refused(MESSAGES[reason], reason)


def _identity(row: Row[Any]) -> tuple[Any, ...]:
    return (row.suite_id, row.agent_id, row.case_index, row.attempt_id, row.defect_id)


def _is_live(row: Row[Any]) -> bool:
    return bool(row.status != AssessmentStatus.WITHDRAWN)


def _given(decisions: Sequence[Decision]) -> FromClause:
    """The decisions as rows, with the Suites that they name."""
    columns: dict[str, list[Any]] = {name: [] for name in TYPES}
    for place, decision in enumerate(decisions):
        if identity_fault(decision):
            continue
        step, fault = form_fault(decision) or (None, None)
        values = (place, *decision.identity, *decision.words, step, fault and fault.code)
        for name, value in zip(TYPES, values, strict=True):
            columns[name].append(value)
    arrays = (literal(values, ARRAY(TYPES[name])) for name, values in columns.items())
    rows = func.unnest(*arrays).table_valued(*(column(name, type_) for name, type_ in TYPES.items()))
    given = rows.render_derived("given")
    return (
        select(*given.c, suites.c.id.label("suite_pk"))
        .join(suites, suites.c.suite_id == given.c.suite_id)
        .subquery("decision")
    )


async def _grounds(connection: AsyncConnection, decisions: Sequence[Decision]) -> dict[int, Row[Any]]:
    """By place: what each decision is about, why it would not count, and whether a protocol froze its revision."""
    given = _given(decisions)
    frozen = protocol_defects.c.ground_truth_sha256
    joined = (
        ground(given)
        .outerjoin(trial_suites, trial_suites.c.suite_pk == given.c.suite_pk)
        .outerjoin(
            protocol_defects,
            and_(
                protocol_defects.c.protocol_pk == trial_suites.c.protocol_pk,
                protocol_defects.c.defect_pk == defects.c.id,
                frozen == given.c.ground_truth_sha256,
                frozen != defects.c.ground_truth_sha256,
            ),
        )
        .outerjoin(
            protocol_agents,
            and_(
                protocol_agents.c.protocol_pk == trial_suites.c.protocol_pk, protocol_agents.c.agent_pk == agents.c.id
            ),
        )
    )
    rows = await connection.execute(
        select(
            given.c.place,
            given.c.suite_pk,
            defects.c.id.label("defect_pk"),
            attempts.c.id.label("attempt_pk"),
            attempts.c.has_report,
            frozen.is_not(None).label("frozen"),
            reason(given, false()).label("reason"),
            reason(given, false(), frozen, protocol_agents.c.source_sha256).label("frozen_reason"),
        ).select_from(joined)
    )
    return {row.place: row for row in rows}


async def _held(connection: AsyncConnection, decisions: Sequence[Decision]) -> Sequence[Row[Any]]:
    """The assessments that already claim one of these identities."""
    given = _given(decisions)
    same = and_(*(assessments.c[name] == given.c[name] for name in IDENTITY))
    rows = await connection.execute(
        select(assessments, given.c.suite_id)
        .join(given, same)
        .where(assessments.c.fault_code.is_(None), ~assessments.c.echo)
        .ext(distinct_on(assessments.c.id))
        .order_by(assessments.c.id)
    )
    return rows.all()


async def _write(acting: Acting, writes: Sequence[_Write]) -> None:
    new = [write for write in writes if write.replaced is None]
    if new:
        keys = await acting.connection.execute(
            insert(assessments)
            .values(recorded_at=func.clock_timestamp())
            .returning(assessments.c.id, sort_by_parameter_order=True),
            [{**_claim(write), **_values(acting, write), "version": 1} for write in new],
        )
        for write, key in zip(new, keys.scalars(), strict=True):
            write.key = key
    for write in writes:
        if write.replaced is not None:
            write.key = write.replaced.id
            await acting.connection.execute(
                update(assessments)
                .where(assessments.c.id == write.key)
                .values(version=write.version, recorded_at=func.clock_timestamp(), **_values(acting, write))
            )
    await _end_claims(acting, writes)


def _claim(write: _Write) -> dict[str, Any]:
    decision = write.decision
    return {
        "suite_pk": write.ground.suite_pk,
        "agent_id": decision.agent_id,
        "case_index": decision.case_index,
        "attempt_id": decision.attempt_id,
        "defect_id": decision.defect_id,
    }


def _values(acting: Acting, write: _Write) -> dict[str, Any]:
    return {
        **dict(zip(WORDS, write.decision.words, strict=True)),
        "defect_pk": write.ground.defect_pk,
        "attempt_pk": write.ground.attempt_pk,
        "status": AssessmentStatus.REFUSED if write.trial else AssessmentStatus.ACCEPTED,
        "reason": ReasonCode.STALE_REVISION if write.trial else None,
        "echo": False,
        "trial": write.trial,
        "keeper": Keeper.API,
        "recorded_by": acting.actor,
    }


async def _end_claims(acting: Acting, writes: Sequence[_Write]) -> None:
    """What is decided needs no reviewer any more."""
    decided = [write.ground for write in writes if is_decided(write.decision, has_report=write.ground.has_report)]
    pairs = func.unnest(
        literal([ground.defect_pk for ground in decided], ARRAY(BigInteger)),
        literal([ground.attempt_pk for ground in decided], ARRAY(BigInteger)),
    ).table_valued(column("defect_pk", BigInteger), column("attempt_pk", BigInteger))
    ended = pairs.render_derived("ended")
    pair = tuple_(claims.c.defect_pk, claims.c.attempt_pk)
    await acting.connection.execute(delete(claims).where(pair.in_(select(ended.c.defect_pk, ended.c.attempt_pk))))


def is_decided(decision: Decision, *, has_report: bool) -> bool:
    """Both decisions, or the Case's where no report was saved that a Judge could have detected anything in."""
    if decision.case_reproduced is None:
        return False
    return decision.judge_detected is not None or not has_report
