"""The options of each kind of metric, as they are written and kept: docs/metrics.md explains them."""

from enum import StrEnum
from typing import Annotated, Any

import re2
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from models.base import MetricKind, ReasonCode
from resolvers.errors import InvalidInput, Named
from resolvers.forms import storable_text

LONGEST_PATTERN = 1_000
# Patterns are compiled to automata: this bounds what those may take.
PATTERN_MEMORY = 1 << 18


class Lists(StrEnum):
    """How lists are held against one another."""

    ORDERED = "ORDERED"
    UNORDERED = "UNORDERED"


class NumberIn(StrEnum):
    """Where the number of a text stands."""

    WHOLE = "WHOLE"
    LAST = "LAST"


def _storable(value: str) -> str:
    if storable_text(value) is None:
        raise ValueError("text cannot hold NUL or half of a surrogate pair")
    return value


FieldName = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_storable)]
Pattern = Annotated[str, Field(min_length=1, max_length=LONGEST_PATTERN), AfterValidator(_storable)]
Tolerance = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Options(BaseModel):
    """Of a kind that has none."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, alias_generator=to_camel)


class NormalizedMatch(Options):
    case_sensitive: bool = False
    collapse_whitespace: bool = True
    ignore_punctuation: bool = False
    nfkc: bool = True


class Contains(Options):
    case_sensitive: bool = True


class Regex(Options):
    pattern: Pattern
    case_sensitive: bool = True
    multiline: bool = False
    dot_all: bool = False
    whole: bool = False
    field: FieldName | None = None


class NumericCloseness(Options):
    relative_tolerance: Tolerance = 0.0
    absolute_tolerance: Tolerance = 0.0
    # Strict reading would refuse the words that JSON has for them.
    number_in: Annotated[NumberIn, Field(strict=False)] = NumberIn.WHOLE


class FieldAccuracy(Options):
    lists: Annotated[Lists, Field(strict=False)] = Lists.ORDERED


class JsonValid(Options):
    allow_fence: bool = False
    field: FieldName | None = None


OPTIONS: dict[MetricKind, type[Options]] = {
    MetricKind.NORMALIZED_MATCH: NormalizedMatch,
    MetricKind.CONTAINS: Contains,
    MetricKind.REGEX: Regex,
    MetricKind.NUMERIC_CLOSENESS: NumericCloseness,
    MetricKind.FIELD_ACCURACY: FieldAccuracy,
    MetricKind.JSON_VALID: JsonValid,
}


def compiled(options: Regex) -> Any:
    """By RE2, whose time grows with the text alone whatever the pattern; raises re2.error."""
    settings = re2.Options()
    settings.log_errors = False
    settings.max_mem = PATTERN_MEMORY
    settings.case_sensitive = options.case_sensitive
    settings.dot_nl = options.dot_all
    # RE2 has no setting of its own for lines outside of POSIX syntax.
    return re2.compile(f"(?m){options.pattern}" if options.multiline else options.pattern, settings)


def read_options(kind: MetricKind, given: Any) -> Options:
    try:
        options = OPTIONS.get(kind, Options).model_validate({} if given is None else given)
    except ValidationError as error:
        raise _fault(kind, error) from None
    if isinstance(options, Regex):
        _require_pattern(options)
    return options


def _fault(kind: MetricKind, error: ValidationError) -> InvalidInput:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = tuple(Named(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        message = f"{kind} has no option {place[-1]}."
    elif place:
        message = f"The option {'.'.join(place)} of {kind} is wrong: {first['msg']}."
    else:
        message = "Options are an object of values by their names."
    return InvalidInput(message, ("options", *place), ReasonCode.INVALID_FIELD)


def _require_pattern(options: Regex) -> None:
    try:
        compiled(options)
    except re2.error as error:
        [reason] = error.args
        message = f"This is no pattern of RE2: {reason.decode(errors='replace')}."
        raise InvalidInput(message, ("options", "pattern"), ReasonCode.INVALID_FIELD) from None
