"""How alike two texts are. Formulas and their sources stand in docs/metrics.md."""

import re
import string
from collections import Counter
from collections.abc import Callable
from itertools import count
from unicodedata import category, normalize

import re2
from rapidfuzz.distance import LCSseq, Levenshtein

from resolvers.metric_options import Contains, NormalizedMatch
from runs.bounds import require_length

# Edit distance and subsequence grow with the product of the lengths, and let nothing else run meanwhile: two seconds at
# most for two such texts of many different characters, which a lease outlives.
LONGEST_COMPARED = 100_000

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")
# Scripts without spaces have no words that a reader could find without a dictionary: each character is one.
_SPACELESS = re2.compile(r"([\p{Han}\p{Hiragana}\p{Katakana}])")
_WORD = re2.compile(r"[\p{L}\p{N}\p{M}]+")


def is_exact(output: str, expected: str) -> bool:
    return output == expected


def folded(text: str, *, nfkc: bool) -> str:
    """Without case; with NFKC the compatibility caseless form of Unicode (section 3.13, D146)."""
    if not nfkc:
        return text.casefold()
    return normalize("NFKC", normalize("NFKC", normalize("NFD", text).casefold()).casefold())


def normalized(text: str, options: NormalizedMatch) -> str:
    if not options.case_sensitive:
        text = folded(text, nfkc=options.nfkc)
    elif options.nfkc:
        text = normalize("NFKC", text)
    if options.ignore_punctuation:
        text = "".join(character for character in text if not category(character).startswith("P"))
    return " ".join(text.split()) if options.collapse_whitespace else text


def normalized_match(options: NormalizedMatch) -> Callable[[str, str], bool]:
    return lambda output, expected: normalized(output, options) == normalized(expected, options)


def contains(options: Contains) -> Callable[[str, str], bool]:
    if options.case_sensitive:
        return lambda output, expected: expected in output
    return lambda output, expected: expected.casefold() in output.casefold()


def edit_similarity(output: str, expected: str) -> float:
    require_length(output, LONGEST_COMPARED)
    require_length(expected, LONGEST_COMPARED)
    return float(Levenshtein.normalized_similarity(output, expected))


def squad_tokens(text: str) -> list[str]:
    """As the evaluation script of SQuAD 2.0 normalizes an answer."""
    return _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split()


def token_f1(output: str, expected: str) -> float:
    given, wanted = squad_tokens(output), squad_tokens(expected)
    if not given or not wanted:
        return float(given == wanted)
    return _f1((Counter(given) & Counter(wanted)).total(), len(given), len(wanted))


def words(text: str) -> list[str]:
    """Runs of letters, digits and marks without case; a Han, Hiragana or Katakana character is a word of its own."""
    found: list[str] = _WORD.findall(_SPACELESS.sub(r" \1 ", folded(text, nfkc=True)))
    return found


def rouge_l(output: str, expected: str) -> float:
    require_length(output, LONGEST_COMPARED)
    require_length(expected, LONGEST_COMPARED)
    given, wanted = words(output), words(expected)
    if not given or not wanted:
        return 0.0
    # Numbers in place of words: those are compared by their hashes.
    numbers = dict(zip(dict.fromkeys(given + wanted), count(), strict=False))
    common = LCSseq.similarity([numbers[word] for word in given], [numbers[word] for word in wanted])
    return _f1(int(common), len(given), len(wanted))


def _f1(common: int, given: int, wanted: int) -> float:
    """The harmonic mean of common/given and common/wanted."""
    return 2 * common / (given + wanted)
