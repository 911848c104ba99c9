from datetime import datetime

from engine.graph import Node
from engine.mapping import backed, column, items, one
from models import AssessmentChange as AssessmentChanges
from models.base import table
from resolvers import suites
from schema.agents import Defect
from schema.enums import AssessmentStatus, Keeper, ReasonCode
from schema.scalars import Sha256
from schema.suites import Attempt, Suite


@backed(table(AssessmentChanges), key="version", position="version")
class AssessmentChange:
    version: int
    ground_truth_sha256: Sha256
    case_sha256: Sha256
    result_sha256: Sha256
    case_reproduced: bool | None
    judge_detected: bool | None
    reviewed_by: str
    reviewed_at: datetime
    rationale: str
    changed_by: str
    changed_at: datetime
    withdrawn: bool


@backed(
    suites.SHOWN,
    filters=(
        "agent_id",
        "defect_id",
        "attempt_id",
        "case_reproduced",
        "judge_detected",
        "reviewed_by",
        "reviewed_at",
        "recorded_at",
        "status",
        "reason",
        "keeper",
        "suite",
        "defect",
        "attempt",
    ),
    orders=("reviewed_at", "recorded_at"),
)
class Assessment(Node):
    """One person's decision about one Attempt and one defect, bound to exact revisions of both.

    The identity is as claimed; `defect` and `attempt` are null where it names none. A record whose form is at fault
    is no Assessment, only a Warning.
    """

    suite: Suite = one(lambda assessment, suite: suite.c.id == assessment.c.suite_pk)
    agent_id: str
    case_index: int
    attempt_id: str
    defect_id: str
    defect: Defect | None = one(lambda assessment, defect: defect.c.id == assessment.c.defect_pk)
    attempt: Attempt | None = one(lambda assessment, attempt: attempt.c.id == assessment.c.attempt_pk)
    ground_truth_sha256: Sha256
    case_sha256: Sha256
    result_sha256: Sha256
    case_reproduced: bool | None
    judge_detected: bool | None
    reviewed_by: str
    reviewed_at: datetime
    rationale: str
    status: AssessmentStatus = column(
        "status",
        description="ACCEPTED counts. REFUSED does not, for `reason`, and counts again if the reason goes away.",
    )
    reason: ReasonCode | None
    keeper: Keeper
    version: int
    history: list[AssessmentChange] = items(lambda assessment, change: change.c.assessment_pk == assessment.c.id)
    recorded_by: str
    recorded_at: datetime
