from typing import Any

from strawberry.schema.config import StrawberryConfig

from engine.execute import Schema as EngineSchema
from schema.acting import ActingExecutor
from schema.handlers import HANDLERS
from schema.masking import MaskedSchema
from schema.mutation import Mutation
from schema.query import Query
from schema.scalars import SCALARS
from schema.subscription import Subscription


class Schema(MaskedSchema, EngineSchema):
    """Rows are read by the engine, and errors nobody expected are masked, whoever raised them."""


def build(**options: Any) -> Schema:
    return Schema(
        Query,
        mutation=Mutation,
        subscription=Subscription,
        executor=ActingExecutor,
        exception_handlers=HANDLERS,
        config=StrawberryConfig(scalar_map=SCALARS),
        **options,
    )
