"""Likeness of meaning: what the library computes, from what its package holds, without a network."""

import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest
import wordllama

from models.base import MetricKind
from runs.meaning import LONGEST_EMBEDDED
from tests.runs.measuring import LONG, reason, value
from tests.runs.test_metrics_text import PAIRS

ALONE = """
import logging, socket
def refuse(*_, **__):
    raise AssertionError("the network was asked")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
from runs.meaning import similarity
print(similarity("five working days", "5 business days"), logging.getLogger().handlers, logging.getLogger().level)
"""


@pytest.fixture(scope="module")
def model() -> Any:
    return wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)


@pytest.mark.parametrize(("output", "expected"), [pair for pair in PAIRS if all(map(str.strip, pair))])
def test_likeness_is_the_cosine_of_the_embeddings(model: Any, output: str, expected: str) -> None:
    one, other = model.embed([output])[0], model.embed([expected])[0]
    cosine = float(one @ other / (numpy.linalg.norm(one) * numpy.linalg.norm(other)))

    assert value(MetricKind.SEMANTIC_SIMILARITY, output, expected) == pytest.approx(cosine, abs=1e-5)


@pytest.mark.parametrize("text", ["same", "Größe", "東京", LONG])
def test_the_same_text_means_the_same_and_no_more(text: str) -> None:
    assert 1 - 1e-6 < value(MetricKind.SEMANTIC_SIMILARITY, text, text) <= 1


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        ("The cat sat on the mat.", "A cat was sitting on a rug.", "Interest rates rose again."),
        ("It takes five working days.", "Expect it within a business week.", "The museum is closed on Mondays."),
    ],
)
def test_what_means_the_like_is_nearer(text: str, near: str, far: str) -> None:
    assert value(MetricKind.SEMANTIC_SIMILARITY, text, near) > value(MetricKind.SEMANTIC_SIMILARITY, text, far)


@pytest.mark.parametrize(("output", "expected"), [("", "x"), ("x", ""), (" \n", "x"), ("", "")])
def test_a_blank_text_has_no_meaning(output: str, expected: str) -> None:
    assert reason(MetricKind.SEMANTIC_SIMILARITY, output, expected) == "A blank text has no meaning to compare."


def test_a_text_too_long_to_embed_is_told() -> None:
    assert "beyond the 50,000" in reason(MetricKind.SEMANTIC_SIMILARITY, "x" * (LONGEST_EMBEDDED + 1), "x")


def test_the_model_is_in_the_package_and_the_log_is_left_alone() -> None:
    ran = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=True)

    likeness, told = ran.stdout.split(maxsplit=1)
    assert 0.3 < float(likeness) < 0.9
    assert told.strip() == f"[] {logging.WARNING}"
    assert ran.stderr == ""
