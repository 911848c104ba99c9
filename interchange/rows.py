"""Rows of a benchmark out of files in JSON, JSONL or CSV, or every fault with its line."""

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from interchange.documents import Undecodable, iterate_placed, load_json
from interchange.tables import NAMES, TEXT, RowRecord, Table, ValueRecord
from models.base import AgentKind, FieldType, Origin
from resolvers.errors import RowFault
from resolvers.forms import identity, objects, sha256, storable_text, text
from resolvers.rows import MOST_FILES
from resolvers.values import fault_of, written

# Beyond these nobody reads on; that there are more is said.
MOST_FAULTS: Final = 10_000
# The csv module would stop at 131,072 characters of a cell; what was sent is bounded already.
LONGEST_CELL: Final = 2**31 - 1
KEPT_ORIGINS: Final = {Origin.AUTO.value: Origin.AUTO, Origin.MANUAL.value: Origin.MANUAL}

Record = dict[str, Any]

csv.field_size_limit(LONGEST_CELL)


class Faulty(Exception):
    """A part of one record is wrong."""

    def __init__(self, message: str, *path: str) -> None:
        super().__init__(message)
        self.path = path


def read_rows(data: bytes, format: str, table: Table) -> tuple[list[RowRecord], list[RowFault]]:
    """All rows of a file, or all of its faults: where there is one, nothing of the file counts."""
    faults: list[RowFault] = []
    try:
        content = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return [], [RowFault(data.count(b"\n", 0, error.start) + 1, (), "The file is not UTF-8.")]
    formats: Mapping[str, Callable[[str], Iterator[_Found]]] = {
        "JSON": _json_records,
        "JSONL": _line_records,
        "CSV": partial(_csv_records, kind=table.kind),
    }
    reader, rows = _Reader(table), []
    for line, found in formats[format](content):
        if len(faults) == MOST_FAULTS:
            faults.append(RowFault(line, (), "From here on the file was not read, after so many faults."))
            break
        try:
            if isinstance(found, Faulty):
                raise found
            rows.append(reader.row(line, found))
        except Faulty as fault:
            faults.append(RowFault(line, fault.path, str(fault)))
    return ([], faults) if faults else (rows, [])


# What a format gives for each row: the line, and its record or why it is none.
_Found = tuple[int, Record | Faulty]


def _json_records(content: str) -> Iterator[_Found]:
    line, seen = 1, 0
    elements = iterate_placed(content)
    while True:
        try:
            begin, value = next(elements)
        except StopIteration:
            return
        except Undecodable as error:
            yield content.count("\n", 0, error.at) + 1, Faulty(f"The file {error}.")
            return
        line, seen = line + content.count("\n", seen, begin), begin
        yield line, value if isinstance(value, dict) else Faulty("A row is an object.")


def _line_records(content: str) -> Iterator[_Found]:
    for line, written_line in enumerate(content.split("\n"), start=1):
        if not written_line.strip():
            continue
        try:
            value = load_json(written_line.encode(errors="surrogatepass"))
        except Undecodable as error:
            yield line, Faulty(f"The line {error}.")
            continue
        yield line, value if isinstance(value, dict) else Faulty("A row is an object.")


def _csv_records(content: str, kind: AgentKind) -> Iterator[_Found]:
    reader = csv.reader(io.StringIO(content, newline=""), strict=True)
    begin = 1
    try:
        header = next(reader, [])
        if fault := _header_fault(header):
            yield 1, fault
            return
        begin = reader.line_num + 1
        for cells in reader:
            line, begin = begin, reader.line_num + 1
            if cells:
                yield line, _csv_record(header, cells, kind)
    except csv.Error as error:
        yield begin, Faulty(f"The row is not CSV: {error}.")


def _header_fault(header: list[str]) -> Faulty | None:
    unknown = [name for name in header if name not in NAMES]
    if unknown or "input" not in header or len(set(header)) < len(header):
        return Faulty(f"The header names columns among {', '.join(NAMES)}, each once, and input among them.")
    return None


def _csv_record(header: list[str], cells: list[str], kind: AgentKind) -> Record | Faulty:
    """An empty cell is none, but for the input, which every row has."""
    if len(cells) != len(header):
        return Faulty(f"The row has {len(cells)} cells, and the header {len(header)}.")
    record: Record = {}
    for name, cell in zip(header, cells, strict=True):
        if cell == "" and name != "input":
            continue
        try:
            record[name] = load_json(cell.encode()) if _is_json(name, cell, kind) else cell
        except Undecodable as error:
            return Faulty(f"The cell {error}.", name)
    return record


def _is_json(name: str, cell: str, kind: AgentKind) -> bool:
    if name == "expected_output":
        return kind == AgentKind.AUTOMATION
    return name in ("files", "locked") or (name == "origin" and cell.startswith("{"))


class _Reader:
    """Turns records into rows, and knows the keys before them."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._keys: dict[str, int] = {}

    def row(self, line: int, record: Record) -> RowRecord:
        if unknown := [name for name in record if name not in NAMES]:
            raise Faulty("A row has no member of this name.", unknown[0])
        if storable_text(record.get("input")) is None:
            raise Faulty("A row needs its input, a text without NUL and lone surrogates.", "input")
        key = self._key(line, record.get("key"))
        return RowRecord(line, key, record["input"], _files(record.get("files")), self._expected(record))

    def _key(self, line: int, key: Any) -> str | None:
        if key is None:
            return None
        if identity(key) is None:
            raise Faulty("A key is text that says something, of at most 500 bytes.", "key")
        if key in self._keys:
            raise Faulty(f"The key {key} stands in line {self._keys[key]} too.", "key")
        self._keys[key] = line
        return str(key)

    def _expected(self, record: Record) -> dict[str, ValueRecord]:
        if self._table.kind == AgentKind.CONVERSATION:
            return _expected_text(record)
        return _expected_fields(record, self._table.fields)


def _files(value: Any) -> tuple[tuple[str, str], ...]:
    if value is None:
        return ()
    records = objects(value, MOST_FILES)
    if records is None:
        raise Faulty(f"files is a list of at most {MOST_FILES} objects of sha256 and name.", "files")
    return tuple(_file(place, record) for place, record in enumerate(records))


def _file(place: int, record: Record) -> tuple[str, str]:
    digest, name = sha256(record.get("sha256")), text(record.get("name"))
    if digest is None or name is None or len(record) != 2:
        raise Faulty("A file has its sha256, 64 lowercase hexadecimal characters, and its name.", "files", str(place))
    return digest, name


def _expected_text(record: Record) -> dict[str, ValueRecord]:
    given, origin, locked = record.get("expected_output"), record.get("origin"), record.get("locked")
    if given is not None and storable_text(given) is None:
        raise Faulty(
            "The expected output of a conversation is text without NUL and lone surrogates.", "expected_output"
        )
    if given is None and origin is None and locked is None:
        return {}
    kept = _kept(origin, locked, is_given=given is not None)
    return {TEXT: ValueRecord(given, None, *kept)}


def _expected_fields(record: Record, types: Mapping[str, FieldType]) -> dict[str, ValueRecord]:
    """A field that stands under origin alone was emptied by a person."""
    given = _by_field(record, "expected_output", types)
    origins, locks = _by_field(record, "origin", types), _by_field(record, "locked", types)
    if fault := fault_of(given, types):
        raise Faulty(fault[1], "expected_output", fault[0])
    values = {}
    for name in types:
        if name not in given and name not in origins and name not in locks:
            continue
        is_given = name in given
        try:
            kept = _kept(origins.get(name), locks.get(name), is_given=is_given)
        except Faulty as wrong:
            raise Faulty(str(wrong), *wrong.path, name) from None
        values[name] = ValueRecord(None, _spelled(name, given[name]) if is_given else None, *kept)
    return values


def _by_field(record: Record, name: str, types: Mapping[str, FieldType]) -> Record:
    value = record.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Faulty(f"{name} is an object by the names of fields.", name)
    if unknown := [field for field in value if field not in types]:
        raise Faulty(f"The benchmark has no field {unknown[0]}.", name, unknown[0])
    return value


def _kept(origin: Any, locked: Any, *, is_given: bool) -> tuple[Origin, bool]:
    """Without an origin a value is a person's: manual, and locked unless it says otherwise."""
    if origin is not None and origin not in KEPT_ORIGINS:
        raise Faulty("An origin is AUTO or MANUAL.", "origin")
    if locked is not None and not isinstance(locked, bool):
        raise Faulty("locked is true or false.", "locked")
    found = Origin.MANUAL if origin is None else KEPT_ORIGINS[origin]
    if found == Origin.AUTO and (locked or not is_given):
        raise Faulty("What was captured has a value and no lock.", "locked" if locked else "origin")
    is_locked = locked if locked is not None else origin is None
    return found, is_locked


def _spelled(name: str, value: Any) -> str:
    spelled = written(value)
    if storable_text(spelled) is None:
        raise Faulty("Text cannot hold half of a surrogate pair.", "expected_output", name)
    return spelled
