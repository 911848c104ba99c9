import strawberry

from engine.mapping import backed
from engine.references import ref
from resolvers import errors, recording
from resolvers.recording import Outcome
from schema.acting import Request
from schema.assessment_mutations import AssessmentInput
from schema.assessments import Assessment
from schema.enums import ReasonCode


@strawberry.type
class AssessmentCheck:
    ok: bool
    code: ReasonCode | None
    message: str | None
    existing: Assessment | None = strawberry.field(description="An identical record that is already there.")
    conflict: Assessment | None


async def assessment_check(info: Request, assessment: AssessmentInput) -> AssessmentCheck:
    async with info.context.reading() as connection:
        (outcome,) = await recording.check(connection, [assessment.decision()])
    return _shown(outcome)


def _shown(outcome: Outcome) -> AssessmentCheck:
    error = outcome.error
    return AssessmentCheck(
        ok=error is None,
        code=getattr(error, "code", None),
        message=error.message if error else None,
        existing=None if outcome.key is None else ref(Assessment, outcome.key),
        conflict=ref(Assessment, error.existing.key) if isinstance(error, errors.Conflict) else None,
    )


@backed()
class CheckQueries:
    assessment_check: AssessmentCheck = strawberry.field(
        resolver=assessment_check, description="What recordAssessment would answer, without writing."
    )
