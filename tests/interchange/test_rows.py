import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interchange.rows import read_rows
from interchange.tables import TEXT, RowRecord, Table, ValueRecord
from interchange.written import is_lost_in_csv, rows_layout, writer_of
from models.base import AgentKind, FieldType, Origin
from resolvers.values import written

CONVERSATION = Table(1, "talk", AgentKind.CONVERSATION, {})
AUTOMATION = Table(
    2,
    "forms",
    AgentKind.AUTOMATION,
    {
        "name": FieldType.STRING,
        "amount": FieldType.NUMBER,
        "paid": FieldType.BOOLEAN,
        "day": FieldType.DATE,
        "items": FieldType.LIST,
        "extra": FieldType.OBJECT,
    },
)
DIGEST = "0" * 64
FORMATS = ["JSON", "JSONL", "CSV"]


def read(data: str | bytes, format: str, table: Table = CONVERSATION) -> list[RowRecord]:
    rows, faults = read_rows(data if isinstance(data, bytes) else data.encode(), format, table)
    assert faults == []
    return rows


def faults(data: str | bytes, format: str, table: Table = CONVERSATION) -> list[tuple[int, tuple[str, ...]]]:
    rows, found = read_rows(data if isinstance(data, bytes) else data.encode(), format, table)
    assert rows == []
    return [(fault.line, fault.path) for fault in found]


def write(rows: Sequence[RowRecord], format: str, table: Table = CONVERSATION) -> str:
    writer = writer_of(format, rows_layout(table))
    # In two batches, as a long table comes.
    return writer.begin() + writer.rows(rows[:1]) + writer.rows(rows[1:]) + writer.end()


def lines(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def texts(rows: Sequence[RowRecord]) -> list[Any]:
    return [row.expected[TEXT].text if TEXT in row.expected else "nothing" for row in rows]


def manual(text: str | None = None, value: str | None = None, *, locked: bool = True) -> ValueRecord:
    return ValueRecord(text, value, Origin.MANUAL, locked)


def test_a_row_needs_its_input_alone() -> None:
    [row] = read(lines({"input": "Hello"}), "JSONL")

    assert row == RowRecord(1, None, "Hello")


def test_a_list_tells_the_line_in_which_each_row_begins() -> None:
    rows = read('[\n  {"input": "a"},\n  {\n    "input": "b"\n  }, {"input": "c"}\n]', "JSON")

    assert [(row.line, row.input) for row in rows] == [(2, "a"), (3, "b"), (5, "c")]


def test_blank_lines_between_objects_mean_nothing() -> None:
    assert [row.line for row in read('{"input": "a"}\n\n  \r\n{"input": "b"}', "JSONL")] == [1, 4]


@pytest.mark.parametrize("format", FORMATS)
def test_an_empty_table_is_read_as_it_is_written(format: str) -> None:
    assert read(write([], format), format) == []


def test_a_byte_order_mark_and_line_ends_of_two_characters_are_understood() -> None:
    csv = b'\xef\xbb\xbfkey,input,expected_output\r\na,"one, ""two""\r\nthree",x\r\nb,four,\r\n'

    rows = read(csv, "CSV")

    assert [(row.line, row.key, row.input) for row in rows] == [(2, "a", 'one, "two"\r\nthree'), (4, "b", "four")]
    assert read(b'\xef\xbb\xbf{"input": "a"}\r\n{"input": "b"}\r\n', "JSONL")[1].input == "b"
    assert read(b'\xef\xbb\xbf[\r\n{"input": "a"}\r\n]', "JSON")[0].line == 2


def test_a_cell_may_be_as_long_as_a_file() -> None:
    long = "x" * 200_000

    assert read(f"input\r\n{long}\r\n", "CSV")[0].input == long


def test_null_the_empty_text_and_the_word_null_are_three_things() -> None:
    records = [{"input": "1", "expected_output": text} for text in (None, "", "null")] + [{"input": "1"}]

    assert texts(read(lines(*records), "JSONL")) == ["nothing", "", "null", "nothing"]
    assert texts(read(json.dumps(records), "JSON")) == ["nothing", "", "null", "nothing"]
    assert texts(read("input,expected_output\n1,\n1,null\n", "CSV")) == ["nothing", "null"]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("text", ["007", "1.0", "1e5", "true", "🧾 ok", "שלום عالم", "\u2028", " a ", '"', "=1+1"])
def test_text_survives_as_it_is(format: str, text: str) -> None:
    row = RowRecord(0, f"key {text}", text, ((DIGEST, f"{text}.pdf"),), {TEXT: manual(text)})

    [again] = read(write([row], format), format)

    assert replace(again, line=0) == row


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("number", ["1.0", "1", "100000.0", "12345678901234567890123", "1e+22", "0.1"])
def test_numbers_keep_their_spelling(format: str, number: str) -> None:
    row = RowRecord(0, None, "", (), {"amount": manual(value=number), "name": manual(value='"007"')})

    [again] = read(write([row], format, AUTOMATION), format, AUTOMATION)

    assert {name: value.value for name, value in again.expected.items()} == {"amount": number, "name": '"007"'}


def test_an_expected_output_without_an_origin_is_a_persons() -> None:
    [row] = read(lines({"input": "1", "expected_output": "yes"}), "JSONL")
    [form] = read(lines({"input": "1", "expected_output": {"paid": None}}), "JSONL", AUTOMATION)

    assert row.expected == {TEXT: manual("yes")}
    assert form.expected == {"paid": manual(value="null")}


def test_origins_and_locks_are_restored() -> None:
    records = [
        {"input": "1", "expected_output": "x", "origin": "AUTO"},
        {"input": "2", "expected_output": "x", "origin": "MANUAL", "locked": False},
        {"input": "3", "origin": "MANUAL", "locked": True},
    ]

    assert [row.expected[TEXT] for row in read(lines(*records), "JSONL")] == [
        ValueRecord("x", None, Origin.AUTO, False),
        manual("x", locked=False),
        manual(None),
    ]


def test_each_field_has_its_own_origin_and_lock() -> None:
    record = {
        "input": "1",
        "expected_output": {"name": "A", "amount": 1.5},
        "origin": {"name": "AUTO", "amount": "MANUAL", "day": "MANUAL"},
        "locked": {"amount": True, "day": False},
    }

    [row] = read(lines(record), "JSONL", AUTOMATION)

    assert row.expected == {
        "name": ValueRecord(None, '"A"', Origin.AUTO, False),
        "amount": manual(value="1.5"),
        "day": manual(locked=False),
    }


def test_every_fault_is_told_with_its_line() -> None:
    content = lines(
        {"input": "1", "key": "a"},
        {"input": "2", "key": "a"},
        {"key": "c"},
        {"input": 7},
        {"input": "5", "colour": "red"},
        {"input": "6", "expected_output": 6},
        {"input": "7", "files": [{"sha256": DIGEST, "name": "f"}] * 11},
        {"input": "8", "files": [{"sha256": DIGEST, "name": "f"}, {"sha256": "x", "name": "f"}]},
        {"input": "9", "key": " "},
        {"input": "10", "origin": "CAT"},
        {"input": "11", "expected_output": "a", "locked": "yes"},
        {"input": "12", "expected_output": "a", "origin": "AUTO", "locked": True},
        {"input": "13", "origin": "AUTO"},
        {"input": "a\0"},
        ["no", "object"],
    )

    assert faults(content + '{"input": "broken\n', "JSONL") == [
        (2, ("key",)),
        (3, ("input",)),
        (4, ("input",)),
        (5, ("colour",)),
        (6, ("expected_output",)),
        (7, ("files",)),
        (8, ("files", "1")),
        (9, ("key",)),
        (10, ("origin",)),
        (11, ("locked",)),
        (12, ("locked",)),
        (13, ("origin",)),
        (14, ("input",)),
        (15, ()),
        (16, ()),
    ]


def test_a_field_takes_values_of_its_type_alone() -> None:
    wrong = {"name": 1, "amount": "1", "paid": 0, "day": "2026-02-30", "items": {}, "extra": []}
    content = lines(*({"input": "1", "expected_output": {name: value}} for name, value in wrong.items()))

    assert faults(content, "JSONL", AUTOMATION) == [
        (line, ("expected_output", name)) for line, name in enumerate(wrong, start=1)
    ]


def test_a_field_that_the_benchmark_has_not_is_told_wherever_it_stands() -> None:
    content = lines(*({"input": "1", name: {"size": value}} for name, value in (("expected_output", 1), ("origin", 1))))

    assert faults(content, "JSONL", AUTOMATION) == [(1, ("expected_output", "size")), (2, ("origin", "size"))]


def test_a_list_that_breaks_off_tells_where() -> None:
    assert faults('[\n{"input": "a"},\n{"input": }\n]', "JSON") == [(3, ())]
    assert faults('[\n{"input": "a"},\n\n{"input": "a", "input": "b"}\n]', "JSON") == [(4, ())]
    assert faults('{"input": "a"}', "JSON") == [(1, ())]
    assert faults('[\n{"input": "a"}\n] and more', "JSON") == [(3, ())]


def test_a_list_with_a_fault_tells_those_before_and_after_it() -> None:
    assert faults('[\n{"input": 1},\n{"input": "a"},\n7\n]', "JSON") == [(2, ("input",)), (4, ())]


@pytest.mark.parametrize("header", ["key,text", "key,input,colour", "input,input", "key", "", "Input"])
def test_another_header_refuses_a_csv(header: str) -> None:
    assert faults(f"{header}\r\na,b\r\n", "CSV") == [(1, ())]


def test_a_csv_tells_the_lines_in_which_its_faulty_rows_begin() -> None:
    content = 'key,input,files\na,"1\n2",\nb,1\na,1,\nd,1,[\ne,"x"y,\n'

    assert faults(content, "CSV") == [(4, ()), (5, ("key",)), (6, ("files",)), (7, ())]


@pytest.mark.parametrize("format", FORMATS)
def test_bytes_that_are_no_text_are_told_with_their_line(format: str) -> None:
    assert faults(b"input\na\n\xff\n", format) == [(3, ())]


def test_what_is_wrong_throughout_is_told_up_to_a_bound() -> None:
    found = faults(lines(*[{"input": 1}] * 10_002), "JSONL")

    assert len(found) == 10_001
    assert found[-1] == (10_001, ())


TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
NAMED = TEXTS.filter(lambda text: text.strip() != "").map(lambda text: text[:100]).filter(str.strip)
ATTACHED = st.lists(st.tuples(st.just(DIGEST), NAMED), max_size=10).map(tuple)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def value_records(draw: st.DrawFn, values: st.SearchStrategy[Any], *, text: bool) -> ValueRecord:
    """What capture and people leave behind."""
    origin = draw(st.sampled_from([Origin.AUTO, Origin.MANUAL]))
    is_given = origin == Origin.AUTO or draw(st.booleans())
    value = draw(values) if is_given else None
    locked = origin == Origin.MANUAL and draw(st.booleans())
    if text:
        return ValueRecord(value, None, origin, locked)
    return ValueRecord(None, written(value) if is_given else None, origin, locked)


def rows_of(expected: st.SearchStrategy[dict[str, ValueRecord]]) -> st.SearchStrategy[list[RowRecord]]:
    row = st.builds(RowRecord, st.just(0), st.none() | NAMED, TEXTS, ATTACHED, expected)
    return st.lists(row, max_size=4, unique_by=lambda row: row.key if row.key is not None else id(row))


SPOKEN = rows_of(st.just({}) | st.fixed_dictionaries({TEXT: value_records(TEXTS, text=True)}))
FILLED = rows_of(
    st.fixed_dictionaries(
        {},
        optional={
            "name": value_records(TEXTS, text=False),
            "amount": value_records(st.integers() | st.floats(allow_nan=False, allow_infinity=False), text=False),
            "items": value_records(st.lists(JSON, max_size=3), text=False),
            "extra": value_records(st.dictionaries(TEXTS, JSON, max_size=3), text=False),
        },
    )
)


@pytest.mark.parametrize("format", ["JSON", "JSONL"])
@given(rows=SPOKEN)
def test_rows_of_a_conversation_come_back_as_they_were(format: str, rows: list[RowRecord]) -> None:
    text = write(rows, format)

    again = read(text, format)

    assert [replace(row, line=0) for row in again] == rows
    assert write(again, format) == text


@pytest.mark.parametrize("format", FORMATS)
@given(rows=FILLED)
def test_rows_of_an_automation_come_back_as_they_were(format: str, rows: list[RowRecord]) -> None:
    text = write(rows, format, AUTOMATION)

    again = read(text, format, AUTOMATION)

    assert [replace(row, line=0) for row in again] == rows
    assert write(again, format, AUTOMATION) == text


@given(rows=SPOKEN)
def test_a_csv_loses_empty_expected_texts_and_nothing_else(rows: list[RowRecord]) -> None:
    kept = [row for row in rows if not is_lost_in_csv(row)]
    lost = [row for row in rows if is_lost_in_csv(row)]

    assert [replace(row, line=0) for row in read(write(kept, "CSV"), "CSV")] == kept
    assert texts(read(write(lost, "CSV"), "CSV")) == [
        None if row.expected[TEXT].origin == Origin.MANUAL else "nothing" for row in lost
    ]
