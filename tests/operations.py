"""Random operations that ask for what is there: hypothesis-graphql's, with values that the data knows."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import graphql
from graphql import (
    ArgumentNode,
    BooleanValueNode,
    DirectiveNode,
    DocumentNode,
    FieldNode,
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLSchema,
    IntValueNode,
    ListValueNode,
    NameNode,
    NullValueNode,
    OperationDefinitionNode,
    StringValueNode,
    TypeInfo,
    TypeInfoVisitor,
    ValueNode,
    VariableDefinitionNode,
    VariableNode,
    Visitor,
    value_from_ast_untyped,
    visit,
)
from hypothesis import strategies as st
from hypothesis_graphql import queries

SIZES = ("0", "1", "2", "3", "500")


@dataclass
class Known:
    """Values that occur in the data."""

    texts: Sequence[str]
    ids: Sequence[str]
    """Of any type, for `node` and `nodes`."""
    cursors: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By the list, as `Type.field`, in its own order."""
    ids_of: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Of one type, by the argument or, with a dot before it, the filter that takes them."""
    literals: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Literals by the name of their scalar."""


@dataclass
class Asked:
    text: str
    variables: dict[str, Any]


class Informed(Visitor):
    """Replaces the values that were drawn blindly, and moves some of them into variables."""

    def __init__(self, info: TypeInfo, known: Known, chance: random.Random) -> None:
        super().__init__()
        self.info = info
        self.known = known
        self.chance = chance
        self.variables: dict[str, Any] = {}
        self.declared: list[VariableDefinitionNode] = []
        self.list = ""

    def enter_field(self, node: FieldNode, *_: Any) -> FieldNode | None:
        self.list = f"{self.info.get_parent_type()}.{node.name.value}"
        arguments = [each for each in node.arguments or () if self._keeps(each, node)]
        directives = [*(node.directives or ()), *self._directives(node)]
        if len(arguments) == len(node.arguments or ()) and len(directives) == len(node.directives or ()):
            return None
        return FieldNode(
            alias=node.alias,
            name=node.name,
            arguments=tuple(arguments),
            directives=tuple(directives),
            selection_set=node.selection_set,
        )

    def _keeps(self, argument: ArgumentNode, node: FieldNode) -> bool:
        names = {each.name.value for each in node.arguments or ()}
        match argument.name.value:
            case "last":
                return "first" not in names
            case "orderBy":
                # A cursor belongs to one order, and those that are known to the list's own.
                return not names & {"after", "before"}
            case "after" | "before":
                return bool(self.known.cursors.get(self.list))
            case _:
                return True

    def _directives(self, node: FieldNode) -> list[DirectiveNode]:
        if self.info.get_parent_type() is None or self.chance.random() < 0.9:
            return []
        name = self.chance.choice(["skip", "include"])
        value = self._variable(BooleanValueNode(value=self.chance.random() < 0.5), "Boolean!")
        return [DirectiveNode(name=NameNode(value=name), arguments=(argument("if", value),))]

    def leave_argument(self, node: ArgumentNode, *_: Any) -> ArgumentNode | None:
        type_ = self.info.get_input_type()
        if node.name.value == "if" or type_ is None:
            return None
        value = self._informed(node.value, type_, node.name.value)
        if self.chance.random() > 0.5:
            value = self._variable(value, str(type_))
        return argument(node.name.value, value)

    def _variable(self, value: ValueNode, type_: str) -> VariableNode:
        name = f"v{len(self.declared)}"
        self.variables[name] = value_from_ast_untyped(value)
        variable = VariableNode(name=NameNode(value=name))
        declared = VariableDefinitionNode(variable=variable, type=graphql.parse_type(type_), directives=())
        self.declared.append(declared)
        return variable

    def _informed(self, value: ValueNode, type_: Any, name: str) -> ValueNode:
        if isinstance(type_, GraphQLNonNull):
            return self._informed(value, type_.of_type, name)
        if isinstance(value, NullValueNode):
            return value
        if isinstance(type_, GraphQLList):
            items = value.values if isinstance(value, ListValueNode) else (value,)
            return ListValueNode(values=tuple(self._informed(each, type_.of_type, name) for each in items))
        if isinstance(type_, GraphQLInputObjectType):
            return self._object(value, type_, name)
        return value if isinstance(type_, GraphQLEnumType) else self._leaf(value, type_.name, name)

    def _object(self, value: Any, type_: GraphQLInputObjectType, name: str) -> ValueNode:
        operators = "isNull" in type_.fields
        made = []
        for each in value.fields:
            inner = type_.fields[each.name.value].type
            # Only isNull may be null in a comparison.
            if operators and isinstance(each.value, NullValueNode) and each.name.value != "isNull":
                continue
            made.append(
                graphql.ObjectFieldNode(
                    name=each.name,
                    value=self._informed(each.value, inner, name if operators else f".{each.name.value}"),
                )
            )
        return graphql.ObjectValueNode(fields=tuple(made))

    def _leaf(self, value: ValueNode, type_name: str, name: str) -> ValueNode:
        choose, known = self.chance.choice, self.known
        if name in ("first", "last"):
            return IntValueNode(value=choose(SIZES))
        if name in ("after", "before"):
            return StringValueNode(value=choose(known.cursors[self.list]))
        if type_name == "ID":
            return StringValueNode(value=choose(known.ids_of.get(name, known.ids)))
        if type_name == "String":
            return StringValueNode(value=choose(known.texts))
        if type_name in known.literals:
            return graphql.parse_value(choose(known.literals[type_name]))
        return value


def argument(name: str, value: ValueNode) -> ArgumentNode:
    return ArgumentNode(name=NameNode(value=name), value=value)


def informed(text: str, schema: GraphQLSchema, known: Known, chance: random.Random) -> Asked:
    info = TypeInfo(schema)
    visitor = Informed(info, known, chance)
    document: DocumentNode = visit(graphql.parse(text), TypeInfoVisitor(info, visitor))
    (operation,) = document.definitions
    assert isinstance(operation, OperationDefinitionNode)
    made = OperationDefinitionNode(
        operation=operation.operation,
        name=NameNode(value="Drawn"),
        variable_definitions=tuple(visitor.declared),
        directives=(),
        selection_set=operation.selection_set,
    )
    return Asked(graphql.print_ast(made), visitor.variables)


def operations(schema: GraphQLSchema, known: Known, fields: Sequence[str]) -> st.SearchStrategy[Asked]:
    scalars = {
        name: st.sampled_from(values).map(graphql.parse_value)
        for name, values in known.literals.items()
        if name not in graphql.specified_scalar_types
    }
    drawn = queries(schema, fields=fields, custom_scalars=scalars)
    return st.builds(lambda text, chance: informed(text, schema, known, chance), drawn, st.randoms())
