from decimal import Decimal

import strawberry
from strawberry import UNSET

from engine.references import ref
from models.base import Role
from resolvers import catalog
from schema.acting import Request, mutation
from schema.given import given
from schema.ids import key_of
from schema.models import Model
from schema.results import Conflict, Duplicate, InvalidInput, NotFound


@strawberry.input
class CreateModelInput:
    name: str
    provider: str
    model_name: str
    base_url: str | None = UNSET
    api_key_variable: str | None = UNSET
    input_price: Decimal | None = UNSET
    output_price: Decimal | None = UNSET
    requests_per_minute: int | None = UNSET
    max_concurrency: int | None = 8


@strawberry.input
class UpdateModelInput:
    id: strawberry.ID
    expected_version: int
    name: str | None = UNSET
    provider: str | None = UNSET
    model_name: str | None = UNSET
    base_url: str | None = UNSET
    api_key_variable: str | None = UNSET
    input_price: Decimal | None = UNSET
    output_price: Decimal | None = UNSET
    requests_per_minute: int | None = UNSET
    max_concurrency: int | None = UNSET


@strawberry.type
class CreateModelPayload:
    model: Model


@strawberry.type
class UpdateModelPayload:
    model: Model


@strawberry.type
class ModelMutations:
    @mutation(Role.ADMIN, InvalidInput, Duplicate)
    async def create_model(self, info: Request, input: CreateModelInput) -> CreateModelPayload:
        return CreateModelPayload(model=ref(Model, await catalog.create(info.context.acting, given(input))))

    @mutation(Role.ADMIN, InvalidInput, NotFound, Duplicate, Conflict)
    async def update_model(self, info: Request, input: UpdateModelInput) -> UpdateModelPayload:
        changes = given(input, "id", "expected_version")
        key = key_of(Model, input.id, ("id",))
        await catalog.change(info.context.acting, key, input.expected_version, changes)
        return UpdateModelPayload(model=ref(Model, key))
