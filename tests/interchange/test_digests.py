import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interchange.digests import digest_json, file_digest, source_digest
from interchange.documents import canonical, canonical_decoded, load_json
from interchange.reading import Fault
from models.base import ReasonCode
from tests.interchange.building import write

CASES = json.loads((Path(__file__).parents[1] / "cases/digests.json").read_text())

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
DOCUMENTS = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


def in_unit(unit: Path, files: dict[str, str]) -> Path:
    for path, content in files.items():
        write(unit / path, content)
    return unit


@pytest.mark.parametrize("case", CASES["digest_json"], ids=lambda case: case["sha256"][:8])
def test_documents_have_their_known_digests(case: dict[str, str]) -> None:
    assert digest_json(load_json(case["json"].encode())) == case["sha256"]


@pytest.mark.parametrize("case", CASES["file_digest"], ids=lambda case: case["sha256"][:8])
def test_files_have_their_known_digests(case: dict[str, str], tmp_path: Path) -> None:
    assert file_digest(write(tmp_path / "file", case["text"])) == case["sha256"]


@pytest.mark.parametrize("case", CASES["source_digest"], ids=lambda case: case["sha256"][:8])
def test_sources_have_their_known_digests(case: dict[str, Any], tmp_path: Path) -> None:
    assert source_digest(in_unit(tmp_path / "unit", case["files"])) == case["sha256"]


@settings(deadline=None)
@given(DOCUMENTS)
def test_the_fast_spelling_of_a_decoded_document_is_the_standard_one(value: Any) -> None:
    decoded = load_json(json.dumps(value).encode())

    assert canonical_decoded(decoded) == canonical(decoded)


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_spelled_as_python_prints_them(number: float) -> None:
    assert canonical_decoded(load_json(repr(number).encode())) == repr(number)


@settings(deadline=None)
@given(st.integers(min_value=-(10**40), max_value=10**40))
def test_integers_of_any_length_keep_their_digits(number: int) -> None:
    assert canonical_decoded(load_json(str(number).encode())) == str(number)


def test_a_link_to_a_file_counts_as_that_file(tmp_path: Path) -> None:
    plain = in_unit(tmp_path / "plain", {"agent.toml": "a", "same.txt": "a"})
    linked = in_unit(tmp_path / "linked", {"agent.toml": "a"})
    (linked / "same.txt").symlink_to("agent.toml")

    assert source_digest(linked) == source_digest(plain)


def test_a_link_to_a_directory_is_not_entered(tmp_path: Path) -> None:
    unit = in_unit(tmp_path / "unit", {"agent.toml": "a", "agent/main.py": "b"})
    before = source_digest(unit)
    (unit / "again").symlink_to("agent")

    assert source_digest(unit) == before


def test_a_link_that_leaves_the_unit_leaves_no_digest(tmp_path: Path) -> None:
    unit = in_unit(tmp_path / "unit", {"agent.toml": "a"})
    (unit / "secret").symlink_to(write(tmp_path / "secret", "s"))

    with pytest.raises(Fault) as caught:
        source_digest(unit)

    assert caught.value.code is ReasonCode.PATH_ESCAPE
    assert str(tmp_path) not in caught.value.message


def test_a_pipe_in_a_unit_blocks_nobody(tmp_path: Path) -> None:
    unit = in_unit(tmp_path / "unit", {"agent.toml": "a"})
    os.mkfifo(unit / "pipe")

    with pytest.raises(Fault) as caught:
        source_digest(unit)

    assert caught.value.code is ReasonCode.NOT_A_REGULAR_FILE


def test_the_order_is_files_before_subdirectories_in_each_directory(tmp_path: Path) -> None:
    in_order = source_digest(in_unit(tmp_path / "one", {"b.txt": "", "a/z.txt": "", "a/b/c.txt": ""}))
    written_otherwise = source_digest(in_unit(tmp_path / "two", {"a/b/c.txt": "", "a/z.txt": "", "b.txt": ""}))

    assert in_order == written_otherwise
