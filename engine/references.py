"""Reading by reference: a row of a type that is known only when the answer is made."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from typing import cast as typed

from graphql import GraphQLObjectType, GraphQLSchema
from sqlalchemy import ARRAY, ColumnElement, FromClause, Integer, Text, cast, func, literal, select, union_all
from sqlalchemy.dialects.postgresql import aggregate_order_by

from engine.collect import Selected
from engine.encode import constant, empty_list, read_global_id
from engine.errors import InvalidArgument
from engine.paging import bindable
from engine.rows import Found, source_of, typed_key
from engine.select import Selection, backing_behind
from engine.sources import Backing, backing_of
from engine.values import Slot

T = TypeVar("T")

GIVEN = ""
"""Where the keys stand among the values: no variable can have this name."""
BETWEEN = "\x1e"
"""Parts JSON texts, as in RFC 7464: within JSON, control characters are escaped."""


@dataclass(frozen=True)
class Ref:
    """Stands for a row in what a resolver returns; the engine reads it with the selection at that place.

    A key of None means the only row there is.
    """

    type: type
    key: int | str | None

    @property
    def type_name(self) -> str:
        backing = backing_of(self.type)
        assert backing is not None
        return backing.name


class Present(list[Ref]):
    """Rows that a resolver knew of; those that are gone by the time of reading are left out."""


def ref(type_: type[T], key: int | str | None = None) -> T:
    """A reference, typed as what it will be in the answer."""
    return typed(T, Ref(type_, key))


def present(type_: type[T], keys: Iterable[int | str]) -> list[T]:
    """References to those of these rows that are still there."""
    return typed(list[T], Present(Ref(type_, key) for key in keys))


def single(selection: Selection, field: Selected, type_: GraphQLObjectType) -> ColumnElement[Any]:
    backing = backing_behind(type_)
    row = _rows(backing)
    conditions = () if backing.key not in row.c else (backing.found_by(row, _key(selection, backing, row)),)
    return Found(row, conditions).selecting(selection.object(field, type_, row, ())).scalar_subquery()


def several(selection: Selection, field: Selected, types: Iterable[GraphQLObjectType]) -> ColumnElement[Any]:
    """One list of rows of all these types, in the order in which they were asked for; null for what is not there."""
    return _gathered(
        selection, field, types, lambda made, place: func.json_agg(aggregate_order_by(made, place)), empty_list()
    )


def apart(selection: Selection, field: Selected, types: Iterable[GraphQLObjectType]) -> ColumnElement[Any]:
    """The same rows, each as a text of its own; an empty one for what is not there."""

    def joined(made: ColumnElement[Any], place: ColumnElement[int]) -> ColumnElement[Any]:
        text = func.coalesce(cast(made, Text()), constant(""))
        between = func.chr(literal(ord(BETWEEN), Integer(), literal_execute=True))
        return func.string_agg(text, aggregate_order_by(between, place))

    return _gathered(selection, field, types, joined, constant(""))


def _gathered(
    selection: Selection,
    field: Selected,
    types: Iterable[GraphQLObjectType],
    gather: Callable[[ColumnElement[Any], ColumnElement[int]], ColumnElement[Any]],
    nothing: ColumnElement[Any],
) -> ColumnElement[Any]:
    found = union_all(*(_placed(selection, field, type_) for type_ in types)).subquery("found")
    count = selection.parameters.bind(Slot((GIVEN, "count")), Integer())
    places = func.generate_series(1, count).table_valued("place").render_derived()
    gathered = select(func.coalesce(gather(found.c.made, places.c.place), nothing))
    return gathered.select_from(places.outerjoin(found, found.c.place == places.c.place)).scalar_subquery()


def _placed(selection: Selection, field: Selected, type_: GraphQLObjectType) -> Any:
    backing = backing_behind(type_)
    row = _rows(backing)
    bind = selection.parameters.bind
    keys = bind(Slot((GIVEN, backing.name, "keys")), ARRAY(bindable(row.c[backing.key].type)))
    places = bind(Slot((GIVEN, backing.name, "places")), ARRAY(Integer()))
    asked = select(func.unnest(keys).label("key"), func.unnest(places).label("place")).subquery()
    made = selection.object(field, type_, row, ())
    return select(asked.c.place.label("place"), made.label("made")).select_from(
        asked.join(row, backing.found_by(row, asked.c.key))
    )


def _rows(backing: Backing) -> FromClause:
    if backing.rows is None:
        raise LookupError(f"{backing.name} has no rows of its own to refer to")
    return source_of(backing.rows, None)


def _key(selection: Selection, backing: Backing, row: FromClause) -> Any:
    return selection.parameters.bind(Slot((GIVEN, backing.name)), bindable(row.c[backing.key].type))


def given_key(reference: Ref) -> Mapping[str, Any]:
    return {GIVEN: {reference.type_name: reference.key}}


def given_keys(references: Sequence[Ref | None]) -> Mapping[str, Any]:
    given: dict[str, Any] = {"count": len(references)}
    for place, reference in enumerate(references, start=1):
        if reference is None:
            continue
        of_type = given.setdefault(reference.type_name, {"keys": [], "places": []})
        of_type["keys"].append(reference.key)
        of_type["places"].append(place)
    return {GIVEN: given}


def referred(schema: GraphQLSchema, id_: str, path: tuple[str | int, ...]) -> Ref:
    """What a global id refers to."""
    type_name, key = read_global_id(id_, path)
    type_ = schema.get_type(type_name)
    if not isinstance(type_, GraphQLObjectType) or not any(each.name == "Node" for each in type_.interfaces):
        raise InvalidArgument("this is not an id that this server gave out", path)
    backing = backing_behind(type_)
    return Ref(backing.origin, typed_key(_rows(backing).c[backing.key].type, key, path))
