from datetime import datetime

import strawberry

from engine.graph import Connection, Node
from engine.mapping import Argument, backed, column, computed, embedded, items, lookup, many, one
from engine.references import ref
from models import DiscoveryProtocol as DiscoveryProtocols
from models import ProtocolAgent as ProtocolAgents
from models import ProtocolDefect as ProtocolDefects
from models import TrialSuite as TrialSuites
from models.base import Role, table
from resolvers import protocols, score
from resolvers.sql import proportion
from schema.acting import Request, mutation
from schema.agents import Agent, Defect
from schema.figures import Proportion
from schema.results import Conflict, Duplicate, InvalidInput, NotFound, Refused
from schema.scalars import Sha256
from schema.suites import Suite


@backed(table(ProtocolDefects), key="defect_pk", position="position")
class ProtocolDefect:
    defect: Defect = one(lambda frozen, defect: defect.c.id == frozen.c.defect_pk)
    ground_truth_sha256: Sha256


@backed(table(ProtocolAgents), key="agent_pk", position="position")
class ProtocolAgent:
    agent: Agent = one(lambda member, agent: agent.c.id == member.c.agent_pk)
    source_sha256: Sha256
    defects: list[ProtocolDefect] = items(protocols.brings)


@backed(table(TrialSuites), key="suite_pk", position=("trial", "evaluator"))
class TrialSuite:
    trial: int
    suite: Suite = one(lambda trial, suite: suite.c.id == trial.c.suite_pk)
    evaluator: str


@backed(key="agent_pk")
class AgentScore:
    agent: Agent = one(lambda row, agent: agent.c.id == row.c.agent_pk)
    discovery: Proportion = embedded(proportion("found", "cells"))


@backed(key="evaluator")
class EvaluatorScore:
    evaluator: str
    macro: float | None = column("macro", description="0 to 1.")
    micro: Proportion = embedded(proportion("found", "cells"))
    case_trigger_coverage: Proportion = embedded(proportion("reproduced", "cells"))
    judge_conditional_recall: Proportion = embedded(proportion("recalled", "judged"))
    review_coverage: Proportion = embedded(proportion("decided", "pairs"))
    per_trial: list[float | None]
    per_agent: list[AgentScore] = items(rows=score.agent_scores)


@backed()
class DiscoveryScore:
    pending: bool = computed(score.is_pending)
    evaluators: list[EvaluatorScore] = items(rows=score.evaluator_scores)


@backed(table(DiscoveryProtocols))
class DiscoveryProtocol(Node):
    name: str
    frozen_at: datetime
    budget_cases: int
    trials: int
    cohort: list[ProtocolAgent] = items(lambda protocol, member: member.c.protocol_pk == protocol.c.id)
    trial_suites: list[TrialSuite] = items(lambda protocol, trial: trial.c.protocol_pk == protocol.c.id)
    score: DiscoveryScore = embedded()


@strawberry.type
class ProtocolQueries:
    discovery_protocol: DiscoveryProtocol | None = lookup(
        lambda protocol, given: protocol.c.name == given["name"], name=Argument(str)
    )
    discovery_protocols: Connection[DiscoveryProtocol] = many()


@strawberry.input
class ProtocolAgentInput:
    agent_id: str
    source_sha256: Sha256
    defect_ids: list[str]


@strawberry.input
class FreezeDiscoveryProtocolInput:
    name: str
    budget_cases: int
    trials: int
    cohort: list[ProtocolAgentInput]


@strawberry.input
class AddTrialSuiteInput:
    protocol: str
    trial: int
    suite_id: str


@strawberry.type
class FreezeDiscoveryProtocolPayload:
    protocol: DiscoveryProtocol


@strawberry.type
class AddTrialSuitePayload:
    protocol: DiscoveryProtocol


@strawberry.type
class ProtocolMutations:
    @mutation(Role.ADMIN, InvalidInput, NotFound, Duplicate, Refused)
    async def freeze_discovery_protocol(
        self, info: Request, input: FreezeDiscoveryProtocolInput
    ) -> FreezeDiscoveryProtocolPayload:
        cohort = [protocols.Member(given.agent_id, given.source_sha256, given.defect_ids) for given in input.cohort]
        key = await protocols.freeze(info.context.acting, input.name, input.budget_cases, input.trials, cohort)
        return FreezeDiscoveryProtocolPayload(protocol=ref(DiscoveryProtocol, key))

    @mutation(Role.OPERATOR, InvalidInput, NotFound, Conflict, Refused)
    async def add_trial_suite(self, info: Request, input: AddTrialSuiteInput) -> AddTrialSuitePayload:
        key = await protocols.add_trial(info.context.acting, input.protocol, input.trial, input.suite_id)
        return AddTrialSuitePayload(protocol=ref(DiscoveryProtocol, key))
