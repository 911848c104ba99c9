"""The input types that follow from a type's declaration: its filter, its order, the arguments of its lists."""

from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from functools import cache
from typing import Any

import strawberry
from strawberry.annotation import StrawberryAnnotation
from strawberry.types.arguments import StrawberryArgument
from strawberry.types.base import (
    StrawberryContainer,
    StrawberryObjectDefinition,
    has_object_definition,
)
from strawberry.types.enum import StrawberryEnumDefinition
from strawberry.types.field import StrawberryField
from strawberry.types.lazy_type import LazyType
from strawberry.types.scalar import ScalarDefinition, ScalarWrapper
from strawberry.types.unset import UNSET

from engine.graph import Connection, SortDirection
from engine.sources import Argument, Backing, Filter, backing_of

EXACT = ("eq", "ne", "in")
ORDERED = ("gt", "gte", "lt", "lte")
OPERATORS = {
    "String": (*EXACT, "contains", "starts_with"),
    "Boolean": ("eq",),
    "Int": ("eq", "in", *ORDERED),
    "BigInt": ("eq", "in", *ORDERED),
    "Float": ("eq", *ORDERED),
    "Decimal": ("eq", *ORDERED),
    "DateTime": ORDERED,
}
BUILT_IN = {str: "String", bool: "Boolean", int: "Int", float: "Float", Decimal: "Decimal", strawberry.ID: "ID"}


class Late(StrawberryAnnotation):
    """An annotation that is worked out when the schema is built, once every type it can lead to is declared."""

    def __init__(self, make: Callable[[], Any]) -> None:
        super().__init__(Any, namespace={})
        self.make = make

    def evaluate(self) -> Any:
        return self.make()


def unwrapped(type_: Any) -> Any:
    """The type within lists, nulls and lazy references."""
    if isinstance(type_, LazyType):
        return unwrapped(type_.resolve_type())
    if isinstance(type_, StrawberryContainer):
        return unwrapped(type_.of_type)
    return type_


def target_of(field: StrawberryField) -> type:
    """The type whose rows a field leads to, seen through the connection around it."""
    type_ = unwrapped(field.type)
    definition: StrawberryObjectDefinition = type_.__strawberry_definition__
    if definition.concrete_of is not None and definition.concrete_of.origin is Connection:
        return unwrapped(definition.type_var_map["T"])  # type: ignore[no-any-return]
    return type_  # type: ignore[no-any-return]


def argument(name: str, annotation: Any, *, default: Any = UNSET, description: str | None = None) -> StrawberryArgument:
    made = StrawberryArgument(name, None, StrawberryAnnotation(annotation), default=default)
    made.description = description
    return made


def own_arguments(arguments: dict[str, Argument]) -> list[StrawberryArgument]:
    return [
        argument(name, each.annotation, default=each.default, description=each.description)
        for name, each in arguments.items()
    ]


def list_arguments(target: type) -> list[StrawberryArgument]:
    """The arguments of a connection, as far as the type in it can be filtered, ordered or retired."""
    backing = backing_of(target)
    if backing is None:
        raise LookupError(f"{target.__name__} is not backed, so there can be no connection of it")
    arguments = []
    if backing.filters:
        arguments.append(argument("where", filter_of(target) | None))
    if backing.orders:
        arguments.append(argument("order_by", list[order_of(target)] | None))  # type: ignore[misc]
    if backing.visible is not None:
        arguments.append(argument("include_retired", bool | None, default=False))
    pages = {"first": int, "after": str, "last": int, "before": str}
    return arguments + [argument(name, of | None) for name, of in pages.items()]


@cache
def filter_of(target: type) -> Any:
    """`<Type>Filter`: the declared fields, and `and`, `or`, `not` of itself."""
    backing = backing_of(target)
    assert backing is not None
    name = f"{backing.name}Filter"
    fields = [_optional(name, _filter_by(backing, entry)) for name, entry in filter_entries(backing).items()]
    connectives: dict[str, Callable[[], Any]] = {
        "and": lambda: list[filter_of(target)],  # type: ignore[misc]
        "or": lambda: list[filter_of(target)],  # type: ignore[misc]
        "not": lambda: filter_of(target),
    }
    return input_type(name, [*fields, *(_optional(word, make) for word, make in connectives.items())])


def filter_entries(backing: Backing) -> dict[str, str | Filter]:
    return {entry.name if isinstance(entry, Filter) else entry: entry for entry in backing.filters}


def _filter_by(backing: Backing, entry: str | Filter) -> Callable[[], Any]:
    if isinstance(entry, Filter):
        return lambda: scalar_filter(StrawberryAnnotation(entry.annotation).resolve())

    def make() -> Any:
        type_ = unwrapped(backing.field(entry).type)
        return filter_of(type_) if has_object_definition(type_) else scalar_filter(type_)

    return make


def scalar_filter(type_: Any) -> Any:
    type_ = unwrapped(type_)
    name = leaf_name(type_)
    plain = type_.wrapped_cls if isinstance(type_, StrawberryEnumDefinition) else type_
    return operators(f"{name}Filter", plain, OPERATORS.get(name, EXACT))


def leaf_name(type_: Any) -> str:
    if isinstance(type_, StrawberryEnumDefinition):
        return type_.name
    if isinstance(type_, ScalarWrapper):
        return type_._scalar_definition.name
    if isinstance(type_, ScalarDefinition):
        return type_.name
    if type_.__name__ == "datetime":
        return "DateTime"
    return BUILT_IN.get(type_) or str(type_.__name__)


@cache
def operators(name: str, leaf: Any, words: tuple[str, ...]) -> Any:
    fields = [_optional(word, _operand(word, leaf)) for word in words]
    return input_type(name, [*fields, _optional("is_null", lambda: bool)])


def _operand(word: str, leaf: Any) -> Callable[[], Any]:
    return lambda: list[leaf] if word == "in" else leaf


@cache
def order_of(target: type) -> Any:
    """`<Type>Order`: a field to sort by, and a direction."""
    backing = backing_of(target)
    assert backing is not None
    members = {name.upper(): name for name in backing.orders}
    enum = strawberry.enum(enumeration(f"{backing.name}OrderField", members))
    field = StrawberryField(python_name="field", type_annotation=StrawberryAnnotation(enum))
    direction = StrawberryField(
        python_name="direction", type_annotation=StrawberryAnnotation(SortDirection), default=SortDirection.ASC
    )
    return input_type(f"{backing.name}Order", [field, direction])


def enumeration(name: str, members: dict[str, str]) -> type[Enum]:
    make: Any = Enum
    made: type[Enum] = make(name, members, module=__name__)
    return made


def input_type(name: str, fields: list[StrawberryField]) -> Any:
    origin = type(name, (), {"__module__": __name__})
    definition = StrawberryObjectDefinition(
        name=name,
        is_input=True,
        is_interface=False,
        interfaces=[],
        description=None,
        origin=origin,
        extend=False,
        directives=(),
        is_type_of=None,
        resolve_type=None,
        fields=[],
    )
    # Given only now, because a definition looks at the types of its first fields at once.
    definition.fields = fields
    for field in fields:
        field.origin = origin
    origin.__strawberry_definition__ = definition  # type: ignore[attr-defined]
    return origin


def _optional(name: str, make: Callable[[], Any]) -> StrawberryField:
    return StrawberryField(python_name=name, type_annotation=Late(lambda: make() | None), default=UNSET)
