"""Scores that need no model: one cell, one metric, an outcome for each of its variables."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from math import isfinite
from typing import Any

from models.base import AgentKind, FieldType, MetricKind, ScoreStatus, ScoreType
from resolvers.errors import InvalidInput
from resolvers.metric_kinds import VARIABLES, needs_expected
from resolvers.metric_options import (
    Contains,
    FieldAccuracy,
    JsonValid,
    NormalizedMatch,
    NumericCloseness,
    Options,
    Regex,
    read_options,
)
from runs import texts
from runs.bounds import Unmeasurable
from runs.leaves import accuracy
from runs.meaning import similarity
from runs.numbers import closeness_of_texts, closeness_of_values
from runs.patterns import is_json, matches

Compare = Callable[[Any, Any], bool | float]


@dataclass(frozen=True, slots=True)
class Subject:
    """A cell and its row's expected output, as a metric sees them. No expected fields are no expected output."""

    kind: AgentKind
    output: str | None = None
    fields: Mapping[str, Any] | None = None
    expected_text: str | None = None
    expected_fields: Mapping[str, Any] = field(default_factory=dict)
    field_types: Mapping[str, FieldType] = field(default_factory=dict)
    latency_ms: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """One variable's score, or why there is none."""

    status: ScoreStatus
    number: float | None = None
    boolean: bool | None = None
    text: str | None = None
    reason: str | None = None


def failed(reason: str) -> Outcome:
    return Outcome(ScoreStatus.FAILED, reason=reason)


def skipped(reason: str) -> Outcome:
    return Outcome(ScoreStatus.SKIPPED, reason=reason)


def scored(value: bool | float | str) -> Outcome:
    if isinstance(value, bool):
        return Outcome(ScoreStatus.SCORED, boolean=value)
    if isinstance(value, str):
        return Outcome(ScoreStatus.SCORED, text=value)
    if not isfinite(value):
        return failed("The computed value is not a finite number.")
    return Outcome(ScoreStatus.SCORED, number=float(value))


def measure(kind: MetricKind, options: Any, subject: Subject) -> dict[str, Outcome]:
    """By variable. It may take a second of computing for long texts: call it in a thread. A judge is in runs.judge."""
    if reason := _missing(kind, subject):
        return dict.fromkeys(_names(kind), skipped(reason))
    try:
        return _computed(kind, read_options(kind, options), subject)
    except Unmeasurable as why:
        return dict.fromkeys(_names(kind), failed(str(why)))
    except InvalidInput as fault:
        return dict.fromkeys(_names(kind), failed(fault.message))


def _names(kind: MetricKind) -> list[str]:
    return [variable.name for variable in VARIABLES[kind]]


def _missing(kind: MetricKind, subject: Subject) -> str | None:
    """Why this metric says nothing of that cell."""
    is_text = subject.kind == AgentKind.CONVERSATION
    if kind == MetricKind.FIELD_ACCURACY and is_text:
        return "A conversation has no fields."
    if (subject.output if is_text else subject.fields) is None:
        return "The cell has no output."
    if not needs_expected(kind):
        return None
    if subject.expected_text is None if is_text else not subject.expected_fields:
        return "The row has no expected output."
    if kind == MetricKind.NUMERIC_CLOSENESS and not is_text and not _number_names(subject):
        return "The benchmark has no field of type NUMBER that was given or expected."
    return None


def _computed(kind: MetricKind, options: Options, subject: Subject) -> dict[str, Outcome]:
    match kind, options:
        case MetricKind.LATENCY, _:
            return {"value": _known(subject.latency_ms, "latency")}
        case MetricKind.TOKENS, _:
            return {
                "input": _known(subject.input_tokens, "number of input tokens"),
                "output": _known(subject.output_tokens, "number of output tokens"),
            }
        case MetricKind.COST, _:
            return {"value": _known(subject.cost, "cost")}
        case _, FieldAccuracy():
            found = accuracy(subject.fields or {}, subject.expected_fields, options.lists)
            return {name: scored(getattr(found, name)) for name in _names(kind)}
        case _, Regex():
            return {"value": _of_text(subject, options.field, lambda text: matches(text, options))}
        case _, JsonValid():
            return {"value": _json_valid(subject, options)}
        case _, NumericCloseness():
            return {"value": scored(_closeness(subject, options))}
    compare = _comparison(kind, options)
    return {"value": scored(_shared(subject, compare) if _is_truth(kind) else _mean(subject, compare))}


def _is_truth(kind: MetricKind) -> bool:
    return VARIABLES[kind][0].type == ScoreType.BOOLEAN


def _known(value: float | Decimal | None, what: str) -> Outcome:
    return skipped(f"The {what} is not known.") if value is None else scored(float(value))


def _comparison(kind: MetricKind, options: Options) -> Compare:
    if isinstance(options, NormalizedMatch):
        return texts.normalized_match(options)
    if isinstance(options, Contains):
        return texts.contains(options)
    return {
        MetricKind.EXACT_MATCH: texts.is_exact,
        MetricKind.EDIT_SIMILARITY: texts.edit_similarity,
        MetricKind.TOKEN_F1: texts.token_f1,
        MetricKind.ROUGE_L: texts.rouge_l,
        MetricKind.SEMANTIC_SIMILARITY: similarity,
    }[kind]


def _shared(subject: Subject, compare: Compare) -> bool:
    return all(_compared(subject, compare))


def _mean(subject: Subject, compare: Compare) -> float:
    each = [float(value) for value in _compared(subject, compare)]
    return sum(each) / len(each)


def _compared(subject: Subject, compare: Compare) -> Iterator[bool | float]:
    """The text, or every field that one side has."""
    if subject.kind == AgentKind.CONVERSATION:
        yield compare(subject.output, subject.expected_text)
        return
    given, expected = subject.fields or {}, subject.expected_fields
    for name in sorted(given.keys() | expected.keys()):
        yield _field(given, expected, name, lambda *both: compare(*map(text_of, both)))


def _field(given: Mapping[str, Any], expected: Mapping[str, Any], name: str, compare: Compare) -> bool | float:
    """A field that only one side has is wrong; null is like null alone."""
    if name not in given or name not in expected:
        return False
    if given[name] is None or expected[name] is None:
        return given[name] is expected[name]
    return compare(given[name], expected[name])


def text_of(value: Any) -> str:
    """Text as it is, anything else as JSON with sorted keys; whole numbers without a fraction."""
    return value if isinstance(value, str) else json.dumps(_plain(value), ensure_ascii=False, sort_keys=True)


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return {name: _plain(each) for name, each in value.items()} if isinstance(value, dict) else value


def _number_names(subject: Subject) -> list[str]:
    names = (subject.fields or {}).keys() | subject.expected_fields.keys()
    return [name for name in names if subject.field_types.get(name) == FieldType.NUMBER]


def _closeness(subject: Subject, options: NumericCloseness) -> bool:
    if subject.kind == AgentKind.CONVERSATION:
        return closeness_of_texts(subject.output or "", subject.expected_text or "", options)
    given, expected = subject.fields or {}, subject.expected_fields
    names = _number_names(subject)
    return all(_field(given, expected, name, partial(closeness_of_values, options=options)) for name in names)


def _of_text(subject: Subject, name: str | None, judge: Callable[[str], bool]) -> Outcome:
    """The output, or one field of it, or all fields as JSON."""
    if subject.kind == AgentKind.CONVERSATION:
        return scored(judge(subject.output or ""))
    fields = subject.fields or {}
    if name is None:
        return scored(judge(text_of(dict(fields))))
    return scored(name in fields and fields[name] is not None and judge(text_of(fields[name])))


def _json_valid(subject: Subject, options: JsonValid) -> Outcome:
    if subject.kind == AgentKind.AUTOMATION and options.field is None:
        return skipped("Fields are JSON already: name the one whose text is to be JSON.")
    return _of_text(subject, options.field, lambda text: is_json(text, options))
