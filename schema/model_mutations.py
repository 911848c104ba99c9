from decimal import Decimal

import strawberry
from strawberry import UNSET

from engine.references import ref
from models.base import Role
from resolvers import catalog
from schema.acting import Request, mutation
from schema.given import given
from schema.ids import key_of
from schema.models import (
    API_KEY_VARIABLE,
    BASE_URL,
    CONCURRENCY,
    MODEL_NAME,
    PRICE,
    PROVIDER,
    REQUESTS,
    Model,
)
from schema.results import Conflict, Duplicate, InvalidInput, NotFound


@strawberry.input
class CreateModelInput:
    name: str
    provider: str = strawberry.field(description=PROVIDER)
    model_name: str = strawberry.field(description=MODEL_NAME)
    base_url: str | None = strawberry.field(default=UNSET, description=BASE_URL)
    api_key_variable: str | None = strawberry.field(default=UNSET, description=API_KEY_VARIABLE)
    input_price: Decimal | None = strawberry.field(default=UNSET, description=PRICE)
    output_price: Decimal | None = strawberry.field(default=UNSET, description=PRICE)
    requests_per_minute: int | None = strawberry.field(default=UNSET, description=REQUESTS)
    max_concurrency: int | None = strawberry.field(default=8, description=CONCURRENCY)


@strawberry.input
class UpdateModelInput:
    id: strawberry.ID
    expected_version: int
    name: str | None = UNSET
    provider: str | None = strawberry.field(default=UNSET, description=PROVIDER)
    model_name: str | None = strawberry.field(default=UNSET, description=MODEL_NAME)
    base_url: str | None = strawberry.field(default=UNSET, description=BASE_URL)
    api_key_variable: str | None = strawberry.field(default=UNSET, description=API_KEY_VARIABLE)
    input_price: Decimal | None = strawberry.field(default=UNSET, description=PRICE)
    output_price: Decimal | None = strawberry.field(default=UNSET, description=PRICE)
    requests_per_minute: int | None = strawberry.field(default=UNSET, description=REQUESTS)
    max_concurrency: int | None = strawberry.field(default=UNSET, description=CONCURRENCY)


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
