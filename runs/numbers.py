"""Numbers in texts, and how close they are: exactly, as they are written in decimals."""

import re
from fractions import Fraction

from resolvers.metric_options import NumberIn, NumericCloseness
from runs.bounds import Unmeasurable

LONGEST_NUMBER = 100
GREATEST_EXPONENT = 400

_DIGITS = r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?|\.[0-9]+"
_WHOLE = re.compile(rf"[+\-−]?(?:{_DIGITS})(?:[eE][+-]?[0-9]+)?")
_WITHIN = re.compile(rf"(?<![A-Za-z0-9_.])[+\-−]?(?:{_DIGITS})(?:[eE][+-]?[0-9]+)?(?![0-9])")


def number_of(text: str, number_in: NumberIn) -> Fraction | None:
    """The number that the text is, or the last one in it."""
    if number_in == NumberIn.WHOLE:
        whole = _WHOLE.fullmatch(text.strip())
        return _exact(whole[0]) if whole else None
    found = _WITHIN.findall(text)
    return _exact(found[-1]) if found else None


def _exact(digits: str) -> Fraction:
    plain = digits.replace(",", "").replace("−", "-")
    _, _, exponent = plain.lower().partition("e")
    if len(plain) > LONGEST_NUMBER or abs(int(exponent or 0)) > GREATEST_EXPONENT:
        raise Unmeasurable(f"The number {digits[:LONGEST_NUMBER]} is beyond what this metric compares.")
    return Fraction(plain)


def is_close(output: Fraction, expected: Fraction, options: NumericCloseness) -> bool:
    """|output - expected| <= max(absolute, relative * |expected|): the expected number alone sets the measure."""
    relative = _written(options.relative_tolerance) * abs(expected)
    return abs(output - expected) <= max(_written(options.absolute_tolerance), relative)


def _written(value: float) -> Fraction:
    """0.1 is a tenth here, not the nearest binary fraction."""
    return Fraction(str(value))


def closeness_of_texts(output: str, expected: str, options: NumericCloseness) -> bool:
    wanted = number_of(expected, options.number_in)
    if wanted is None:
        raise Unmeasurable("The expected output is no number.")
    given = number_of(output, options.number_in)
    return given is not None and is_close(given, wanted, options)


def closeness_of_values(output: float, expected: float, options: NumericCloseness) -> bool:
    return is_close(_written(output), _written(expected), options)
