"""Variables: their shape, which picks a plan, and their leaves, which are bound to it."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLList,
    GraphQLNamedType,
    GraphQLNonNull,
    Undefined,
    get_named_type,
)
from sqlalchemy import BindParameter, Integer, literal
from sqlalchemy.types import TypeEngine

from engine.errors import InvalidArgument

Values = Mapping[str, Any]
Transform = Callable[[Any], Any]


@dataclass(frozen=True)
class Slot:
    """Stands where a leaf of the variables will stand when the plan is asked."""

    path: tuple[str | int, ...]

    def fill(self, values: Values) -> Any:
        found: Any = values
        for part in self.path:
            found = found[part]
        return found


def is_structural(type_: GraphQLNamedType) -> bool:
    """Whether values of this type decide what the statement looks like, rather than being bound to it."""
    return isinstance(type_, GraphQLEnumType) or type_.name == "Boolean"


def outline(type_: GraphQLInputType, value: Any, path: tuple[str | int, ...]) -> Any:
    """The value with slots for its leaves; what is left of it is its shape."""
    if value is None or value is Undefined:
        return value
    if isinstance(type_, GraphQLNonNull):
        return outline(type_.of_type, value, path)
    named = get_named_type(type_)
    if isinstance(named, GraphQLInputObjectType):
        return _outline_object(type_, named, value, path)
    return value if is_structural(named) else Slot(path)


def _outline_object(
    type_: GraphQLInputType, named: GraphQLInputObjectType, value: Any, path: tuple[str | int, ...]
) -> Any:
    if isinstance(type_, GraphQLList):
        return [outline(type_.of_type, item, (*path, index)) for index, item in enumerate(value)]
    return {key: outline(named.fields[key].type, item, (*path, key)) for key, item in value.items()}


def shape(outlined: Any) -> Hashable:
    """The outline as a key: equal for values that the same plan can answer."""
    if isinstance(outlined, dict):
        return tuple((key, shape(item)) for key, item in sorted(outlined.items()))
    if isinstance(outlined, list):
        return tuple(shape(item) for item in outlined)
    # True == 1 for a dict of plans, and an enum member may equal a string.
    return (type(outlined).__name__, outlined.name) if isinstance(outlined, Enum) else (type(outlined), outlined)


def has_slots(template: Any) -> bool:
    if isinstance(template, list):
        return any(has_slots(item) for item in template)
    return isinstance(template, Slot)


def filled(template: Any, values: Values) -> Any:
    if isinstance(template, Slot):
        return template.fill(values)
    if isinstance(template, list):
        return [filled(item, values) for item in template]
    return template


@dataclass(frozen=True)
class Binder:
    """One parameter of a statement: which leaf it takes, and what becomes of it."""

    template: Any
    transform: Transform

    def __call__(self, values: Values) -> Any:
        return self.transform(filled(self.template, values))


class Asked(BindParameter[Any]):
    """A value of a request, which must stay a parameter of the statement."""

    inherit_cache = True


class Parameters:
    """The parameters of one statement in the making."""

    def __init__(self) -> None:
        self.binders: dict[str, Binder] = {}

    def bind(self, template: Any, type_: TypeEngine[Any], transform: Transform = lambda value: value) -> Any:
        """A bound parameter. What is constant is checked now, once."""
        if isinstance(template, Enum):
            return literal(transform(template), type_)
        if not has_slots(template):
            return Asked(None, transform(template), type_, unique=True)
        name = f"given_{len(self.binders)}"
        self.binders[name] = Binder(template, transform)
        return Asked(name, None, type_)

    def count(self, template: Any, transform: Transform) -> BindParameter[int]:
        """A number of rows, written into the statement where it is constant, so that Postgres can plan for it."""
        if has_slots(template):
            return self.bind(template, Integer(), transform)  # type: ignore[no-any-return]
        return literal(transform(template), Integer(), literal_execute=True)


def text(value: Any, path: tuple[str | int, ...]) -> Any:
    """Text as Postgres can hold it."""
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, str):
        _require_storable(value, path)
    return value


def texts(values: list[Any], path: tuple[str | int, ...]) -> list[Any]:
    return [text(value, path) for value in values]


def _require_storable(value: str, path: tuple[str | int, ...]) -> None:
    if "\0" in value:
        raise InvalidArgument("text cannot hold the character U+0000", path)
    if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
        raise InvalidArgument("text cannot hold half of a surrogate pair", path)
