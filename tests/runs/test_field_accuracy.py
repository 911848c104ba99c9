"""Fields against fields: leaves by their paths, with their types."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.base import AgentKind, MetricKind, ScoreStatus
from resolvers.metric_options import Lists
from runs.leaves import accuracy
from runs.metrics import Subject, measure

UNORDERED = {"lists": "UNORDERED"}
DEEP: Any = "leaf"
for _ in range(90):
    DEEP = {"in": [DEEP]}

LEAVES = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0, "1", "", "a", "ä"])
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3)


def counts(given: dict[str, Any], expected: dict[str, Any], **options: Any) -> tuple[int, int, int]:
    found = accuracy(given, expected, Lists(options.get("lists", Lists.ORDERED)))
    return found.right, found.given, found.expected


@pytest.mark.parametrize(
    ("given", "expected", "options", "found"),
    [
        ({"a": 1}, {"a": 1}, {}, (1, 1, 1)),
        ({"a": 1}, {"a": 2}, {}, (0, 1, 1)),
        ({}, {"a": 1}, {}, (0, 0, 1)),
        ({"a": 1}, {"a": 1, "b": 2}, {}, (1, 1, 2)),
        ({"a": 1, "b": 2}, {"a": 1}, {}, (1, 2, 1)),
        ({"b": 2, "a": 1}, {"a": 1, "b": 2}, {}, (2, 2, 2)),
        ({"a": 1}, {"b": 1}, {}, (0, 1, 1)),
        ({"a": 1.0}, {"a": 1}, {}, (1, 1, 1)),
        ({"a": "1"}, {"a": 1}, {}, (0, 1, 1)),
        ({"a": True}, {"a": 1}, {}, (0, 1, 1)),
        ({"a": 0}, {"a": False}, {}, (0, 1, 1)),
        ({"a": None}, {"a": None}, {}, (1, 1, 1)),
        ({"a": None}, {"a": ""}, {}, (0, 1, 1)),
        ({"a": "null"}, {"a": None}, {}, (0, 1, 1)),
        ({"a": "Größe"}, {"a": "Größe"}, {}, (1, 1, 1)),
        ({"a": "größe"}, {"a": "Größe"}, {}, (0, 1, 1)),
        ({"a": "東京"}, {"a": "東京 "}, {}, (0, 1, 1)),
        ({"a": "2026-10-02"}, {"a": "2026-10-02"}, {}, (1, 1, 1)),
        ({"a": 10**23}, {"a": 1e23}, {}, (0, 1, 1)),
        ({"a": {"x": 1, "y": 2}}, {"a": {"y": 2, "x": 1}}, {}, (2, 2, 2)),
        ({"a": {"x": 1, "y": 2}}, {"a": {"x": 1, "y": 3}}, {}, (1, 2, 2)),
        ({"a": {"x": 1, "z": 2}}, {"a": {"x": 1, "y": 2, "w": 3}}, {}, (1, 2, 3)),
        ({"a": {"b": {"c": [1, {"d": 2}]}}}, {"a": {"b": {"c": [1, {"d": 3}]}}}, {}, (1, 2, 2)),
        ({"a": {"x": 1}}, {"a": [1]}, {}, (0, 1, 1)),
        ({"a": {"0": 1}}, {"a": [1]}, {}, (0, 1, 1)),
        ({"a": {}}, {"a": {}}, {}, (1, 1, 1)),
        ({"a": []}, {"a": {}}, {}, (0, 1, 1)),
        ({"a": []}, {"a": []}, UNORDERED, (1, 1, 1)),
        ({"a": [1, 2, 3]}, {"a": [1, 2, 3]}, {}, (3, 3, 3)),
        ({"a": [3, 2, 1]}, {"a": [1, 2, 3]}, {}, (1, 3, 3)),
        ({"a": [3, 2, 1]}, {"a": [1, 2, 3]}, UNORDERED, (3, 3, 3)),
        ({"a": [1, 1, 2]}, {"a": [1, 2, 2]}, UNORDERED, (2, 3, 3)),
        ({"a": [1, 2]}, {"a": [1, 2, 3]}, {}, (2, 2, 3)),
        ({"a": [{"x": 1, "y": 2}, {"x": 3}]}, {"a": [{"x": 3}, {"y": 2, "x": 1}]}, UNORDERED, (2, 2, 2)),
        ({"a": [{"x": 1, "y": 9}]}, {"a": [{"x": 1, "y": 2}]}, UNORDERED, (0, 1, 1)),
        ({"a": [{"x": 1, "y": 9}]}, {"a": [{"x": 1, "y": 2}]}, {}, (1, 2, 2)),
        ({"a": [[2, 1], [3]]}, {"a": [[3], [1, 2]]}, UNORDERED, (2, 2, 2)),
        ({"a": [True, 1]}, {"a": [1, 1]}, UNORDERED, (1, 2, 2)),
        ({"a": ["x"] * 5000}, {"a": ["x"] * 4000}, UNORDERED, (4000, 5000, 4000)),
        ({"a": "x" * 1_000_000}, {"a": "x" * 1_000_000}, {}, (1, 1, 1)),
        ({"a": DEEP}, {"a": DEEP}, {}, (1, 1, 1)),
    ],
)
def test_right_leaves_are_counted_beside_given_and_expected_ones(
    given: dict[str, Any], expected: dict[str, Any], options: dict[str, Any], found: tuple[int, int, int]
) -> None:
    assert counts(given, expected, **options) == found


@pytest.mark.parametrize("lists", list(Lists))
@given(FIELDS, FIELDS)
def test_swapping_both_sides_swaps_precision_and_recall(
    lists: Lists, one: dict[str, Any], other: dict[str, Any]
) -> None:
    here, there = accuracy(one, other, lists), accuracy(other, one, lists)
    assert (here.precision, here.recall, here.f1) == (there.recall, there.precision, there.f1)


@given(FIELDS, FIELDS)
def test_f1_is_the_harmonic_mean(one: dict[str, Any], other: dict[str, Any]) -> None:
    found = accuracy(one, other, Lists.ORDERED)
    both = found.precision + found.recall
    assert found.f1 == pytest.approx(2 * found.precision * found.recall / both if both else 0.0)


@given(FIELDS, st.randoms())
def test_the_order_of_names_is_no_matter(fields: dict[str, Any], chance: Any) -> None:
    names = list(fields)
    chance.shuffle(names)
    found = accuracy({name: fields[name] for name in names}, fields, Lists.ORDERED)
    assert found.right == found.given == found.expected


@given(FIELDS, FIELDS)
def test_two_objects_are_all_right_only_where_they_are_equal(one: dict[str, Any], other: dict[str, Any]) -> None:
    found = accuracy(one, other, Lists.ORDERED)
    assert (found.right == found.given == found.expected) is (_typed(one) == _typed(other))


def _typed(value: Any) -> Any:
    """Python takes true for 1; JSON does not."""
    if isinstance(value, dict):
        return {name: _typed(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_typed(each) for each in value]
    return (isinstance(value, bool), value)


def measured(**cell: Any) -> dict[str, Any]:
    subject = Subject(AgentKind.AUTOMATION, **cell)
    return {name: outcome.number for name, outcome in measure(MetricKind.FIELD_ACCURACY, {}, subject).items()}


def test_a_score_has_precision_recall_and_f1() -> None:
    found = measured(fields={"a": 1, "b": 2, "c": 3}, expected_fields={"a": 1, "b": 9})
    assert found == {"precision": 1 / 3, "recall": 1 / 2, "f1": 2 / 5}


def test_where_nothing_is_given_nothing_is_right() -> None:
    assert measured(fields={}, expected_fields={"a": 1}) == {"precision": 0.0, "recall": 0.0, "f1": 0.0}


@pytest.mark.parametrize(
    ("subject", "reason"),
    [
        (Subject(AgentKind.AUTOMATION, expected_fields={"a": 1}), "The cell has no output."),
        (Subject(AgentKind.AUTOMATION, fields={"a": 1}), "The row has no expected output."),
        (Subject(AgentKind.CONVERSATION, output="x", expected_text="x"), "A conversation has no fields."),
    ],
)
def test_without_both_sides_every_variable_is_skipped(subject: Subject, reason: str) -> None:
    outcomes = measure(MetricKind.FIELD_ACCURACY, {}, subject)
    assert list(outcomes) == ["precision", "recall", "f1"]
    assert {(each.status, each.reason, each.number) for each in outcomes.values()} == {
        (ScoreStatus.SKIPPED, reason, None)
    }
