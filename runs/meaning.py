"""Likeness of meaning, by the static embeddings that ship inside wordllama (l2_supercat, 256 dimensions)."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

from runs.bounds import Unmeasurable, require_length

# Each token takes a kilobyte while a text is embedded.
LONGEST_EMBEDDED = 50_000
LOADING = Lock()


def similarity(output: str, expected: str) -> float:
    """The cosine of both embeddings, from -1 to 1."""
    for text in (output, expected):
        require_length(text, LONGEST_EMBEDDED)
        if not text.strip():
            raise Unmeasurable("A blank text has no meaning to compare.")
    with LOADING:
        model = _model()
    # Rounding may lead a little beyond.
    return min(1.0, max(-1.0, float(model.similarity(output, expected))))


@cache
def _model() -> Any:
    with _logging_untouched():
        try:
            import wordllama
        except ModuleNotFoundError:
            raise Unmeasurable("This worker lacks the extra that brings a model of meaning: assay[semantic].") from None
    # By itself it looks for the tokenizer beside the folder in which it ships, and then on the network.
    package = Path(wordllama.__file__).parent
    return wordllama.WordLlama.load(cache_dir=package, disable_download=True)


@contextmanager
def _logging_untouched() -> Iterator[None]:
    """The library sets up the log of the whole process when it is imported."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
