"""Rows of a benchmark: added with what a person expects of them, changed, and removed with nothing locked lost."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, delete, func, insert, select, update

from models import Benchmark, BenchmarkRow, File, IdempotencyKey, RowFile
from models.base import AgentKind, ExpectedOutputChange, FieldType, ReasonCode, table
from resolvers import expected
from resolvers.acting import Acting
from resolvers.benchmarks import require_unlocked
from resolvers.canonical import digest_text, spelled
from resolvers.errors import Conflict, Duplicate, InvalidInput, NotFound, Subject
from resolvers.expected import TEXT, field_edits
from resolvers.forms import require_identity, require_storable, require_text
from resolvers.sql import among
from resolvers.tables import field_types, locked_rows, rows, shared, told, topic
from resolvers.values import written

files, row_files, answers = table(File), table(RowFile), table(IdempotencyKey)

MOST_FILES = 10
# Added to a benchmark's key it is a number that nothing else in the database locks.
APPENDING = 0x524F5753 << 32


@dataclass(frozen=True, slots=True)
class RowGiven:
    """A row as a caller sends it: at most one of `text` and `fields` says what is expected of it."""

    key: str | None
    input: str
    files: Sequence[tuple[str, str]]
    text: str | None
    fields: Any


async def add(acting: Acting, benchmark_pk: int, given: Sequence[RowGiven], idempotency_key: str | None) -> list[int]:
    """The rows' keys, in the order of the input. A repeated call under one key adds nothing."""
    benchmark = await appending(acting, benchmark_pk)
    digest = _digest(given)
    scope = f"addRows:{benchmark_pk}"
    if idempotency_key is not None:
        known = await _answered(acting, scope, idempotency_key, digest, benchmark)
        if known is not None:
            return known
    types = await field_types(acting, benchmark_pk)
    edits = [_expected(place, row, benchmark.kind, types) for place, row in enumerate(given)]
    await _require_keys(acting, benchmark_pk, given)
    await _require_files(acting, {("rows", str(place), "files"): row.files for place, row in enumerate(given)})
    keys = await _insert(acting, benchmark_pk, given)
    await _expect(acting, dict(zip(keys, edits, strict=True)))
    if idempotency_key is not None:
        await acting.connection.execute(
            insert(answers).values(scope=scope, key=idempotency_key, input_sha256=digest, answer=written(keys))
        )
    acting.topics.add(topic(benchmark_pk))
    return keys


async def change(acting: Acting, key: int, expected_version: int, changes: Mapping[str, Any]) -> int:
    """Change what is given of a row: its key, its input, its files."""
    row = await _held(acting, key, expected_version)
    if "input" in changes:
        _require_input(changes["input"], ("input",))
    if changes.get("key") is not None:
        require_identity(changes["key"], ("key",))
        await _require_free_key(acting, row.benchmark_pk, changes["key"], key)
    own = {name: changes[name] for name in ("key", "input") if name in changes}
    await acting.connection.execute(update(rows).where(rows.c.id == key).values(version=row.version + 1, **own))
    if "files" in changes:
        await _require_files(acting, {("files",): changes["files"] or ()})
        await acting.connection.execute(delete(row_files).where(row_files.c.row_pk == key))
        await _attach(acting, {key: changes["files"] or ()})
    acting.topics.add(topic(row.benchmark_pk))
    return key


async def remove(acting: Acting, keys: Sequence[int], *, include_locked: bool) -> int:
    """The benchmark whose rows went; all must be of one."""
    found = select(rows.c.benchmark_pk).where(among(rows.c.id, keys)).distinct()
    owners = (await acting.connection.execute(found)).scalars().all()
    if keys and not owners:
        raise NotFound("There is no such row.", ("ids", "0"))
    if len(owners) != 1:
        raise InvalidInput("The rows must be of one benchmark, and at least one.", ("ids",), ReasonCode.INVALID_FIELD)
    benchmark_pk = int(owners[0])
    await shared(acting, benchmark_pk, ("ids",))
    held = await locked_rows(acting, benchmark_pk, keys)
    for place, key in enumerate(keys):
        if key not in held:
            raise NotFound("There is no such row.", ("ids", str(place)))
    which = among(rows.c.id, keys)
    await require_unlocked(acting, which, include_locked=include_locked)
    await told(acting, ExpectedOutputChange.CLEARED, by_person=include_locked)
    await acting.connection.execute(delete(rows).where(which))
    acting.topics.add(topic(benchmark_pk))
    return benchmark_pk


def _digest(given: Sequence[RowGiven]) -> str:
    told = [[row.key, row.input, list(row.files), row.text, row.fields] for row in given]
    return digest_text(spelled(told).encode(errors="backslashreplace").decode())


async def appending(acting: Acting, benchmark_pk: int) -> Row[Any]:
    """The benchmark. Rows are appended by one after the other; who writes cells or edits what is there goes on."""
    benchmark = await shared(acting, benchmark_pk)
    await acting.connection.execute(select(func.pg_advisory_xact_lock(APPENDING + benchmark_pk)))
    return benchmark


async def _answered(acting: Acting, scope: str, key: str, digest: str, benchmark: Row[Any]) -> list[int] | None:
    """The rows that the call under that key added, as far as they are still there."""
    require_identity(key, ("idempotency_key",))
    held = select(answers).where(answers.c.scope == scope, answers.c.key == key)
    row = (await acting.connection.execute(held)).one_or_none()
    if row is None:
        return None
    if row.input_sha256 != digest:
        raise Conflict("This idempotency key was sent with other rows.", Subject(Benchmark, benchmark.id))
    added = json.loads(row.answer)
    there = set((await acting.connection.execute(select(rows.c.id).where(among(rows.c.id, added)))).scalars())
    return [key for key in added if key in there]


def _expected(
    place: int, row: RowGiven, kind: AgentKind, types: Mapping[str, FieldType]
) -> dict[str, tuple[str | None, str | None]]:
    """What a person expects of a new row: nothing, a text, or fields."""
    path: tuple[str, ...] = ("rows", str(place))
    unfit = row.fields if kind == AgentKind.CONVERSATION else row.text
    if unfit is not None:
        name = "expected_fields" if kind == AgentKind.CONVERSATION else "expected_text"
        message = f"What is expected of a benchmark of kind {kind} is given in the other member."
        raise InvalidInput(message, (*path, name), ReasonCode.INVALID_FIELD)
    _require_input(row.input, (*path, "input"))
    if row.text is not None:
        require_storable(row.text, (*path, "expected_text"))
        return {TEXT: (row.text, None)}
    if row.fields is None:
        return {}
    path = (*path, "expected_fields")
    if not isinstance(row.fields, dict):
        raise InvalidInput("The expected fields are an object by their names.", path, ReasonCode.INVALID_FIELD)
    return dict(field_edits(row.fields, (), types, path)) if row.fields else {}


def _require_input(value: str | None, path: tuple[str, ...]) -> None:
    if value is None:
        raise InvalidInput("A row has an input.", path, ReasonCode.INVALID_FIELD)
    require_storable(value, path)


async def _require_keys(acting: Acting, benchmark_pk: int, given: Sequence[RowGiven]) -> None:
    seen: set[str] = set()
    for place, row in enumerate(given):
        if row.key is None:
            continue
        path = ("rows", str(place), "key")
        require_identity(row.key, path)
        if row.key in seen:
            raise InvalidInput("A key is given once.", path, ReasonCode.INVALID_FIELD)
        seen.add(row.key)
    held = select(rows.c.id, rows.c.key).where(rows.c.benchmark_pk == benchmark_pk, among(rows.c.key, sorted(seen)))
    taken = (await acting.connection.execute(held.order_by(rows.c.id).limit(1))).one_or_none()
    if taken is not None:
        raise Duplicate(f"The benchmark has a row {taken.key}.", Subject(BenchmarkRow, taken.id))


async def _require_free_key(acting: Acting, benchmark_pk: int, key: str, own: int) -> None:
    held = select(rows.c.id).where(rows.c.benchmark_pk == benchmark_pk, rows.c.key == key, rows.c.id != own)
    if (taken := await acting.connection.scalar(held)) is not None:
        raise Duplicate(f"The benchmark has a row {key}.", Subject(BenchmarkRow, taken))


async def _require_files(acting: Acting, attached: Mapping[tuple[str, ...], Sequence[tuple[str, str]]]) -> None:
    """Files, by where they are named, must have been sent. They are held against the sweep until rows refer to them."""
    for path, named in attached.items():
        if len(named) > MOST_FILES:
            raise InvalidInput(f"A row has at most {MOST_FILES} files.", path, ReasonCode.TOO_MANY_FILES)
        for place, (_, name) in enumerate(named):
            require_text(name, (*path, str(place), "name"))
    wanted = sorted({sha256 for named in attached.values() for sha256, _ in named})
    held = select(files.c.sha256).where(among(files.c.sha256, wanted)).order_by(files.c.sha256)
    held = held.with_for_update(read=True, key_share=True)
    stored = set((await acting.connection.execute(held)).scalars()) if wanted else set()
    for path, named in attached.items():
        for place, (sha256, _) in enumerate(named):
            if sha256 not in stored:
                message = "No file of this digest was sent to POST /files."
                raise InvalidInput(message, (*path, str(place), "sha256"), ReasonCode.FILE_UNAVAILABLE)


async def _insert(acting: Acting, benchmark_pk: int, given: Sequence[RowGiven]) -> list[int]:
    if not given:
        return []
    last = select(func.coalesce(func.max(rows.c.position), -1)).where(rows.c.benchmark_pk == benchmark_pk)
    first = int((await acting.connection.execute(last)).scalar_one()) + 1
    added = await acting.connection.execute(
        insert(rows).returning(rows.c.id, sort_by_parameter_order=True),
        [
            {"benchmark_pk": benchmark_pk, "position": first + place, "key": row.key, "input": row.input, "version": 1}
            for place, row in enumerate(given)
        ],
    )
    keys = [int(key) for key in added.scalars()]
    await _attach(acting, {key: row.files for key, row in zip(keys, given, strict=True)})
    return keys


async def _attach(acting: Acting, attached: Mapping[int, Sequence[tuple[str, str]]]) -> None:
    records = [
        {"row_pk": key, "position": place, "sha256": sha256, "name": name}
        for key, named in attached.items()
        for place, (sha256, name) in enumerate(named)
    ]
    if records:
        await acting.connection.execute(insert(row_files), records)


async def _expect(acting: Acting, edits: Mapping[int, Mapping[str, tuple[str | None, str | None]]]) -> None:
    values = {(key, name): edit for key, named in edits.items() for name, edit in named.items()}
    if values:
        await told(acting, ExpectedOutputChange.IMPORTED, by_person=True)
        await expected.write(acting, values, dict.fromkeys(edits, 1))


async def _held(acting: Acting, key: int, expected_version: int) -> Row[Any]:
    owner = await acting.connection.scalar(select(rows.c.benchmark_pk).where(rows.c.id == key))
    if owner is None:
        raise NotFound("There is no such row.", ("id",))
    await shared(acting, owner, ("id",))
    held = select(rows).where(rows.c.id == key).with_for_update()
    row: Row[Any] | None = (await acting.connection.execute(held)).one_or_none()
    if row is None:
        raise NotFound("There is no such row.", ("id",))
    if row.version != expected_version:
        raise Conflict("The row was changed since that version.", Subject(BenchmarkRow, key), row.version)
    return row
