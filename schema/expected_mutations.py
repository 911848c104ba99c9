from collections.abc import Iterable
from typing import Any

import strawberry
from strawberry import UNSET
from strawberry.scalars import JSON

from engine.references import ref
from models.base import ReasonCode as Code
from models.base import Role
from resolvers import errors, expected
from schema.acting import Request, mutation
from schema.benchmarks import ExpectedOutput, Row
from schema.ids import key_of
from schema.results import Conflict, InvalidInput, NotFound


@strawberry.input
class ExpectedFieldInput:
    name: str
    value: JSON | None = UNSET


@strawberry.input
class EditExpectedOutputInput:
    row_id: strawberry.ID
    expected_revision: int
    text: str | None = UNSET
    fields: list[ExpectedFieldInput] | None = UNSET


@strawberry.input
class UnlockExpectedOutputInput:
    row_id: strawberry.ID
    expected_revision: int
    fields: list[str] | None = strawberry.field(default=UNSET, description="Left out: the whole expected output.")


@strawberry.type
class EditExpectedOutputPayload:
    expected_output: ExpectedOutput


@strawberry.type
class UnlockExpectedOutputPayload:
    expected_output: ExpectedOutput


@strawberry.type
class ExpectedMutations:
    @mutation(Role.REVIEWER, InvalidInput, NotFound, Conflict)
    async def edit_expected_output(self, info: Request, input: EditExpectedOutputInput) -> EditExpectedOutputPayload:
        """Locks what it edits. A text of null empties it, as does a field without a value; null is a field's value."""
        acting, revision = info.context.acting, input.expected_revision
        key = key_of(Row, input.row_id, ("row_id",))
        if input.fields and input.text in (UNSET, None):
            await expected.edit_fields(acting, key, revision, *said(input.fields))
        elif input.text is not UNSET and not input.fields:
            await expected.edit_text(acting, key, revision, input.text)
        else:
            raise errors.InvalidInput("Give either the text, or the fields to edit.", (), Code.INVALID_FIELD)
        return EditExpectedOutputPayload(expected_output=ref(ExpectedOutput, key))

    @mutation(Role.REVIEWER, InvalidInput, NotFound, Conflict)
    async def unlock_expected_output(
        self, info: Request, input: UnlockExpectedOutputInput
    ) -> UnlockExpectedOutputPayload:
        key = key_of(Row, input.row_id, ("row_id",))
        fields = None if input.fields is UNSET else input.fields
        await expected.unlock(info.context.acting, key, input.expected_revision, fields)
        return UnlockExpectedOutputPayload(expected_output=ref(ExpectedOutput, key))


def said(fields: Iterable[ExpectedFieldInput]) -> tuple[dict[str, Any], list[str]]:
    """The values of fields, and the names of those that are emptied."""
    given: dict[str, Any] = {}
    emptied: list[str] = []
    for place, field in enumerate(fields):
        if field.name in given or field.name in emptied:
            path = ("fields", str(place), "name")
            raise errors.InvalidInput("A field is edited once.", path, Code.INVALID_FIELD)
        if field.value is UNSET:
            emptied.append(field.name)
        else:
            given[field.name] = field.value
    return given, emptied
