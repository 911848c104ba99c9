"""How alike texts are: by the libraries that are wrapped, or by values that others published."""

import string
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein
from rouge_score.rouge_scorer import RougeScorer

from models.base import MetricKind
from runs.texts import LONGEST_COMPARED, squad_tokens, words
from tests.runs.measuring import LONG, reason, value

PAIRS = [
    ("", ""),
    ("", "x"),
    ("x", ""),
    ("kitten", "sitting"),
    ("Saturday", "Sunday"),
    ("flaw", "lawn"),
    ("police killed the gunman", "police kill the gunman"),
    ("the gunman kill police", "police killed the gunman"),
    ("Five working days.", "five working days"),
    ("It takes five to seven working days.", "Five working days."),
    ("a b c d e", "e d c b a"),
    ("one", "one two three four five six seven"),
    ("same words here", "same words here"),
    ("!!! ???", "..."),
    ("Straße", "STRASSE"),
    ("Ünïcödé wörds", "Unicode words"),
    ("e\u0301tude", "étude"),
    ("हिन्दी में उत्तर", "हिन्दी में सही उत्तर"),
    ("東京は日本の首都です", "日本の首都は東京"),
    ("Ответ: сорок два", "ответ сорок три"),
    ("👩‍👩‍👧 family", "👨‍👩‍👧 family"),
    ("ﬁne print", "fine print"),
    ("tab\tand\nline", "tab and line"),
    ("\u00a0padded\u2003", "padded"),
    (LONG, LONG),
    (LONG, LONG[::2]),
    (LONG, "kurz"),
]
WORDS = st.text(st.sampled_from("ab cä漢ｶ́ñ 1-"), max_size=40)


class Words:
    """The library with our words."""

    def tokenize(self, text: str) -> list[str]:
        return words(text)


def rouge(output: str, expected: str, tokenizer: Words | None = None) -> float:
    scorer = RougeScorer(["rougeL"], tokenizer=tokenizer)
    return float(scorer.score(expected, output)["rougeL"].fmeasure)


@pytest.mark.parametrize(("output", "expected"), PAIRS)
def test_only_the_same_characters_are_an_exact_match(output: str, expected: str) -> None:
    assert value(MetricKind.EXACT_MATCH, output, expected) is (output.encode() == expected.encode())


@pytest.mark.parametrize(("output", "expected"), PAIRS)
def test_edit_similarity_is_that_of_rapidfuzz(output: str, expected: str) -> None:
    library = Levenshtein.normalized_similarity(output, expected)
    assert value(MetricKind.EDIT_SIMILARITY, output, expected) == library


# Distances as en.wikipedia.org/wiki/Levenshtein_distance gives them.
@pytest.mark.parametrize(
    ("output", "expected", "distance"),
    [("kitten", "sitting", 3), ("Saturday", "Sunday", 3), ("flaw", "lawn", 2), ("uninformed", "uniformed", 1)],
)
def test_edit_similarity_has_the_published_distances(output: str, expected: str, distance: int) -> None:
    longer = max(len(output), len(expected))
    assert value(MetricKind.EDIT_SIMILARITY, output, expected) == pytest.approx(1 - distance / longer)


@pytest.mark.parametrize(("output", "expected"), PAIRS)
def test_rouge_l_is_that_of_rouge_score_over_our_words(output: str, expected: str) -> None:
    # The library fills a table in Python: a tenth of the long text says as much.
    output, expected = output[:2200], expected[:2200]
    assert value(MetricKind.ROUGE_L, output, expected) == pytest.approx(rouge(output, expected, Words()), abs=1e-12)


# C.-Y. Lin, ROUGE: A Package for Automatic Evaluation of Summaries (2004), section 3.1.
@pytest.mark.parametrize(
    ("output", "published"), [("police kill the gunman", 3 / 4), ("the gunman kill police", 2 / 4)]
)
def test_rouge_l_has_the_published_values(output: str, published: float) -> None:
    assert value(MetricKind.ROUGE_L, output, "police killed the gunman") == pytest.approx(published)


@settings(deadline=None)
@given(WORDS, WORDS)
def test_rouge_l_is_that_of_rouge_score_over_any_words(output: str, expected: str) -> None:
    assert value(MetricKind.ROUGE_L, output, expected) == pytest.approx(rouge(output, expected, Words()), abs=1e-12)


@settings(deadline=None)
@given(st.text(string.printable, max_size=60), st.text(string.printable, max_size=60))
def test_in_ascii_our_words_are_those_of_rouge_score(output: str, expected: str) -> None:
    assert value(MetricKind.ROUGE_L, output, expected) == pytest.approx(rouge(output, expected), abs=1e-12)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Don't stop_me", ["don", "t", "stop", "me"]),
        ("Größe ÉTÉ", ["grösse", "été"]),
        ("हिन्दी", ["हिन्दी"]),
        ("東京 2026年", ["東", "京", "2026", "年"]),
        ("ｶﾞｽ", ["ガ", "ス"]),
        ("서울은 크다", ["서울은", "크다"]),
        ("—…!", []),
    ],
)
def test_words_are_found_in_every_script(text: str, found: list[str]) -> None:
    assert words(text) == found


# Worked by hand by the formula of evaluate-v2.0.py (rajpurkar.github.io/SQuAD-explorer): 2·common/(given + expected).
@pytest.mark.parametrize(
    ("output", "expected", "f1"),
    [
        ("", "", 1.0),
        ("", "x", 0.0),
        ("x", "", 0.0),
        ("the", "", 1.0),
        ("...", "a", 1.0),
        ("x", "x", 1.0),
        ("The cat", "cat", 1.0),
        ("a cat, the cat", "cat cat", 1.0),
        ("cat cat", "cat", 2 / 3),
        ("cat", "dog", 0.0),
        ("black cat", "white cat", 1 / 2),
        ("Five working days.", "five working days", 1.0),
        ("It takes five days", "five working days", 4 / 7),
        ("days working five", "five working days", 1.0),
        ("Denver Broncos", "The Denver Broncos!", 1.0),
        ("Santa Clara, California", "Santa Clara", 4 / 5),
        ("in 1,000 AD", "1000 AD", 4 / 5),
        ("well-known", "well known", 0.0),
        ("Größe Ü", "größe ü", 1.0),
        ("STRASSE", "Straße", 0.0),
        ("сорок два", "Сорок три", 1 / 2),
        ("東京は", "東京は", 1.0),
        ("東京は", "東京", 0.0),
        ("「hi」", "hi", 0.0),
        ("x " * 10_000, "x", 2 / 10_001),
        ("x y " * 10_000, "y x " * 10_000, 1.0),
    ],
)
def test_token_f1_is_that_of_squad(output: str, expected: str, f1: float) -> None:
    assert value(MetricKind.TOKEN_F1, output, expected) == pytest.approx(f1)


def test_articles_are_words_not_letters() -> None:
    assert squad_tokens("Another theory: a cat AN the") == ["another", "theory", "cat"]


@pytest.mark.parametrize(
    ("output", "expected", "options", "same"),
    [
        ("", "", {}, True),
        ("", " \n", {}, True),
        ("", " \n", {"collapseWhitespace": False}, False),
        ("", "x", {}, False),
        ("Yes", "yes", {}, True),
        ("Yes", "yes", {"caseSensitive": True}, False),
        ("  five\tworking \n days ", "five working days", {}, True),
        ("five working days", "five  working days", {"collapseWhitespace": False}, False),
        ("yes.", "yes", {}, False),
        ("yes.", "yes", {"ignorePunctuation": True}, True),
        ("«oui»!", "oui", {"ignorePunctuation": True}, True),
        ("3 $", "3", {"ignorePunctuation": True}, False),
        ("Straße", "STRASSE", {}, True),
        ("Straße", "STRASSE", {"caseSensitive": True}, False),
        ("e\u0301", "é", {}, True),
        ("e\u0301", "é", {"caseSensitive": True}, True),
        ("e\u0301", "é", {"nfkc": False}, False),
        ("ﬁ", "fi", {}, True),
        ("ﬁ", "fi", {"nfkc": False, "caseSensitive": True}, False),
        ("４２", "42", {}, True),
        ("４２", "42", {"nfkc": False}, False),
        ("ΣΊΣΥΦΟΣ", "σίσυφος", {}, True),
        ("\u00a0x\u2003y", "x y", {}, True),
        ("α\u0345\u0301", "α\u0301ι", {}, True),
        ("東京", "東京", {}, True),
        (LONG, LONG.upper(), {}, True),
        (LONG, LONG + "!", {}, False),
        (LONG, LONG + "!", {"ignorePunctuation": True}, True),
    ],
)
def test_a_normalized_match_leaves_aside_what_its_options_say(
    output: str, expected: str, options: dict[str, Any], same: bool
) -> None:
    assert value(MetricKind.NORMALIZED_MATCH, output, expected, **options) is same
    assert value(MetricKind.NORMALIZED_MATCH, expected, output, **options) is same


@pytest.mark.parametrize(
    ("output", "expected", "options", "found"),
    [
        ("", "", {}, True),
        ("x", "", {}, True),
        ("", "x", {}, False),
        ("five working days", "working", {}, True),
        ("five working days", "Working", {}, False),
        ("five working days", "Working", {"caseSensitive": False}, True),
        ("working", "five working days", {}, False),
        ("Straße", "STRASSE", {"caseSensitive": False}, True),
        ("Straße", "STRASSE", {}, False),
        ("ÉTÉ", "été", {"caseSensitive": False}, True),
        ("e\u0301", "é", {"caseSensitive": False}, False),
        ("東京は日本の首都", "日本", {}, True),
        ("東京は日本の首都", "首日", {}, False),
        ("👩‍👩‍👧", "👩", {}, True),
        ("a.b", ".", {}, True),
        ("ab", ".", {}, False),
        ("two\nlines", "two lines", {}, False),
        ("aab", "ab", {}, True),
        (LONG, "長い文章です", {}, True),
        (LONG, LONG, {}, True),
        (LONG + "Ende", "ENDE", {"caseSensitive": False}, True),
        ("a" * 1_000_000, "a" * 500_000 + "b", {}, False),
    ],
)
def test_contains_finds_the_expected_text_as_it_stands(
    output: str, expected: str, options: dict[str, Any], found: bool
) -> None:
    assert value(MetricKind.CONTAINS, output, expected, **options) is found


@pytest.mark.parametrize("kind", [MetricKind.EDIT_SIMILARITY, MetricKind.ROUGE_L])
def test_a_text_beyond_the_bound_is_told_and_not_cut(kind: MetricKind) -> None:
    longest = "ab " * (LONGEST_COMPARED // 3)

    assert value(kind, longest, "ab") < 0.001
    assert "beyond the 100,000" in reason(kind, longest + "abc", "ab")
    assert "beyond the 100,000" in reason(kind, "ab", longest + "abc")
