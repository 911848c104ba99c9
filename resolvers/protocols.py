"""Freezing a protocol, and adding the Suites of its trials."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, FromClause, Row, and_, insert, select

from models import DiscoveryProtocol, ProtocolAgent, ProtocolDefect, Suite, TrialSuite
from models.base import EvaluationSourceStatus, Provenance, ReasonCode, table
from resolvers.acting import Acting
from resolvers.errors import Conflict, Duplicate, InvalidInput, NotFound, Refused, Subject
from resolvers.forms import GREATEST_INTEGER, require_identity, require_text
from resolvers.judgement import agents, current, defects, suite_agents, suites
from resolvers.sql import among

protocols, protocol_agents = table(DiscoveryProtocol), table(ProtocolAgent)
protocol_defects, trial_suites = table(ProtocolDefect), table(TrialSuite)

# A score answers a value for each of them.
MOST_TRIALS = 1_000


@dataclass(frozen=True, slots=True)
class Member:
    """An agent of the cohort at one source, with the defects that can be found in it."""

    agent_id: str
    source_sha256: str
    defect_ids: Sequence[str]


def brings(member: FromClause, defect: FromClause) -> ColumnElement[bool]:
    """The frozen defects of one agent of the cohort."""
    own = select(defects.c.id).where(defects.c.agent_pk == member.c.agent_pk).correlate(member)
    return and_(defect.c.protocol_pk == member.c.protocol_pk, defect.c.defect_pk.in_(own))


async def freeze(acting: Acting, name: str, budget_cases: int, trials: int, cohort: Sequence[Member]) -> int:
    require_identity(name, ("name",))
    for value, most, field in ((budget_cases, GREATEST_INTEGER, "budget_cases"), (trials, MOST_TRIALS, "trials")):
        if not 1 <= value <= most:
            raise InvalidInput(f"This must be from 1 to {most}.", (field,), ReasonCode.INVALID_FIELD)
    _require_distinct(cohort)
    frozen = [await _frozen(acting, place, member) for place, member in enumerate(cohort)]
    taken = await acting.connection.scalar(select(protocols.c.id).where(protocols.c.name == name))
    if taken is not None:
        raise Duplicate(f"A protocol {name} exists.", Subject(DiscoveryProtocol, taken))
    made = insert(protocols).values(name=name, budget_cases=budget_cases, trials=trials, frozen_by=acting.actor)
    key = int((await acting.connection.execute(made.returning(protocols.c.id))).scalar_one())
    await acting.connection.execute(
        insert(protocol_agents),
        [
            {"protocol_pk": key, "agent_pk": rows[0].agent_pk, "position": place, "source_sha256": member.source_sha256}
            for place, (member, rows) in enumerate(zip(cohort, frozen, strict=True))
        ],
    )
    found = [row for rows in frozen for row in rows]
    await acting.connection.execute(
        insert(protocol_defects),
        [
            {
                "protocol_pk": key,
                "defect_pk": row.id,
                "position": place,
                "ground_truth_sha256": row.ground_truth_sha256,
            }
            for place, row in enumerate(found)
        ],
    )
    return key


def _require_distinct(cohort: Sequence[Member]) -> None:
    if not cohort:
        raise InvalidInput("A cohort needs at least one agent.", ("cohort",), ReasonCode.INVALID_FIELD)
    names: set[str] = set()
    for place, member in enumerate(cohort):
        path = ("cohort", str(place))
        if member.agent_id in names:
            raise InvalidInput("This agent is named twice.", (*path, "agent_id"), ReasonCode.INVALID_FIELD)
        if not member.defect_ids or len(set(member.defect_ids)) < len(member.defect_ids):
            message = "An agent brings at least one defect, and each once."
            raise InvalidInput(message, (*path, "defect_ids"), ReasonCode.INVALID_FIELD)
        names.add(member.agent_id)


async def _frozen(acting: Acting, place: int, member: Member) -> list[Row[Any]]:
    """The member's defects as they are now, held so that none changes before the protocol stands."""
    require_text(member.agent_id, ("cohort", str(place), "agent_id"))
    for defect_id in member.defect_ids:
        require_text(defect_id, ("cohort", str(place), "defect_ids"))
    rows = await acting.connection.execute(
        select(
            defects.c.id,
            defects.c.agent_pk,
            defects.c.defect_id,
            defects.c.ground_truth_sha256,
            defects.c.source_sha256,
        )
        .join(agents, agents.c.id == defects.c.agent_pk)
        .where(agents.c.agent_id == member.agent_id, among(defects.c.defect_id, member.defect_ids))
        .where(current(agents, defects))
        .order_by(defects.c.position, defects.c.id)
        .with_for_update(read=True, of=defects)
    )
    found: list[Any] = list(rows)
    missing = set(member.defect_ids) - {row.defect_id for row in found}
    if missing:
        message = f"{member.agent_id} has no current defect {', '.join(sorted(missing))}."
        raise NotFound(message, ("cohort", str(place), "defect_ids"))
    for row in found:
        if row.source_sha256 != member.source_sha256:
            message = f"Defect {row.defect_id} was confirmed on another source of {member.agent_id}."
            raise Refused(message, ReasonCode.SOURCE_MISMATCH)
    return found


async def add_trial(acting: Acting, protocol_name: str, trial: int, suite_id: str) -> int:
    """The protocol's key. The same Suite for the same trial once more changes nothing."""
    protocol = await _protocol(acting, protocol_name)
    if not 1 <= trial <= protocol.trials:
        raise InvalidInput(f"The protocol has trials 1 to {protocol.trials}.", ("trial",), ReasonCode.INVALID_FIELD)
    suite = await _suite(acting, suite_id)
    used = (
        await acting.connection.execute(select(trial_suites).where(trial_suites.c.suite_pk == suite.id))
    ).one_or_none()
    if used is not None:
        if (used.protocol_pk, used.trial) == (protocol.id, trial):
            return int(protocol.id)
        raise Refused("This Suite was used for a trial before.", ReasonCode.SUITE_USED, Subject(Suite, suite.id))
    await _require_fit(acting, protocol, suite)
    await _require_free(acting, protocol, trial, suite)
    await acting.connection.execute(
        insert(trial_suites).values(
            suite_pk=suite.id,
            protocol_pk=protocol.id,
            trial=trial,
            evaluator=suite.evaluator,
            added_by=acting.actor,
        )
    )
    return int(protocol.id)


async def _protocol(acting: Acting, name: str) -> Row[Any]:
    """Held alone: trials are added one after the other."""
    require_text(name, ("protocol",))
    found = select(protocols).where(protocols.c.name == name).with_for_update()
    if (row := (await acting.connection.execute(found)).one_or_none()) is None:
        raise NotFound(f"There is no protocol {name}.", ("protocol",))
    return row


async def _suite(acting: Acting, suite_id: str) -> Row[Any]:
    require_text(suite_id, ("suite_id",))
    found = select(suites).where(suites.c.suite_id == suite_id).with_for_update()
    row = (await acting.connection.execute(found)).one_or_none()
    if row is None:
        raise NotFound(f"There is no Suite {suite_id}.", ("suite_id",))
    if row.retired_at is not None or row.fault is not None:
        code = row.fault or ReasonCode.UNAVAILABLE_SUITE
        raise Refused("The Suite cannot be read.", code, Subject(Suite, row.id))
    return row


async def _require_fit(acting: Acting, protocol: Row[Any], suite: Row[Any]) -> None:
    subject = Subject(Suite, suite.id)
    if suite.created_at is None or suite.created_at < protocol.frozen_at:
        message = "The Suite was not created after the protocol was frozen, as far as is known."
        raise Refused(message, ReasonCode.SUITE_BEFORE_FREEZE, subject)
    if suite.provenance != Provenance.CANONICAL:
        raise Refused("The Suite has no plan.", ReasonCode.NO_PROVENANCE, subject)
    if suite.source_status != EvaluationSourceStatus.RECORDED:
        message = "The Suite's evaluator is not recorded, or is not one alone."
        raise Refused(message, ReasonCode.EVALUATOR_UNSUITABLE, subject)
    named = and_(suite_agents.c.suite_pk == suite.id, suite_agents.c.agent_id == agents.c.agent_id)
    cohort = await acting.connection.execute(
        select(
            agents.c.agent_id,
            suite_agents.c.agent_id.label("named"),
            suite_agents.c.source_sha256,
            protocol_agents.c.source_sha256.label("frozen"),
        )
        .select_from(
            protocol_agents.join(agents, agents.c.id == protocol_agents.c.agent_pk).outerjoin(suite_agents, named)
        )
        .where(protocol_agents.c.protocol_pk == protocol.id)
        .order_by(protocol_agents.c.position)
    )
    for row in cohort:
        if row.named is None:
            raise Refused(f"The Suite does not name {row.agent_id}.", ReasonCode.UNKNOWN_AGENT, subject)
        if row.source_sha256 != row.frozen:
            message = f"The Suite ran another source of {row.agent_id} than the protocol froze."
            raise Refused(message, ReasonCode.SOURCE_MISMATCH, subject)


async def _require_free(acting: Acting, protocol: Row[Any], trial: int, suite: Row[Any]) -> None:
    other = await acting.connection.scalar(
        select(trial_suites.c.suite_pk).where(
            trial_suites.c.protocol_pk == protocol.id,
            trial_suites.c.evaluator == suite.evaluator,
            trial_suites.c.trial == trial,
        )
    )
    if other is not None:
        raise Conflict(f"{suite.evaluator} has a Suite for trial {trial}.", Subject(Suite, other))
