from datetime import datetime

import strawberry
from strawberry import UNSET
from strawberry.scalars import JSON

from engine.references import ref
from models.base import Role
from resolvers import confirming
from resolvers.findings import Finding, Repetition
from schema.acting import Request, mutation
from schema.agents import Agent, Defect
from schema.results import Conflict, Duplicate, InvalidInput, NotFound, Refused
from schema.scalars import Sha256


@strawberry.input
class RegisterAgentInput:
    agent_id: str
    name: str | None = UNSET
    framework: str | None = UNSET


@strawberry.input
class ObservationInput:
    observation_id: str
    case_sha256: Sha256
    evidence_path: str = strawberry.field(description="Under observations/; one path has one digest per agent.")
    evidence_sha256: Sha256 = strawberry.field(description="The sha256 of a file sent to POST /files.")


@strawberry.input
class DefectInput:
    title: str
    expected_behavior: str
    observed_behavior: str
    confirmed_by: str
    confirmed_at: datetime
    source_sha256: Sha256
    case_sha256: Sha256
    observations: list[ObservationInput]
    extra: JSON | None = UNSET

    def finding(self) -> Finding:
        return Finding(
            title=self.title,
            expected_behavior=self.expected_behavior,
            observed_behavior=self.observed_behavior,
            confirmed_by=self.confirmed_by,
            confirmed_at=self.confirmed_at,
            source_sha256=self.source_sha256,
            case_sha256=self.case_sha256,
            observations=[
                Repetition(given.observation_id, given.case_sha256, given.evidence_path, given.evidence_sha256)
                for given in self.observations
            ],
            extra=None if self.extra is UNSET else self.extra,
        )


@strawberry.input
class ConfirmDefectInput:
    agent_id: str
    defect_id: str
    defect: DefectInput


@strawberry.input
class ReviseDefectInput:
    agent_id: str
    defect_id: str
    expected_ground_truth_sha256: Sha256
    defect: DefectInput


@strawberry.input
class RetireDefectInput:
    agent_id: str
    defect_id: str
    expected_ground_truth_sha256: Sha256


@strawberry.type
class RegisterAgentPayload:
    agent: Agent


@strawberry.type
class ConfirmDefectPayload:
    defect: Defect
    created: bool = strawberry.field(
        description="False where the identical record was there; a retired defect comes back as a new revision."
    )


@strawberry.type
class ReviseDefectPayload:
    defect: Defect
    unbound_assessments: int = strawberry.field(description="Assessments that stopped counting.")


@strawberry.type
class RetireDefectPayload:
    defect: Defect


@strawberry.type
class DefectMutations:
    @mutation(Role.OPERATOR, InvalidInput, Duplicate)
    async def register_agent(self, info: Request, input: RegisterAgentInput) -> RegisterAgentPayload:
        key = await confirming.register(
            info.context.acting, input.agent_id, input.name or None, input.framework or None
        )
        return RegisterAgentPayload(agent=ref(Agent, key))

    @mutation(Role.REVIEWER, InvalidInput, NotFound, Duplicate, Refused)
    async def confirm_defect(self, info: Request, input: ConfirmDefectInput) -> ConfirmDefectPayload:
        key, created = await confirming.confirm(
            info.context.acting, input.agent_id, input.defect_id, input.defect.finding()
        )
        return ConfirmDefectPayload(defect=ref(Defect, key), created=created)

    @mutation(Role.REVIEWER, InvalidInput, NotFound, Conflict, Refused)
    async def revise_defect(self, info: Request, input: ReviseDefectInput) -> ReviseDefectPayload:
        key, unbound = await confirming.revise(
            info.context.acting,
            input.agent_id,
            input.defect_id,
            input.expected_ground_truth_sha256,
            input.defect.finding(),
        )
        return ReviseDefectPayload(defect=ref(Defect, key), unbound_assessments=unbound)

    @mutation(Role.REVIEWER, InvalidInput, NotFound, Conflict, Refused)
    async def retire_defect(self, info: Request, input: RetireDefectInput) -> RetireDefectPayload:
        key = await confirming.retire(
            info.context.acting, input.agent_id, input.defect_id, input.expected_ground_truth_sha256
        )
        return RetireDefectPayload(defect=ref(Defect, key))
