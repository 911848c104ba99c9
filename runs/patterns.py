"""The shape of one text: whether a pattern matches, whether it is JSON."""

import json
import re
from typing import NoReturn

from resolvers.metric_options import JsonValid, Regex, compiled
from runs.bounds import Unmeasurable, require_length

# RE2 takes time in proportion to text and pattern: some seconds at the very most.
LONGEST_SEARCHED = 200_000

_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*)\n[ \t]*```", re.DOTALL)


def matches(text: str, options: Regex) -> bool:
    require_length(text, LONGEST_SEARCHED)
    pattern = compiled(options)
    return bool(pattern.fullmatch(text) if options.whole else pattern.search(text))


def is_json(text: str, options: JsonValid) -> bool:
    """By RFC 8259: NaN and Infinity are not JSON."""
    fenced = _FENCED.fullmatch(text.strip()) if options.allow_fence else None
    try:
        # Numbers stay text: how great they are is no matter here.
        json.loads(fenced[1] if fenced else text, parse_int=str, parse_float=str, parse_constant=_refuse)
    except ValueError:
        return False
    except RecursionError:
        raise Unmeasurable("The JSON is nested too deeply to be read.") from None
    return True


def _refuse(word: str) -> NoReturn:
    raise ValueError(word)
