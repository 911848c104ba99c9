"""How much one request may ask for, judged before Postgres is asked."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from graphql import (
    DocumentNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionSetNode,
)

from engine.errors import TooCostly
from engine.values import Values, filled


@dataclass(frozen=True)
class Limits:
    """`nodes` bounds what nested pages multiply to, `levels` how deep fields nest, `fields` and `roots` how many
    there are, `lists` and `conditions` how much of one statement takes long to plan, and `tokens` the text of the
    operation."""

    nodes: int = 1_000_000
    levels: int = 24
    fields: int = 5_000
    lists: int = 100
    conditions: int = 1_000
    roots: int = 50
    ids: int = 500
    tokens: int = 20_000


Sizes = tuple[Any, ...]


class Budget:
    """What one statement may come to: for each list in it, the sizes of the pages around it and its own."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.lists: list[Sizes] = []
        self.fields = 0
        self.conditions = 0

    def page(self, around: Sizes, size: Any) -> Sizes:
        if len(self.lists) == self.limits.lists:
            raise TooCostly(f"an answer holds at most {self.limits.lists} different lists")
        sizes = (*around, size)
        self.lists.append(sizes)
        return sizes

    def filter(self, conditions: int) -> None:
        self.conditions += conditions
        if self.conditions > self.limits.conditions:
            raise TooCostly(
                f"filters have at most {self.limits.conditions:,} conditions: `in` takes many values as one"
            )

    def select(self, fields: Sequence[Any], level: int) -> None:
        self.fields += len(fields)
        if self.fields > self.limits.fields:
            raise TooCostly(f"an answer selects at most {self.limits.fields} fields")
        if level > self.limits.levels:
            raise TooCostly(f"fields nest at most {self.limits.levels} deep", fields[0].nodes if fields else None)

    def check(self, values: Values) -> None:
        nodes = sum(prod(filled(size, values) for size in sizes) for sizes in self.lists)
        if nodes > self.limits.nodes:
            raise TooCostly(
                f"the pages of this query multiply to {nodes:,} entries, more than the {self.limits.nodes:,} "
                "that one answer may hold: ask for smaller pages"
            )


def require_few_roots(document: DocumentNode, limits: Limits) -> list[GraphQLError]:
    """Each root field is a statement of its own, so their number is bounded, aliases included."""
    fragments = {
        each.name.value: each.selection_set for each in document.definitions if isinstance(each, FragmentDefinitionNode)
    }
    operations = (each for each in document.definitions if isinstance(each, OperationDefinitionNode))
    return [
        TooCostly(f"an operation has at most {limits.roots} root fields", operation)
        for operation in operations
        if _roots(operation.selection_set, dict(fragments)) > limits.roots
    ]


def _roots(selections: SelectionSetNode, unseen: dict[str, SelectionSetNode]) -> int:
    """How many fields there are, a fragment that is spread again counting once."""
    count = 0
    for selection in selections.selections:
        match selection:
            case InlineFragmentNode():
                count += _roots(selection.selection_set, unseen)
            case FragmentSpreadNode():
                fragment = unseen.pop(selection.name.value, None)
                count += 0 if fragment is None else _roots(fragment, unseen)
            case _:
                count += 1
    return count
