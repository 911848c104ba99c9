"""Benchmarks: made, changed and taken away, with nothing that a person locked lost unasked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, delete, func, insert, select, update

from models import Agent, Benchmark
from models.base import AgentKind, ExpectedOutputChange, FieldType, Origin, ReasonCode, table
from resolvers.acting import Acting
from resolvers.errors import Duplicate, InvalidInput, Locked, NotFound, Subject
from resolvers.forms import require_identity, require_storable, require_text
from resolvers.sql import among
from resolvers.tables import alone, benchmarks, changed, fields, rows, told, topic, values

agents = table(Agent)


@dataclass(frozen=True, slots=True)
class FieldGiven:
    """A field as a caller defines it."""

    name: str
    type: FieldType
    description: str | None


async def create(
    acting: Acting,
    *,
    name: str,
    kind: AgentKind,
    agent_id: str | None,
    description: str | None,
    given: Sequence[FieldGiven],
    auto_capture: bool,
) -> int:
    require_storable(description, ("description",))
    _require_fields(kind, given)
    await _require_free_name(acting, name, None)
    agent_pk = None if agent_id is None else await _agent(acting, agent_id)
    made = insert(benchmarks).values(
        name=name, kind=kind, agent_pk=agent_pk, description=description, auto_capture=auto_capture, version=1
    )
    key = int((await acting.connection.execute(made.returning(benchmarks.c.id))).scalar_one())
    await _define(acting, key, given)
    return key


async def change(
    acting: Acting,
    key: int,
    expected_version: int,
    *,
    changes: Mapping[str, Any],
    given: Sequence[FieldGiven] | None,
) -> int:
    """How many values went because their field was dropped or retyped."""
    benchmark = await alone(acting, key, expected_version, path=("id",))
    require_storable(changes.get("description"), ("description",))
    if "name" in changes:
        await _require_free_name(acting, changes["name"] or "", key)
    dropped = 0
    if given is not None:
        _require_fields(benchmark.kind, given)
        dropped = await _drop_values(acting, key, given)
        await acting.connection.execute(delete(fields).where(fields.c.benchmark_pk == key))
        await _define(acting, key, given)
    await changed(acting, benchmark, **changes)
    return dropped


async def remove(acting: Acting, key: int, expected_version: int, *, include_locked: bool) -> int:
    """How many rows went with the benchmark."""
    benchmark = await alone(acting, key, expected_version, path=("id",))
    await require_unlocked(acting, rows.c.benchmark_pk == key, include_locked=include_locked)
    count = await acting.connection.scalar(select(func.count()).where(rows.c.benchmark_pk == key))
    await told(acting, ExpectedOutputChange.CLEARED, by_person=include_locked)
    await acting.connection.execute(update(benchmarks).where(benchmarks.c.id == key).values(source_track_pk=None))
    await acting.connection.execute(delete(benchmarks).where(benchmarks.c.id == key))
    acting.topics.add(topic(benchmark.id))
    return int(count or 0)


async def require_unlocked(acting: Acting, which: ColumnElement[bool], *, include_locked: bool) -> None:
    """Rows with values that a person locked go only when the caller says so."""
    if include_locked:
        return
    held = select(rows.c.id, values.c.field).join(values, values.c.row_pk == rows.c.id).where(which, values.c.locked)
    await _refuse_locked(acting, held)


async def _refuse_locked(acting: Acting, held: Select[Any]) -> None:
    """Where there are such rows and fields, nobody is asked whether they may go."""
    found = (await acting.connection.execute(held.order_by(*held.selected_columns))).all()
    if not found:
        return
    keys = list(dict.fromkeys(row[0] for row in found))
    names = sorted({row[1] for row in found if row[1]})
    message = "1 row holds" if len(keys) == 1 else f"{len(keys)} rows hold"
    raise Locked(f"{message} values that a person locked.", keys, names)


async def _agent(acting: Acting, agent_id: str) -> int:
    require_text(agent_id, ("agent_id",))
    found = select(agents.c.id).where(agents.c.agent_id == agent_id, agents.c.retired_at.is_(None))
    if (key := await acting.connection.scalar(found)) is None:
        raise NotFound(f"No agent {agent_id} is registered.", ("agent_id",))
    return int(key)


async def _require_free_name(acting: Acting, name: str, own: int | None) -> None:
    require_identity(name, ("name",))
    taken = await acting.connection.scalar(select(benchmarks.c.id).where(benchmarks.c.name == name))
    if taken is not None and taken != own:
        raise Duplicate(f"A benchmark {name} exists.", Subject(Benchmark, taken))


def _require_fields(kind: AgentKind, given: Sequence[FieldGiven]) -> None:
    if kind == AgentKind.CONVERSATION and given:
        raise InvalidInput("A conversation answers in text, not in fields.", ("fields",), ReasonCode.INVALID_FIELD)
    names: set[str] = set()
    for place, field in enumerate(given):
        path = ("fields", str(place), "name")
        require_identity(field.name, path)
        require_storable(field.description, ("fields", str(place), "description"))
        if field.name in names:
            raise InvalidInput("A field is named once.", path, ReasonCode.INVALID_FIELD)
        names.add(field.name)


async def _define(acting: Acting, key: int, given: Sequence[FieldGiven]) -> None:
    if given:
        await acting.connection.execute(
            insert(fields),
            [
                {
                    "benchmark_pk": key,
                    "name": field.name,
                    "position": place,
                    "type": field.type,
                    "description": field.description,
                }
                for place, field in enumerate(given)
            ],
        )


async def _drop_values(acting: Acting, key: int, given: Sequence[FieldGiven]) -> int:
    """The values of fields that are dropped or retyped go, unless a person locked one."""
    wanted = {field.name: field.type for field in given}
    held = await acting.connection.execute(select(fields.c.name, fields.c.type).where(fields.c.benchmark_pk == key))
    gone = [row.name for row in held if wanted.get(row.name) != row.type]
    if not gone:
        return 0
    affected = and_(
        among(values.c.field, gone), values.c.row_pk.in_(select(rows.c.id).where(rows.c.benchmark_pk == key))
    )
    await _refuse_locked(acting, select(values.c.row_pk, values.c.field).where(affected, values.c.locked))
    present = select(func.count()).where(affected, values.c.origin != Origin.EMPTY)
    count = int((await acting.connection.execute(present)).scalar_one())
    await told(acting, ExpectedOutputChange.CLEARED, by_person=False)
    await acting.connection.execute(delete(values).where(affected))
    return count
