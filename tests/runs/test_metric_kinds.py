"""What can be wrong with a metric is told when it is saved, with the place where it stands."""

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

from models.base import Aggregation, MetricKind, ReasonCode, ScoreType
from resolvers import metric_kinds
from resolvers.errors import InvalidInput
from resolvers.judge_prompts import LONGEST_PROMPT
from resolvers.metric_kinds import (
    LONGEST_DESCRIPTION,
    MOST_VARIABLES,
    Definition,
    Variable,
    definition,
    needs_expected,
    needs_judge,
)
from resolvers.metric_options import LONGEST_PATTERN, OPTIONS, Options

NUMBER, BOOLEAN, TEXT = ScoreType.NUMBER, ScoreType.BOOLEAN, ScoreType.TEXT
PROMPT = "Judge {agent_response} against {expected_output}."
SCORE = Variable("score", NUMBER, "How good.", 1.0, 5.0)


def made(kind: MetricKind, **options: Any) -> Definition:
    return definition(kind, options, judge_model_given=False, judge_prompt=None, variables=None)


def judge(prompt: str | None = PROMPT, *variables: Variable, model: bool = True) -> Definition:
    return definition(
        MetricKind.LLM_JUDGE, None, judge_model_given=model, judge_prompt=prompt, variables=variables or (SCORE,)
    )


def fault(raised: pytest.ExceptionInfo[InvalidInput]) -> tuple[tuple[str, ...], str]:
    assert raised.value.code == ReasonCode.INVALID_FIELD
    return raised.value.path, raised.value.message


DEFAULTS: dict[MetricKind, dict[str, Any]] = {
    MetricKind.NORMALIZED_MATCH: {
        "caseSensitive": False,
        "collapseWhitespace": True,
        "ignorePunctuation": False,
        "nfkc": True,
    },
    MetricKind.CONTAINS: {"caseSensitive": True},
    MetricKind.NUMERIC_CLOSENESS: {"relativeTolerance": 0.0, "absoluteTolerance": 0.0, "numberIn": "WHOLE"},
    MetricKind.FIELD_ACCURACY: {"lists": "ORDERED"},
    MetricKind.JSON_VALID: {"allowFence": False, "field": None},
}
PLAIN = [kind for kind in MetricKind if kind not in (MetricKind.REGEX, MetricKind.LLM_JUDGE)]


@pytest.mark.parametrize("kind", PLAIN)
def test_options_are_kept_with_their_defaults(kind: MetricKind) -> None:
    assert made(kind).options == DEFAULTS.get(kind, {})


@pytest.mark.parametrize("kind", PLAIN)
def test_no_options_are_all_defaults(kind: MetricKind) -> None:
    given = definition(kind, None, judge_model_given=False, judge_prompt=None, variables=None)
    assert given == made(kind)


def test_what_is_kept_is_read_again_as_it_is() -> None:
    kept = made(MetricKind.REGEX, pattern=r"^\d+$", multiline=True).options
    assert made(MetricKind.REGEX, **kept).options == kept


VALUES: dict[MetricKind, dict[str, ScoreType]] = {
    MetricKind.FIELD_ACCURACY: {"precision": NUMBER, "recall": NUMBER, "f1": NUMBER},
    MetricKind.TOKENS: {"input": NUMBER, "output": NUMBER},
    MetricKind.EXACT_MATCH: {"value": BOOLEAN},
    MetricKind.NORMALIZED_MATCH: {"value": BOOLEAN},
    MetricKind.CONTAINS: {"value": BOOLEAN},
    MetricKind.NUMERIC_CLOSENESS: {"value": BOOLEAN},
    MetricKind.JSON_VALID: {"value": BOOLEAN},
}


@pytest.mark.parametrize("kind", PLAIN)
def test_a_kind_has_its_variables(kind: MetricKind) -> None:
    found = {variable.name: variable.type for variable in made(kind).variables}
    assert found == VALUES.get(kind, {"value": NUMBER})


@pytest.mark.parametrize("kind", PLAIN)
def test_numbers_are_averaged_and_truths_counted(kind: MetricKind) -> None:
    wanted = {NUMBER: Aggregation.AVERAGE, BOOLEAN: Aggregation.COUNT_TRUE}
    assert all(variable.aggregation == wanted[variable.type] for variable in made(kind).variables)


WRONG_OPTIONS: list[tuple[MetricKind, Any, tuple[str, ...], str]] = [
    (MetricKind.EXACT_MATCH, {"caseSensitive": True}, ("options", "caseSensitive"), "no option caseSensitive"),
    (MetricKind.CONTAINS, {"case_sensitive": True}, ("options", "case_sensitive"), "no option"),
    (MetricKind.CONTAINS, {"caseSensitive": "true"}, ("options", "caseSensitive"), "boolean"),
    (MetricKind.CONTAINS, {"caseSensitive": 1}, ("options", "caseSensitive"), "boolean"),
    (MetricKind.CONTAINS, {"caseSensitive": None}, ("options", "caseSensitive"), "boolean"),
    (MetricKind.CONTAINS, ["caseSensitive"], ("options",), "object"),
    (MetricKind.CONTAINS, "caseSensitive", ("options",), "object"),
    (MetricKind.REGEX, {}, ("options", "pattern"), "required"),
    (MetricKind.REGEX, {"pattern": ""}, ("options", "pattern"), "at least 1"),
    (MetricKind.REGEX, {"pattern": "("}, ("options", "pattern"), "missing )"),
    (MetricKind.REGEX, {"pattern": "(?=a)"}, ("options", "pattern"), "RE2"),
    (MetricKind.REGEX, {"pattern": r"(a)\1"}, ("options", "pattern"), "RE2"),
    (MetricKind.REGEX, {"pattern": r"(\pL{100}){9}"}, ("options", "pattern"), "too large"),
    (MetricKind.REGEX, {"pattern": "a" * (LONGEST_PATTERN + 1)}, ("options", "pattern"), "at most"),
    (MetricKind.REGEX, {"pattern": "a\0"}, ("options", "pattern"), "NUL"),
    (MetricKind.REGEX, {"pattern": "a", "field": ""}, ("options", "field"), "at least 1"),
    (MetricKind.NUMERIC_CLOSENESS, {"relativeTolerance": -0.1}, ("options", "relativeTolerance"), "greater"),
    (MetricKind.NUMERIC_CLOSENESS, {"relativeTolerance": True}, ("options", "relativeTolerance"), "number"),
    (MetricKind.NUMERIC_CLOSENESS, {"absoluteTolerance": float("inf")}, ("options", "absoluteTolerance"), "finite"),
    (MetricKind.NUMERIC_CLOSENESS, {"numberIn": "FIRST"}, ("options", "numberIn"), "WHOLE"),
    (MetricKind.FIELD_ACCURACY, {"lists": "ordered"}, ("options", "lists"), "ORDERED"),
    (MetricKind.LATENCY, {"unit": "s"}, ("options", "unit"), "no option unit"),
]


@pytest.mark.parametrize(("kind", "options", "path", "told"), WRONG_OPTIONS)
def test_a_wrong_option_is_named(kind: MetricKind, options: Any, path: tuple[str, ...], told: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        definition(kind, options, judge_model_given=False, judge_prompt=None, variables=None)

    found, message = fault(raised)
    assert found == path
    assert told in message


def test_a_judge_is_kept_with_what_its_variables_are_summed_up_by() -> None:
    variables = (SCORE, Variable("polite", BOOLEAN), Variable("why", TEXT))
    kept = judge(PROMPT, *variables)

    assert kept.options == {}
    assert [variable.name for variable in kept.variables] == ["score", "polite", "why"]
    wanted = [Aggregation.AVERAGE, Aggregation.COUNT_TRUE, None]
    assert [variable.aggregation for variable in kept.variables] == wanted


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        ("", "says something"),
        ("  ", "says something"),
        ("{agent_response}\0", "NUL"),
        ("Judge this.", "must hold {agent_response}"),
        ("{{agent_response}}", "must hold {agent_response}"),
        ("{agent_response} {answer}", "{answer}"),
        ("{agent_response} { input }", "{ input }"),
        ("{agent_response} {}", "{}"),
        ('{agent_response} {"score": 1}', '{"score": 1}'),
        ("{agent_response} {b} {a}", "{a}, {b}"),
        ("{agent_response} }", "Unknown in the prompt: }."),
        ("{agent_response} {input", "Unknown in the prompt: {."),
        ("{agent_response}" + "x" * LONGEST_PROMPT, "at most 100,000"),
    ],
)
def test_a_wrong_prompt_is_told(prompt: str, told: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        judge(prompt)

    path, message = fault(raised)
    assert path == ("judge_prompt",)
    assert told in message


def test_doubled_braces_are_no_places() -> None:
    assert judge('{agent_response} like {{"score": 1}}').variables


WRONG_VARIABLES: list[tuple[Variable, tuple[str, ...], str]] = [
    (Variable("", NUMBER), ("variables", "1", "name"), "letter"),
    (Variable("1st", NUMBER), ("variables", "1", "name"), "letter"),
    (Variable("_x", NUMBER), ("variables", "1", "name"), "letter"),
    (Variable("two words", NUMBER), ("variables", "1", "name"), "letter"),
    (Variable("größe", NUMBER), ("variables", "1", "name"), "ASCII"),
    (Variable("x\n", NUMBER), ("variables", "1", "name"), "letter"),
    (Variable("x" * 65, NUMBER), ("variables", "1", "name"), "63"),
    (Variable("score", TEXT), ("variables", "1", "name"), "twice"),
    (Variable("x", TEXT, "\0"), ("variables", "1", "description"), "NUL"),
    (Variable("x", TEXT, "x" * (LONGEST_DESCRIPTION + 1)), ("variables", "1", "description"), "2,000"),
    (Variable("x", TEXT, None, 0.0), ("variables", "1", "minimum"), "Only a NUMBER"),
    (Variable("x", BOOLEAN, None, None, 1.0), ("variables", "1", "maximum"), "Only a NUMBER"),
    (Variable("x", NUMBER, None, 2.0, 1.0), ("variables", "1", "minimum"), "above"),
    (Variable("x", NUMBER, None, float("nan")), ("variables", "1", "minimum"), "finite"),
    (Variable("x", NUMBER, None, None, float("inf")), ("variables", "1", "maximum"), "finite"),
    (Variable("x", NUMBER, aggregation=Aggregation.COUNT_TRUE), ("variables", "1", "aggregation"), "AVERAGE"),
    (Variable("x", BOOLEAN, aggregation=Aggregation.AVERAGE), ("variables", "1", "aggregation"), "COUNT_TRUE"),
    (Variable("x", TEXT, aggregation=Aggregation.AVERAGE), ("variables", "1", "aggregation"), "none"),
]


@pytest.mark.parametrize(("variable", "path", "told"), WRONG_VARIABLES)
def test_a_wrong_variable_is_told_with_its_place(variable: Variable, path: tuple[str, ...], told: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        judge(PROMPT, SCORE, variable)

    found, message = fault(raised)
    assert found == path
    assert told in message


@pytest.mark.parametrize("count", [0, MOST_VARIABLES + 1])
def test_a_judge_answers_one_to_twenty_variables(count: int) -> None:
    variables = [Variable(f"v{number}", NUMBER) for number in range(count)]
    with pytest.raises(InvalidInput) as raised:
        definition(MetricKind.LLM_JUDGE, {}, judge_model_given=True, judge_prompt=PROMPT, variables=variables)
    assert fault(raised)[0] == ("variables",)


def test_a_range_of_one_number_is_a_range() -> None:
    assert judge(PROMPT, Variable("x", NUMBER, None, 1.0, 1.0)).variables


def test_a_judge_without_a_model_is_refused() -> None:
    with pytest.raises(InvalidInput) as raised:
        judge(model=False)
    assert fault(raised)[0] == ("judge_model_id",)


def test_a_judge_without_a_prompt_is_refused() -> None:
    with pytest.raises(InvalidInput) as raised:
        judge(None)
    assert fault(raised)[0] == ("judge_prompt",)


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"judge_model_given": True}, ("judge_model_id",)),
        ({"judge_prompt": PROMPT}, ("judge_prompt",)),
        ({"variables": [SCORE]}, ("variables",)),
    ],
)
def test_only_a_judge_takes_what_a_judge_needs(given: dict[str, Any], path: tuple[str, ...]) -> None:
    nothing: dict[str, Any] = {"judge_model_given": False, "judge_prompt": None, "variables": None}
    with pytest.raises(InvalidInput) as raised:
        definition(MetricKind.EXACT_MATCH, {}, **{**nothing, **given})
    assert fault(raised)[0] == path


def test_likeness_of_meaning_is_refused_without_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(metric_kinds, "find_spec", lambda name: None if name == "wordllama" else found(name))

    with pytest.raises(InvalidInput) as raised:
        made(MetricKind.SEMANTIC_SIMILARITY)

    path, message = fault(raised)
    assert path == ("kind",)
    assert "assay[semantic]" in message


def test_a_judge_needs_the_expected_output_that_its_prompt_shows() -> None:
    assert needs_expected(MetricKind.LLM_JUDGE, PROMPT)
    assert not needs_expected(MetricKind.LLM_JUDGE, "{agent_response} {{expected_output}}")


def test_what_looks_at_the_cell_alone_needs_no_expected_output() -> None:
    alone = {kind for kind in MetricKind if not needs_expected(kind)}
    measured = {MetricKind.LATENCY, MetricKind.TOKENS, MetricKind.COST}
    assert alone == {MetricKind.REGEX, MetricKind.JSON_VALID, MetricKind.LLM_JUDGE, *measured}


def test_one_kind_alone_needs_a_judge() -> None:
    assert [kind for kind in MetricKind if needs_judge(kind)] == [MetricKind.LLM_JUDGE]


@pytest.mark.parametrize(("kind", "options"), OPTIONS.items())
def test_every_option_is_explained(kind: MetricKind, options: type[Options]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text()
    _, _, section = page.partition(f"### {kind}\n")
    explained = re.findall(r"^\| (\w+) +\| ", section.partition("\n#")[0], re.MULTILINE)

    assert explained == ["option", *(field.alias for field in options.model_fields.values())]
