from datetime import datetime

import strawberry
from strawberry import UNSET

from engine.references import ref
from models.base import ReasonCode as Code
from models.base import Role
from resolvers import errors, recording, revising
from resolvers.decisions import Decision
from resolvers.recording import Outcome
from schema.acting import Request, mutation
from schema.assessments import Assessment
from schema.enums import ReasonCode
from schema.ids import key_of
from schema.results import Conflict, InvalidInput, NotFound, Refused
from schema.scalars import Sha256

MOST_RECORDS = 1_000


@strawberry.input
class AssessmentInput:
    suite_id: str
    agent_id: str
    case_index: int
    attempt_id: str
    defect_id: str
    ground_truth_sha256: Sha256
    case_sha256: Sha256
    result_sha256: Sha256
    case_reproduced: bool | None = strawberry.field(
        default=UNSET, description="Both must be given; null means no decision."
    )
    judge_detected: bool | None = UNSET
    reviewed_by: str
    reviewed_at: datetime
    rationale: str

    def decision(self) -> Decision:
        decisions = {"case_reproduced": self.case_reproduced, "judge_detected": self.judge_detected}
        return Decision(
            suite_id=self.suite_id,
            agent_id=self.agent_id,
            case_index=self.case_index,
            attempt_id=self.attempt_id,
            defect_id=self.defect_id,
            ground_truth_sha256=self.ground_truth_sha256,
            case_sha256=self.case_sha256,
            result_sha256=self.result_sha256,
            case_reproduced=None if self.case_reproduced is UNSET else self.case_reproduced,
            judge_detected=None if self.judge_detected is UNSET else self.judge_detected,
            reviewed_by=self.reviewed_by,
            reviewed_at=self.reviewed_at,
            rationale=self.rationale,
            omitted=next((name for name, value in decisions.items() if value is UNSET), None),
        )


@strawberry.input
class RecordAssessmentInput:
    assessment: AssessmentInput


@strawberry.input
class RecordAssessmentsInput:
    assessments: list[AssessmentInput]


@strawberry.input
class ReviseAssessmentInput:
    id: strawberry.ID
    expected_version: int
    case_reproduced: bool | None = UNSET
    judge_detected: bool | None = UNSET
    rationale: str
    reviewed_by: str
    reviewed_at: datetime


@strawberry.input
class WithdrawAssessmentInput:
    id: strawberry.ID
    expected_version: int
    rationale: str


@strawberry.type
class RecordAssessmentPayload:
    assessment: Assessment
    created: bool = strawberry.field(description="False where an identical record was already there.")


@strawberry.type
class AssessmentOutcome:
    index: int
    assessment: Assessment | None
    created: bool
    code: ReasonCode | None
    message: str | None
    conflict: Assessment | None


@strawberry.type
class RecordAssessmentsPayload:
    outcomes: list[AssessmentOutcome] = strawberry.field(description="In the order of the input.")
    created: int
    unchanged: int
    refused: int


@strawberry.type
class ReviseAssessmentPayload:
    assessment: Assessment


@strawberry.type
class WithdrawAssessmentPayload:
    assessment: Assessment


@strawberry.type
class AssessmentMutations:
    @mutation(Role.REVIEWER, InvalidInput, Conflict, Refused)
    async def record_assessment(self, info: Request, input: RecordAssessmentInput) -> RecordAssessmentPayload:
        (outcome,) = await recording.record(info.context.acting, [input.assessment.decision()])
        if isinstance(outcome.error, errors.InvalidInput):
            raise outcome.error.within("assessment")
        if outcome.error:
            raise outcome.error
        return RecordAssessmentPayload(assessment=ref(Assessment, outcome.key), created=outcome.created)

    @mutation(Role.REVIEWER, InvalidInput)
    async def record_assessments(self, info: Request, input: RecordAssessmentsInput) -> RecordAssessmentsPayload:
        """Up to 1,000 in one transaction, each with its own outcome."""
        if len(input.assessments) > MOST_RECORDS:
            message = f"At most {MOST_RECORDS} records can be sent at once, not {len(input.assessments)}."
            raise errors.InvalidInput(message, ("assessments",))
        outcomes = await recording.record(info.context.acting, [given.decision() for given in input.assessments])
        return RecordAssessmentsPayload(
            outcomes=[outcome_of(index, outcome) for index, outcome in enumerate(outcomes)],
            created=sum(outcome.created for outcome in outcomes),
            unchanged=sum(outcome.error is None and not outcome.created for outcome in outcomes),
            refused=sum(outcome.error is not None for outcome in outcomes),
        )

    @mutation(Role.REVIEWER, InvalidInput, NotFound, Conflict, Refused)
    async def revise_assessment(self, info: Request, input: ReviseAssessmentInput) -> ReviseAssessmentPayload:
        revision = revising.Revision(
            case_reproduced=decided(input.case_reproduced, "case_reproduced"),
            judge_detected=decided(input.judge_detected, "judge_detected"),
            rationale=input.rationale,
            reviewed_by=input.reviewed_by,
            reviewed_at=input.reviewed_at,
        )
        key = key_of(Assessment, input.id, ("id",))
        await revising.revise(info.context.acting, key, input.expected_version, revision)
        return ReviseAssessmentPayload(assessment=ref(Assessment, key))

    @mutation(Role.REVIEWER, InvalidInput, NotFound, Conflict, Refused)
    async def withdraw_assessment(self, info: Request, input: WithdrawAssessmentInput) -> WithdrawAssessmentPayload:
        key = key_of(Assessment, input.id, ("id",))
        await revising.withdraw(info.context.acting, key, input.expected_version, input.rationale)
        return WithdrawAssessmentPayload(assessment=ref(Assessment, key))


def decided(value: bool | None, name: str) -> bool | None:
    if value is UNSET:
        message = "A decision must be given: true, false, or null for none."
        raise errors.InvalidInput(message, (name,), Code.INVALID_FIELD)
    return value


def outcome_of(index: int, outcome: Outcome) -> AssessmentOutcome:
    error = outcome.error
    return AssessmentOutcome(
        index=index,
        assessment=None if outcome.key is None else ref(Assessment, outcome.key),
        created=outcome.created,
        code=getattr(error, "code", None),
        message=error.message if error else None,
        conflict=ref(Assessment, error.existing.key) if isinstance(error, errors.Conflict) else None,
    )
