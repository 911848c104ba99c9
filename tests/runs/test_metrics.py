"""What a metric says of a cell: a value, or in words why there is none."""

from decimal import Decimal
from typing import Any

import pytest

from models.base import AgentKind, FieldType, MetricKind, ScoreStatus
from resolvers.metric_kinds import VARIABLES, needs_expected
from runs.metrics import Outcome, Subject, measure, scored

OPTIONS: dict[MetricKind, dict[str, Any]] = {MetricKind.REGEX: {"pattern": "x"}}
KINDS = [kind for kind in MetricKind if kind != MetricKind.LLM_JUDGE]
COMPARING = [kind for kind in KINDS if needs_expected(kind)]
MEASURED: dict[str, Any] = {"latency_ms": 1200, "input_tokens": 100, "output_tokens": 20, "cost": Decimal("0.000125")}


def fields(kind: MetricKind, given: dict[str, Any], expected: dict[str, Any], **options: Any) -> Outcome:
    types = dict.fromkeys(given | expected, FieldType.NUMBER) if kind == MetricKind.NUMERIC_CLOSENESS else {}
    subject = Subject(AgentKind.AUTOMATION, fields=given, expected_fields=expected, field_types=types)
    return measure(kind, options, subject)["value"]


def reasons(outcomes: dict[str, Outcome], status: ScoreStatus) -> set[str | None]:
    assert {outcome.status for outcome in outcomes.values()} == {status}
    return {outcome.reason for outcome in outcomes.values()}


@pytest.mark.parametrize("agent", list(AgentKind))
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != MetricKind.FIELD_ACCURACY])
def test_a_cell_without_output_is_skipped(kind: MetricKind, agent: AgentKind) -> None:
    subject = Subject(agent, expected_text="x", expected_fields={"a": 1}, **MEASURED)
    outcomes = measure(kind, OPTIONS.get(kind, {}), subject)

    assert list(outcomes) == [variable.name for variable in VARIABLES[kind]]
    assert reasons(outcomes, ScoreStatus.SKIPPED) == {"The cell has no output."}


@pytest.mark.parametrize(
    "subject", [Subject(AgentKind.CONVERSATION, "x"), Subject(AgentKind.AUTOMATION, fields={"a": 1})]
)
@pytest.mark.parametrize("kind", [kind for kind in COMPARING if kind != MetricKind.FIELD_ACCURACY])
def test_a_row_without_the_expected_output_that_is_needed_is_skipped(kind: MetricKind, subject: Subject) -> None:
    assert reasons(measure(kind, {}, subject), ScoreStatus.SKIPPED) == {"The row has no expected output."}


def test_an_expected_empty_text_is_an_expected_output() -> None:
    subject = Subject(AgentKind.CONVERSATION, output="x", expected_text="")
    assert measure(MetricKind.EXACT_MATCH, {}, subject) == {"value": scored(False)}


def test_what_a_cell_took_is_its_score() -> None:
    subject = Subject(AgentKind.CONVERSATION, output="x", **MEASURED)

    assert measure(MetricKind.LATENCY, {}, subject) == {"value": scored(1200.0)}
    assert measure(MetricKind.TOKENS, {}, subject) == {"input": scored(100.0), "output": scored(20.0)}
    assert measure(MetricKind.COST, {}, subject) == {"value": scored(0.000125)}


@pytest.mark.parametrize("kind", [MetricKind.LATENCY, MetricKind.TOKENS, MetricKind.COST])
def test_what_is_not_known_of_a_cell_is_skipped_and_no_zero(kind: MetricKind) -> None:
    outcomes = measure(kind, {}, Subject(AgentKind.CONVERSATION, output="x"))
    assert all(str(reason).endswith("is not known.") for reason in reasons(outcomes, ScoreStatus.SKIPPED))
    assert all(outcome.number is None for outcome in outcomes.values())


def test_of_tokens_one_number_may_be_known() -> None:
    outcomes = measure(MetricKind.TOKENS, {}, Subject(AgentKind.CONVERSATION, output="x", output_tokens=0))
    assert outcomes["output"] == scored(0.0)
    assert outcomes["input"].status == ScoreStatus.SKIPPED


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_finite_number_fails(value: float) -> None:
    outcome = scored(value)
    assert (outcome.status, outcome.number) == (ScoreStatus.FAILED, None)
    assert outcome.reason


@pytest.mark.parametrize(
    ("given", "expected", "same"),
    [
        ({"a": "x", "b": "y"}, {"b": "y", "a": "x"}, True),
        ({"a": "x", "b": "z"}, {"a": "x", "b": "y"}, False),
        ({"a": "x"}, {"a": "x", "b": "y"}, False),
        ({"a": "x", "b": "y"}, {"a": "x"}, False),
        ({"a": "x", "b": None}, {"a": "x"}, False),
        ({"a": None}, {"a": None}, True),
        ({"a": None}, {"a": "null"}, False),
        ({"a": 1.0}, {"a": 1}, True),
        ({"a": 1.5}, {"a": "1.5"}, True),
        ({"a": [1.0, {"y": 2, "x": 3}]}, {"a": [1, {"x": 3, "y": 2.0}]}, True),
        ({"a": [1, 2]}, {"a": [2, 1]}, False),
        ({"a": True}, {"a": 1}, False),
        ({}, {"a": "x"}, False),
    ],
)
def test_fields_match_where_every_one_does(given: dict[str, Any], expected: dict[str, Any], same: bool) -> None:
    assert fields(MetricKind.EXACT_MATCH, given, expected) == scored(same)


@pytest.mark.parametrize(
    ("given", "expected", "mean"),
    [
        ({"a": "kitten"}, {"a": "sitting"}, 4 / 7),
        ({"a": "kitten", "b": "x"}, {"a": "sitting", "b": "x"}, (4 / 7 + 1) / 2),
        ({"a": "x"}, {"a": "x", "b": "y"}, 1 / 2),
        ({"a": "x", "b": "y", "c": "z"}, {"a": "x"}, 1 / 3),
        ({"b": "y"}, {"a": "x"}, 0.0),
        ({"a": None}, {"a": None}, 1.0),
        ({"a": None, "b": "x"}, {"a": "x", "b": "x"}, 1 / 2),
        ({"a": [1, 2]}, {"a": [1, 3]}, 5 / 6),
    ],
)
def test_likeness_of_fields_is_the_mean_with_nothing_for_one_that_only_one_side_has(
    given: dict[str, Any], expected: dict[str, Any], mean: float
) -> None:
    outcome = fields(MetricKind.EDIT_SIMILARITY, given, expected)
    assert outcome.boolean is None
    assert outcome.number == pytest.approx(mean)


@pytest.mark.parametrize("kind", [kind for kind in COMPARING if kind != MetricKind.FIELD_ACCURACY])
def test_equal_fields_are_the_best_that_there_is(kind: MetricKind) -> None:
    outcome = fields(kind, {"a": 12.5, "b": 3}, {"b": 3.0, "a": 12.5})
    assert outcome.status == ScoreStatus.SCORED
    assert outcome.boolean is True or outcome.number == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(
    ("given", "expected", "options", "close"),
    [
        ({"a": 1.1, "b": 5}, {"a": 1, "b": 5}, {"absoluteTolerance": 0.1}, True),
        ({"a": 1.2, "b": 5}, {"a": 1, "b": 5}, {"absoluteTolerance": 0.1}, False),
        ({"a": 1}, {"a": 1, "b": 5}, {}, False),
        ({"a": 1, "b": 5}, {"a": 1}, {}, False),
        ({"a": None}, {"a": None}, {}, True),
        ({"a": None}, {"a": 0}, {"absoluteTolerance": 9}, False),
        ({"a": 1e300}, {"a": 10**300}, {}, True),
    ],
)
def test_numbers_of_fields_are_close_where_every_one_is(
    given: dict[str, Any], expected: dict[str, Any], options: dict[str, Any], close: bool
) -> None:
    assert fields(MetricKind.NUMERIC_CLOSENESS, given, expected, **options) == scored(close)


def test_fields_that_are_no_numbers_are_left_aside() -> None:
    types = {"total": FieldType.NUMBER, "vendor": FieldType.STRING}
    given, expected = {"total": 5, "vendor": "x"}, {"total": 5, "vendor": "y"}
    subject = Subject(AgentKind.AUTOMATION, fields=given, expected_fields=expected, field_types=types)
    assert measure(MetricKind.NUMERIC_CLOSENESS, {}, subject) == {"value": scored(True)}


def test_without_number_fields_there_is_no_closeness() -> None:
    types = {"vendor": FieldType.STRING}
    subject = Subject(AgentKind.AUTOMATION, fields={"vendor": "5"}, expected_fields={"vendor": "5"}, field_types=types)
    assert measure(MetricKind.NUMERIC_CLOSENESS, {}, subject)["value"].status == ScoreStatus.SKIPPED


@pytest.mark.parametrize(
    ("field", "found"), [("a", True), ("b", False), ("nothing", False), ("missing", False), (None, True)]
)
def test_a_pattern_looks_at_one_field_or_at_all_as_json(field: str | None, found: bool) -> None:
    given = {"a": "x-1", "b": 2, "nothing": None}
    assert fields(MetricKind.REGEX, given, {}, pattern="x-1|null", field=field) == scored(found)


@pytest.mark.parametrize(("field", "valid"), [("a", True), ("b", False), ("missing", False)])
def test_one_field_may_have_to_be_json(field: str, valid: bool) -> None:
    assert fields(MetricKind.JSON_VALID, {"a": "[1]", "b": "[1"}, {}, field=field) == scored(valid)


def test_all_fields_are_json_anyway() -> None:
    assert fields(MetricKind.JSON_VALID, {"a": 1}, {}).status == ScoreStatus.SKIPPED
