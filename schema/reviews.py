from datetime import datetime
from typing import Any

import strawberry
from sqlalchemy import FromClause, Select, select
from strawberry import UNSET

from engine.graph import Connection
from engine.mapping import Argument, backed, many, one
from engine.references import ref
from models.base import Role
from resolvers import errors, review
from schema.acting import Request, mutation
from schema.agents import Defect
from schema.assessments import Assessment
from schema.ids import key_of
from schema.results import InvalidInput, NotFound, Refused
from schema.suites import Attempt


@backed(key="defect_pk", position=("started_at", "attempt_pk"))
class ReviewItem:
    """`claimedBy` is null once the claim has run out."""

    defect: Defect = one(lambda item, defect: defect.c.id == item.c.defect_pk)
    attempt: Attempt = one(lambda item, attempt: attempt.c.id == item.c.attempt_pk)
    assessment: Assessment | None = one(
        lambda item, assessment: assessment.c.id == item.c.assessment_pk, description="A partial record to revise."
    )
    claimed_by: str | None
    claimed_until: datetime | None


def waiting(_parent: FromClause | None, given: dict[str, Any]) -> Select[Any]:
    anywhere = given["agent_id"] is None and given["suite_id"] is None
    rows = review.queue(walked=anywhere).subquery("waiting")
    found = select(rows)
    if given["agent_id"] is not None:
        found = found.where(rows.c.agent_id == given["agent_id"])
    if given["suite_id"] is not None:
        found = found.where(rows.c.suite_id == given["suite_id"])
    return found.where(rows.c.claimed_by.is_(None)) if given["unclaimed"] else found


@strawberry.type
class ReviewQueries:
    review_queue: Connection[ReviewItem] = many(
        rows=waiting,
        arguments={
            "agent_id": Argument(str | None),
            "suite_id": Argument(str | None),
            "unclaimed": Argument(bool | None, default=True),
        },
        description="Beyond. Pairs of an Attempt and a defect of its agent that could be assessed and are not, "
        "oldest first.",
    )


@strawberry.input
class ClaimReviewInput:
    defect_id: strawberry.ID | None = strawberry.field(
        default=UNSET, description="One pair, or left out: the oldest free one."
    )
    attempt_id: strawberry.ID | None = UNSET
    agent_id: str | None = UNSET
    minutes: int | None = strawberry.field(default=30, description="1 to 240.")


@strawberry.input
class ReleaseReviewInput:
    defect_id: strawberry.ID
    attempt_id: strawberry.ID


@strawberry.type
class ClaimReviewPayload:
    item: ReviewItem | None = strawberry.field(description="Null where nothing is free.")


@strawberry.type
class ReleaseReviewPayload:
    item: ReviewItem


@strawberry.type
class ReviewMutations:
    @mutation(Role.REVIEWER, InvalidInput, NotFound, Refused)
    async def claim_review(self, info: Request, input: ClaimReviewInput) -> ClaimReviewPayload:
        """Two people never get one pair."""
        pair = None
        if input.defect_id and input.attempt_id:
            pair = _pair(input.defect_id, input.attempt_id)
        elif input.defect_id or input.attempt_id:
            missing = "attempt_id" if input.defect_id else "defect_id"
            raise errors.InvalidInput("A pair is named by its defect and its Attempt.", (missing,))
        minutes = 30 if input.minutes is None else input.minutes
        item = await review.claim(info.context.acting, pair, input.agent_id or None, minutes)
        return ClaimReviewPayload(item=None if item is None else _shown(item))

    @mutation(Role.REVIEWER, NotFound, Refused)
    async def release_review(self, info: Request, input: ReleaseReviewInput) -> ReleaseReviewPayload:
        item = await review.release(info.context.acting, _pair(input.defect_id, input.attempt_id))
        return ReleaseReviewPayload(item=_shown(item))


def _pair(defect_id: str, attempt_id: str) -> tuple[int, int]:
    return key_of(Defect, defect_id, ("defect_id",)), key_of(Attempt, attempt_id, ("attempt_id",))


def _shown(item: review.Item) -> ReviewItem:
    return ReviewItem(
        defect=ref(Defect, item.defect_pk),
        attempt=ref(Attempt, item.attempt_pk),
        assessment=None if item.assessment_pk is None else ref(Assessment, item.assessment_pk),
        claimed_by=item.claimed_by,
        claimed_until=item.claimed_until,
    )
