"""What an operation selects, by graphql-core's own rules: fragments, directives, merged fields, argument values."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from graphql import (
    GraphQLField,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    OperationDefinitionNode,
    get_named_type,
)
from graphql.execution.collect_fields import (
    FieldDetailsList,
    FragmentDetails,
    GroupedFieldSet,
    collect_fields,
    collect_subfields,
)
from graphql.execution.values import VariableValues, get_argument_values
from strawberry.schema.schema_converter import GraphQLCoreConverter

BACKREF = GraphQLCoreConverter.DEFINITION_BACKREF
TYPENAME = "__typename"


@dataclass(frozen=True)
class Selected:
    """One field of the answer."""

    key: str
    name: str
    path: tuple[str, ...]
    details: FieldDetailsList
    definition: GraphQLField | None
    arguments: Mapping[str, Any]

    @property
    def type(self) -> GraphQLNamedType:
        assert self.definition is not None
        return get_named_type(self.definition.type)

    @property
    def declaration(self) -> Any:
        """The Strawberry field that this one was made from."""
        return self.definition.extensions.get(BACKREF) if self.definition else None

    @property
    def nodes(self) -> list[Any]:
        return [detail.node for detail in self.details]

    @property
    def selects(self) -> tuple[Any, ...]:
        """What tells this selection from others of its operation: under one path, different types can stand.

        Nodes are known by their ids, which hold as long as the operation; comparing them costs more than all else.
        """
        return (self.path, tuple(map(id, self.nodes)))


@dataclass(frozen=True)
class Operation:
    """An operation together with the outline of its variables."""

    schema: GraphQLSchema
    fragments: dict[str, FragmentDetails]
    definition: OperationDefinitionNode
    variables: VariableValues

    @property
    def root_type(self) -> GraphQLObjectType:
        type_ = self.schema.get_root_type(self.definition.operation)
        assert type_ is not None
        return type_

    def roots(self) -> list[Selected]:
        type_ = self.root_type
        collected = collect_fields(self.schema, self.fragments, self.variables, type_, self.definition)
        return list(self._selected(type_, collected.grouped_field_set, ()))

    def within(self, field: Selected, type_: GraphQLObjectType) -> list[Selected]:
        return self.beneath(field.details, type_, field.path)

    def beneath(self, details: FieldDetailsList, type_: GraphQLObjectType, path: tuple[str, ...]) -> list[Selected]:
        collected = collect_subfields(self.schema, self.fragments, self.variables, self.definition, type_, details)
        return list(self._selected(type_, collected.grouped_field_set, path))

    def _selected(
        self, type_: GraphQLObjectType, grouped: GroupedFieldSet, path: tuple[str, ...]
    ) -> Iterator[Selected]:
        for key, details in grouped.items():
            node = details[0].node
            name = node.name.value
            definition = self.schema.get_field(type_, name)
            if definition is None:
                continue
            arguments = get_argument_values(definition, node, self.variables, details[0].fragment_variable_values)
            yield Selected(key, name, (*path, key), details, definition, arguments)
