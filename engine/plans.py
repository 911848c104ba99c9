"""Plans: the statements of an operation, compiled once for every shape that its variables take."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sqlalchemy import Boolean, ColumnElement, Integer, ScalarSelect, String, select
from sqlalchemy.dialects.postgresql import asyncpg
from sqlalchemy.dialects.postgresql.asyncpg import PGCompiler_asyncpg

from engine.limits import Budget
from engine.sources import Guard
from engine.values import Asked, Binder, Parameters, Values

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Compiler(PGCompiler_asyncpg):
    """Writes what declarations compare with into the statement, where Postgres can see it.

    After five times Postgres plans a statement for any parameters. What is the same each time must not be one: it would
    be guessed at, and an index of the rows with just that word left alone.
    """

    def visit_bindparam(self, bindparam: Any, *positional: Any, **options: Any) -> str:
        if is_declared(bindparam):
            options["literal_execute"] = True
        return super().visit_bindparam(bindparam, *positional, **options)  # type: ignore[no-untyped-call,no-any-return]


def is_declared(parameter: Any) -> bool:
    if isinstance(parameter, Asked) or parameter.expanding:
        return False
    # A literal with a backslash is read by the server's settings.
    return isinstance(parameter.type, String | Integer | Boolean) and "\\" not in str(parameter.value)


DIALECT = asyncpg.dialect()  # type: ignore[no-untyped-call]
DIALECT.statement_compiler = Compiler


class Recent(Generic[K, V]):
    """A cache that forgets what was not used for longest once its entries weigh more than it may hold."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._weight = 0

    def get(self, key: K) -> V | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._entries.move_to_end(key)
        return entry[0]

    def keep(self, key: K, value: V, weight: int = 1) -> V:
        _, replaced = self._entries.pop(key, (value, 0))
        self._entries[key] = value, weight
        self._weight += weight - replaced
        while self._weight > self.most:
            _, (_, forgotten) = self._entries.popitem(last=False)
            self._weight -= forgotten
        return value

    def __len__(self) -> int:
        return len(self._entries)


@dataclass(frozen=True)
class Bound:
    """A parameter that each request gives: its place, its binder, and what the driver wants done to it."""

    place: int
    binder: Binder
    process: Callable[[Any], Any] | None

    def value(self, values: Values) -> Any:
        value = self.binder(values)
        return value if self.process is None else self.process(value)


@dataclass(frozen=True)
class Statement:
    """SQL as Postgres gets it, and how a request's values become its parameters.

    What a statement has no use for is looked at all the same: a cursor is refused although only the count is asked.
    """

    sql: str
    constants: Sequence[Any]
    bound: Sequence[Bound]
    unused: Sequence[Binder]
    budget: Budget
    guards: Sequence[Guard]

    def arguments(self, values: Values) -> list[Any]:
        for binder in self.unused:
            binder(values)
        arguments = list(self.constants)
        for each in self.bound:
            arguments[each.place] = each.value(values)
        self.budget.check(values)
        return arguments


def compiled(
    value: ColumnElement[Any], parameters: Parameters, budget: Budget, guards: Iterable[Guard] = ()
) -> Statement:
    # Within another statement it would be planned anew for each request, which takes as long as a look-up.
    statement = value.element if isinstance(value, ScalarSelect) else select(value)
    made = statement.compile(dialect=DIALECT)
    # What is executed literally becomes part of the text here; the rest keeps its place.
    state = made.construct_expanded_state()
    names = state.positiontup or ()
    processors: Mapping[str, Any] = state.processors
    constants: list[Any] = []
    bound: list[Bound] = []
    for place, name in enumerate(names):
        process = processors.get(name)
        if binder := parameters.binders.get(name):
            bound.append(Bound(place, binder, process))
            constants.append(None)
        else:
            given = state.parameters[name]
            constants.append(process(given) if process else given)
    unused = [binder for name, binder in parameters.binders.items() if name not in names]
    return Statement(state.statement, constants, bound, unused, budget, tuple(guards))
