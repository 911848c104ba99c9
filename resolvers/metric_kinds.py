"""What each kind of metric computes, and everything that can be wrong with one before it has scored anything."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from math import isfinite
from re import compile as pattern
from typing import Any

from models.base import Aggregation, MetricKind, ReasonCode, ScoreType
from resolvers.errors import InvalidInput
from resolvers.forms import require_storable
from resolvers.judge_prompts import EXPECTED_OUTPUT, places, require_prompt
from resolvers.metric_options import read_options

MOST_VARIABLES = 20
LONGEST_DESCRIPTION = 2_000
NAME = pattern(r"[A-Za-z][A-Za-z0-9_]{0,63}")
AGGREGATIONS: Mapping[ScoreType, Aggregation | None] = {
    ScoreType.NUMBER: Aggregation.AVERAGE,
    ScoreType.BOOLEAN: Aggregation.COUNT_TRUE,
    ScoreType.TEXT: None,
}


@dataclass(frozen=True, slots=True)
class Variable:
    """One value of a score. No aggregation is the one of the type, where it has one."""

    name: str
    type: ScoreType
    description: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    aggregation: Aggregation | None = None


@dataclass(frozen=True, slots=True)
class Definition:
    """A metric as it is kept: all options with their defaults, all variables with their aggregations."""

    options: dict[str, Any]
    variables: tuple[Variable, ...]


def _truth(description: str) -> tuple[Variable, ...]:
    return (Variable("value", ScoreType.BOOLEAN, description, aggregation=Aggregation.COUNT_TRUE),)


def _number(name: str, description: str, minimum: float | None = 0.0, maximum: float | None = 1.0) -> Variable:
    return Variable(name, ScoreType.NUMBER, description, minimum, maximum, Aggregation.AVERAGE)


VARIABLES: Mapping[MetricKind, tuple[Variable, ...]] = {
    MetricKind.EXACT_MATCH: _truth("The output is the expected one, to the character."),
    MetricKind.NORMALIZED_MATCH: _truth("The output is the expected one, but for what the options leave aside."),
    MetricKind.CONTAINS: _truth("The expected output stands in the output."),
    MetricKind.REGEX: _truth("The pattern matches."),
    MetricKind.EDIT_SIMILARITY: (_number("value", "1 minus the Levenshtein distance over the longer length."),),
    MetricKind.TOKEN_F1: (_number("value", "F1 over the words, as SQuAD counts them."),),
    MetricKind.ROUGE_L: (_number("value", "F-measure over the longest common subsequence of words."),),
    MetricKind.SEMANTIC_SIMILARITY: (_number("value", "Cosine of the embeddings.", minimum=-1.0),),
    MetricKind.NUMERIC_CLOSENESS: _truth("The number is within the tolerance."),
    MetricKind.FIELD_ACCURACY: (
        _number("precision", "Right leaves over given ones."),
        _number("recall", "Right leaves over expected ones."),
        _number("f1", "The harmonic mean of both."),
    ),
    MetricKind.JSON_VALID: _truth("The output is JSON."),
    MetricKind.LATENCY: (_number("value", "Milliseconds.", maximum=None),),
    MetricKind.TOKENS: (
        _number("input", "Tokens read.", maximum=None),
        _number("output", "Tokens written.", maximum=None),
    ),
    MetricKind.COST: (_number("value", "US dollars.", maximum=None),),
}
WITHOUT_EXPECTED = {
    MetricKind.REGEX,
    MetricKind.JSON_VALID,
    MetricKind.LATENCY,
    MetricKind.TOKENS,
    MetricKind.COST,
}


def needs_judge(kind: MetricKind) -> bool:
    return kind == MetricKind.LLM_JUDGE


def needs_expected(kind: MetricKind, judge_prompt: str | None = None) -> bool:
    """Whether a row without expected output is passed over."""
    if needs_judge(kind):
        return judge_prompt is not None and EXPECTED_OUTPUT in places(judge_prompt)
    return kind not in WITHOUT_EXPECTED


def definition(
    kind: MetricKind,
    options: Any,
    *,
    judge_model_given: bool,
    judge_prompt: str | None,
    variables: Sequence[Variable] | None,
) -> Definition:
    """The metric that is meant; raises InvalidInput for the first fault in it."""
    kept = read_options(kind, options).model_dump(mode="json", by_alias=True)
    _require_extra(kind)
    if not needs_judge(kind):
        _refuse_judge(kind, judge_model_given, judge_prompt, variables)
        return Definition(kept, VARIABLES[kind])
    if not judge_model_given:
        raise _fault("A judge is a model: name it.", "judge_model_id")
    if judge_prompt is None:
        raise _fault("A judge needs a prompt.", "judge_prompt")
    require_prompt(judge_prompt)
    return Definition(kept, _sound(variables or ()))


def _refuse_judge(kind: MetricKind, model: bool, prompt: str | None, variables: Sequence[Variable] | None) -> None:
    given = {"judge_model_id": model, "judge_prompt": prompt is not None, "variables": bool(variables)}
    for name, is_given in given.items():
        if is_given:
            raise _fault(f"Only LLM_JUDGE takes this, not {kind}.", name)


def _require_extra(kind: MetricKind) -> None:
    if kind == MetricKind.SEMANTIC_SIMILARITY and find_spec("wordllama") is None:
        raise _fault("This server lacks the extra that brings a model of meaning: install assay[semantic].", "kind")


def _sound(variables: Sequence[Variable]) -> tuple[Variable, ...]:
    if not 1 <= len(variables) <= MOST_VARIABLES:
        raise _fault(f"A judge answers 1 to {MOST_VARIABLES} variables, not {len(variables)}.", "variables")
    taken: set[str] = set()
    for index, variable in enumerate(variables):
        try:
            _require_variable(variable, taken)
        except InvalidInput as fault:
            raise fault.within("variables", str(index)) from None
        taken.add(variable.name)
    return tuple(replace(variable, aggregation=AGGREGATIONS[variable.type]) for variable in variables)


def _require_variable(variable: Variable, taken: set[str]) -> None:
    if not NAME.fullmatch(variable.name):
        raise _fault("A name is a letter and up to 63 letters, digits or underscores of ASCII.", "name")
    if variable.name in taken:
        raise _fault(f"The variable {variable.name} is given twice.", "name")
    require_storable(variable.description, ("description",))
    if len(variable.description or "") > LONGEST_DESCRIPTION:
        raise _fault(f"A description has at most {LONGEST_DESCRIPTION:,} characters.", "description")
    _require_bounds(variable)
    fitting = AGGREGATIONS[variable.type]
    if variable.aggregation not in (None, fitting):
        wanted = f"takes {fitting}" if fitting else "takes none"
        raise _fault(f"A {variable.type} {wanted}, not {variable.aggregation}.", "aggregation")


def _require_bounds(variable: Variable) -> None:
    for name, bound in (("minimum", variable.minimum), ("maximum", variable.maximum)):
        if bound is None:
            continue
        if variable.type != ScoreType.NUMBER:
            raise _fault(f"Only a NUMBER has bounds, not a {variable.type}.", name)
        if not isfinite(bound):
            raise _fault("A bound is a finite number.", name)
    if variable.minimum is not None and variable.maximum is not None and variable.minimum > variable.maximum:
        raise _fault("The minimum is above the maximum.", "minimum")


def _fault(message: str, *path: str) -> InvalidInput:
    return InvalidInput(message, path, ReasonCode.INVALID_FIELD)
