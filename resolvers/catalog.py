"""Models that can be called: what they cost and where they are, never their keys."""

import os
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from sqlalchemy import ColumnElement, FromClause, Row, func, insert, literal, select, update

from models import LanguageModel
from models.base import ReasonCode, table
from resolvers.acting import Acting
from resolvers.errors import Conflict, Duplicate, InvalidInput, NotFound, Subject
from resolvers.forms import require_identity, require_text
from resolvers.model_rules import ModelRules
from resolvers.sql import among
from resolvers.values import MONEY, is_money

models = table(LanguageModel)

PROVIDERS = ("openai", "anthropic", "google")
OPTIONAL = ("base_url", "api_key_variable")


def is_key_present(model: FromClause) -> ColumnElement[bool]:
    """Whether this process has the variable that holds the key; its value is never looked at."""
    return func.coalesce(among(model.c.api_key_variable, sorted(os.environ)), literal(False))


async def create(acting: Acting, given: Mapping[str, Any]) -> int:
    _require_sound(given)
    _require_allowed(given)
    await _require_free(acting, given["name"], None)
    added = insert(models).values(**given).returning(models.c.id)
    return int((await acting.connection.execute(added)).scalar_one())


async def change(acting: Acting, key: int, expected_version: int, given: Mapping[str, Any]) -> int:
    """Change what is given of a model; null clears what can be without."""
    _require_sound(given)
    held = select(models).where(models.c.id == key).with_for_update()
    row: Row[Any] | None = (await acting.connection.execute(held)).one_or_none()
    if row is None:
        raise NotFound("There is no such model.", ("id",))
    if row.version != expected_version:
        raise Conflict("The model was changed since that version.", Subject(LanguageModel, key), row.version)
    if given.keys() & {"provider", *OPTIONAL}:
        _require_allowed({**row._mapping, **given})
    if "name" in given:
        await _require_free(acting, given["name"], key)
    await acting.connection.execute(update(models).where(models.c.id == key).values(version=row.version + 1, **given))
    return key


async def _require_free(acting: Acting, name: str, own: int | None) -> None:
    taken = await acting.connection.scalar(select(models.c.id).where(models.c.name == name))
    if taken is not None and taken != own:
        raise Duplicate(f"A model {name} exists.", Subject(LanguageModel, taken))


def _require_sound(given: Mapping[str, Any]) -> None:
    if "name" in given:
        require_identity(given["name"] or "", ("name",))
    for name in ("provider", "model_name", *OPTIONAL):
        if name in given and not (given[name] is None and name in OPTIONAL):
            require_text(given[name] or "", (name,))
    if "provider" in given and given["provider"] not in PROVIDERS:
        message = f"A provider is one of {', '.join(PROVIDERS)}."
        raise InvalidInput(message, ("provider",), ReasonCode.INVALID_FIELD)
    for name in ("input_price", "output_price"):
        price: Decimal | None = given.get(name)
        if price is not None and not is_money(price):
            raise InvalidInput(f"A price must be {MONEY}.", (name,), ReasonCode.INVALID_FIELD)
    for name in ("requests_per_minute", "max_concurrency"):
        if given.get(name) is not None and given[name] < 1:
            raise InvalidInput("This must be 1 or more.", (name,), ReasonCode.INVALID_FIELD)
    if "max_concurrency" in given and given["max_concurrency"] is None:
        raise InvalidInput("This can be changed, but not cleared.", ("max_concurrency",), ReasonCode.INVALID_FIELD)


def _require_allowed(model: Mapping[str, Any]) -> None:
    rules = ModelRules.of_environment()
    variable: str | None = model.get("api_key_variable")
    fault = variable and rules.fault_of_key_variable(variable)
    if fault:
        raise InvalidInput(fault, ("api_key_variable",), ReasonCode.INVALID_FIELD)
    fault = rules.fault_of_address(model["provider"], model.get("base_url"))
    if fault:
        raise InvalidInput(fault, ("base_url",), ReasonCode.INVALID_FIELD)
