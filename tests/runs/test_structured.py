import json
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, create_model

from models.base import FieldType
from runs.calls import Field
from runs.structured import SCHEMAS, Misfit, read, wanted_fields

WANTED = wanted_fields([Field(type_.value.lower(), type_) for type_ in FieldType])
JUDGED = create_model("Judged", __config__=ConfigDict(extra="forbid"), score=(float, ...), fair=(bool, ...))


def reason(text: str, wanted: type[BaseModel] = WANTED) -> str:
    with pytest.raises(Misfit) as caught:
        read(text, wanted)
    return caught.value.reason


@pytest.mark.parametrize(
    "text", ['{"number": 1.5}', '```json\n{"number": 1.5}\n```', ' \n```\n{"number": 1.5}\n```\n', '{"number":1.5}\n']
)
def test_json_is_read_bare_or_in_one_fenced_block(text: str) -> None:
    assert read(text, WANTED) == {"number": 1.5}


@pytest.mark.parametrize(
    "text",
    [
        'Here you are: {"number": 1}',
        '{"number": 1} I hope that helps.',
        '```json\n{"number": 1}\n```\nDone.',
        '```json\n{"number": 1}\n```\n```json\n{"number": 1}\n```',
        '```python\n{"number": 1}\n```',
        '```json\n{"number": 1}',
        "{'number': 1}",
        '{"number": 1,}',
        '{"number": 1',
    ],
)
def test_anything_around_or_instead_of_json_is_a_fault(text: str) -> None:
    assert reason(text).startswith("The answer is no ")


def test_a_field_that_is_left_out_stays_out_and_null_is_a_value() -> None:
    assert read('{"string": null}', WANTED) == {"string": None}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("string", "ü"),
        ("number", 3),
        ("number", -1.5),
        ("boolean", False),
        ("date", "2026-02-28"),
        ("list", [1, "a", None]),
        ("object", {"a": {"b": []}}),
    ],
)
def test_values_of_each_type_are_kept_as_they_came(name: str, value: Any) -> None:
    found = read(json.dumps({name: value}), WANTED)[name]

    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("string", 1),
        ("number", "1"),
        ("number", True),
        ("boolean", 0),
        ("boolean", "true"),
        ("date", "2026-02-30"),
        ("date", "28.02.2026"),
        ("date", "2026-02-28T00:00:00"),
        ("list", {}),
        ("object", []),
    ],
)
def test_a_value_of_another_type_is_named_with_what_would_fit(name: str, value: Any) -> None:
    assert reason(json.dumps({name: value})).startswith(f'The answer\'s "{name}" does not fit: it takes ')


@pytest.mark.parametrize("text", ['{"string": "\\u0000"}', '{"string": "\\ud800"}', '{"number": 1e999}'])
def test_what_the_database_cannot_keep_is_a_fault(text: str) -> None:
    assert "cannot hold NUL" in reason(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"number": 1, "number": 2}', 'The answer says "number" twice.'),
        ('{"object": {"a": 1, "a": 1}}', 'The answer says "a" twice.'),
        ('{"\\ud800": 1, "\\ud800": 2}', 'The answer says "\\ud800" twice.'),
        ('{"number": NaN}', "The answer holds NaN, which is no JSON."),
        ('{"number": -Infinity}', "The answer holds -Infinity, which is no JSON."),
        ('{"total": 1}', 'The answer has "total", which was not asked for.'),
        ('[{"number": 1}]', "The answer is no JSON object."),
        ("null", "The answer is no JSON object."),
        ("  ", "The answer is blank."),
        ("[" * 100_000, "The answer is JSON with numbers too long or levels too many."),
        ('{"number": %s}' % ("1" * 5_000), "The answer is JSON with numbers too long or levels too many."),
    ],
)
def test_the_reason_says_what_was_wrong(text: str, said: str) -> None:
    assert reason(text) == said


@pytest.mark.parametrize("name", ["Total (EUR)", "model_config", "copy", "_hidden", "field_0", "json", "", "ä.b"])
def test_a_field_may_have_any_name(name: str) -> None:
    wanted = wanted_fields([Field("other", FieldType.STRING), Field(name, FieldType.NUMBER, "the sum")])

    assert read(json.dumps({name: 2}), wanted) == {name: 2}
    assert wanted.model_json_schema()["properties"][name]["description"] == "the sum"


def test_no_field_is_required_and_no_other_is_allowed() -> None:
    schema = WANTED.model_json_schema()

    assert "required" not in schema
    assert schema["additionalProperties"] is False
    assert schema["properties"]["date"]["anyOf"] == [SCHEMAS[FieldType.DATE], {"type": "null"}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"fair": true}', 'The answer lacks "score".'),
        ('{"score": true, "fair": true}', 'The answer\'s "score" does not fit'),
        ('{"score": "0.5", "fair": true}', 'The answer\'s "score" does not fit'),
        ('{"score": 1, "fair": 1}', 'The answer\'s "fair" does not fit'),
    ],
)
def test_any_model_is_held_to_strictly(text: str, said: str) -> None:
    assert reason(text, JUDGED).startswith(said)


def test_a_number_of_a_model_may_be_whole() -> None:
    assert read('{"score": 1, "fair": true}', JUDGED) == {"score": 1, "fair": True}
