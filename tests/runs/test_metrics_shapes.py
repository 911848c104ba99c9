"""Patterns, JSON and numbers in one text."""

from typing import Any

import pytest

from models.base import MetricKind
from runs.patterns import LONGEST_SEARCHED
from tests.runs.measuring import LONG, reason, value


@pytest.mark.parametrize(
    ("output", "pattern", "options", "found"),
    [
        ("", "^$", {}, True),
        ("", ".", {}, False),
        ("order 66", r"\d+", {}, True),
        ("order", r"\d+", {}, False),
        ("66", r"\d+", {"whole": True}, True),
        ("order 66", r"\d+", {"whole": True}, False),
        ("ab", "a|ab", {"whole": True}, True),
        ("YES", "yes", {}, False),
        ("YES", "yes", {"caseSensitive": False}, True),
        ("ÄRGER", "ärger", {"caseSensitive": False}, True),
        ("YES", "(?i)yes", {}, True),
        ("one\ntwo", "^two$", {}, False),
        ("one\ntwo", "^two$", {"multiline": True}, True),
        ("one\ntwo", "one.two", {}, False),
        ("one\ntwo", "one.two", {"dotAll": True}, True),
        ("東京は首都", r"\p{Han}+", {}, True),
        ("東", "^.$", {}, True),
        ("👍", "^.$", {}, True),
        ("größe", r"^\pL+$", {}, True),
        ("a.b", r"a\.b", {}, True),
        ("axb", r"a\.b", {}, False),
        ("a)b", r"\Qa)b", {"multiline": True}, True),
        (LONG, "章です", {}, True),
        ("x" * LONGEST_SEARCHED, "(x+x+)+y", {}, False),
    ],
)
def test_a_pattern_is_searched_as_its_options_say(
    output: str, pattern: str, options: dict[str, Any], found: bool
) -> None:
    assert value(MetricKind.REGEX, output, pattern=pattern, **options) is found


def test_a_text_too_long_to_search_is_told() -> None:
    assert "beyond the 200,000" in reason(MetricKind.REGEX, "x" * (LONGEST_SEARCHED + 1), pattern="x")


def test_options_that_are_no_longer_sound_fail_with_what_is_wrong() -> None:
    assert "RE2" in reason(MetricKind.REGEX, "x", pattern="(?=x)")


# The first letters say what N. Seriot's JSONTestSuite (seriot.ch/projects/parsing_json.html) expects of such texts.
@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("[]", True),  # y_array_empty
        ("[1 ]", True),  # y_array_with_trailing_space, alike
        ('["é東"]', True),  # y_string_utf8
        ("[-0]", True),  # y_number_negative_zero
        ("[1e+2]", True),  # y_number_real_pos_exponent
        ('{"a":"b","a":"c"}', True),  # y_object_duplicated_key
        ('{"":0}', True),  # y_object_empty_key
        ('["\\u0060\\u012a"]', True),  # y_string_1_2_3_bytes_UTF-8_sequences, alike
        (" true ", True),  # y_structure_whitespace_array, alike
        ('"x"', True),  # y_structure_lonely_string
        ("", False),  # n_structure_no_data
        (" ", False),  # n_single_space
        ("[1,]", False),  # n_array_extra_comma
        ("[NaN]", False),  # n_number_NaN
        ("[-Infinity]", False),  # n_number_minus_infinity
        ("[01]", False),  # n_number_-01, alike
        ("[1.]", False),  # n_number_2.e3, alike
        ("['a']", False),  # n_string_single_quote
        ('["\t"]', False),  # n_string_unescaped_tab
        ('["\\x00"]', False),  # n_string_escape_x
        ('{"a" b}', False),  # n_object_missing_colon
        ("{a: 1}", False),  # n_object_unquoted_key
        ("[1]x", False),  # n_array_extra_close, alike
        ("\ufeff[]", False),  # n_structure_UTF8_BOM_no_data, alike
        ("[" + "9" * 10_000 + "]", True),
        ("[" + ",".join(["0"] * 100_000) + "]", True),
        ("Sure: {}", False),
        ("```json\n{}\n```", False),
    ],
)
def test_json_is_what_the_standard_says(text: str, valid: bool) -> None:
    assert value(MetricKind.JSON_VALID, text) is valid


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("```json\n{}\n```", True),
        ("```\n[1]\n```\n", True),
        ("{}", True),
        ("```json\n{\n```", False),
        ("Here:\n```json\n{}\n```", False),
        ("```json\n{}\n```\n```json\n{}\n```", False),
        ("```python\n{}\n```", False),
    ],
)
def test_one_fence_around_json_may_be_allowed(text: str, valid: bool) -> None:
    assert value(MetricKind.JSON_VALID, text, allowFence=True) is valid


def test_json_too_deep_to_read_is_told() -> None:
    assert "too deeply" in reason(MetricKind.JSON_VALID, "[" * 100_000)


@pytest.mark.parametrize(
    ("output", "expected", "options", "close"),
    [
        ("42", "42", {}, True),
        ("42.0", "42", {}, True),
        ("4.2e1", "42", {}, True),
        (" 42\n", "42", {}, True),
        ("+42", "42", {}, True),
        ("-42", "42", {}, False),
        ("−42", "-42", {}, True),
        ("1,234,567.5", "1234567.5", {}, True),
        ("1,23", "123", {}, False),
        ("1.234,5", "1234.5", {}, False),
        (".5", "0.5", {}, True),
        ("0.1", "0.10000000000000001", {}, False),
        ("1.1", "1.0", {"absoluteTolerance": 0.1}, True),
        ("1.1000001", "1.0", {"absoluteTolerance": 0.1}, False),
        ("110", "100", {"relativeTolerance": 0.1}, True),
        ("111", "100", {"relativeTolerance": 0.1}, False),
        ("-110", "-100", {"relativeTolerance": 0.1}, True),
        ("100", "111", {"relativeTolerance": 0.1}, True),
        ("0.001", "0", {"relativeTolerance": 0.5}, False),
        ("0.001", "0", {"relativeTolerance": 0.5, "absoluteTolerance": 0.01}, True),
        ("1e400", "1e400", {}, True),
        ("", "42", {}, False),
        ("forty-two", "42", {}, False),
        ("42 apples", "42", {}, False),
        ("$42", "42", {}, False),
        ("42%", "42", {}, False),
        ("NaN", "42", {}, False),
        ("inf", "42", {}, False),
        ("４２", "42", {}, False),
        (LONG, "42", {}, False),
        ("The answer is 42.", "42", {"numberIn": "LAST"}, True),
        ("6 times 7 is 42", "#### 42", {"numberIn": "LAST"}, True),
        ("It costs $1,234.50!", "1234.5", {"numberIn": "LAST"}, True),
        ("答案是42。", "42", {"numberIn": "LAST"}, True),
        ("from 12-34", "34", {"numberIn": "LAST"}, True),
        ("it fell to -5", "-5", {"numberIn": "LAST"}, True),
        ("1, 2, 3", "3", {"numberIn": "LAST"}, True),
        ("1,2,3", "3", {"numberIn": "LAST"}, True),
        ("no number", "42", {"numberIn": "LAST"}, False),
        (LONG + "42", "42", {"numberIn": "LAST"}, True),
    ],
)
def test_a_number_is_close_within_its_tolerance(
    output: str, expected: str, options: dict[str, Any], close: bool
) -> None:
    assert value(MetricKind.NUMERIC_CLOSENESS, output, expected, **options) is close


@pytest.mark.parametrize("expected", ["", "forty-two", "42 apples"])
def test_an_expected_output_without_a_number_fails(expected: str) -> None:
    assert reason(MetricKind.NUMERIC_CLOSENESS, "42", expected) == "The expected output is no number."


@pytest.mark.parametrize("number", ["1e999999999", "9" * 101, "1e-401"])
def test_a_number_beyond_reason_fails(number: str) -> None:
    assert "beyond what" in reason(MetricKind.NUMERIC_CLOSENESS, number, "1")
