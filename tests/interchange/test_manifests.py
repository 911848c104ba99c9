import json
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import pytest

from interchange.agents import check_manifest
from interchange.digests import digest_json
from interchange.reader import read_tree
from interchange.reading import MIB
from models.base import ManifestState, ReasonCode
from tests.interchange.building import (
    CASE,
    MANIFEST,
    UNIT,
    defect,
    edit_while_read,
    manifest_of,
    nothing_outside_is_shown,
    notices,
    observation,
    only_agent,
    sha256,
    write,
    write_unit,
)

EVIDENCE = f"{UNIT}/ground_truth/observations/run-0.zip"
SCHEMA = "abb.agent.ground_truth.v1"


def told(root: Path) -> list[tuple[ReasonCode, str | None]]:
    return [(notice.code, notice.agent_id) for notice in notices(root)]


def is_refused(root: Path, code: ReasonCode) -> bool:
    agent = only_agent(root)
    is_hidden = agent.manifest_state is ManifestState.INVALID and agent.defects == []
    return is_hidden and told(root) == [(code, "alpha")]


def test_a_sound_manifest_brings_its_defects(tmp_path: Path) -> None:
    record = defect(severity=1e5)
    write_unit(tmp_path, manifest=manifest_of(record, note="kept"))

    agent = only_agent(tmp_path)
    (found,) = agent.defects

    assert told(tmp_path) == []
    assert found.ground_truth_sha256 == digest_json(record)
    assert found.confirmed_at == datetime(2026, 10, 2, 12, tzinfo=UTC)
    assert found.extra == '{"severity":100000.0}'
    assert json.loads(found.record) == record
    assert agent.head == f'{{"agent_id":"alpha","note":"kept","schema":"{SCHEMA}"}}'
    assert [observation.evidence.path for observation in found.observations] == [
        EVIDENCE,
        EVIDENCE.replace("run-0", "run-1"),
    ]


def test_without_a_manifest_nothing_is_configured_and_nothing_is_wrong(tmp_path: Path) -> None:
    write_unit(tmp_path, agent_id="someone-else")
    (tmp_path / MANIFEST).unlink()

    assert only_agent(tmp_path).manifest_state is ManifestState.MISSING
    assert told(tmp_path) == []


def test_a_manifest_without_defects_is_valid(tmp_path: Path) -> None:
    write_unit(tmp_path, manifest=manifest_of())

    agent = only_agent(tmp_path)

    assert (agent.manifest_state, agent.defects) == (ManifestState.VALID, [])


@pytest.mark.parametrize(
    ("manifest", "code"),
    [
        ("{", ReasonCode.INVALID_JSON),
        ("[]", ReasonCode.INVALID_JSON),
        (b'{"a": "\xff"}', ReasonCode.INVALID_JSON),
        ("[" * 100_000, ReasonCode.INVALID_JSON),
        (manifest_of(agent_id="beta", schema="abb.agent.ground_truth.v0"), ReasonCode.UNSUPPORTED_SCHEMA),
        (manifest_of("no object", agent_id="beta"), ReasonCode.AGENT_IDENTITY_MISMATCH),
        (manifest_of("no object"), ReasonCode.INVALID_FIELD),
        (manifest_of(defects=None), ReasonCode.INVALID_FIELD),
        (manifest_of(defects={}), ReasonCode.INVALID_FIELD),
        (manifest_of(*[{}] * 10_001), ReasonCode.INVALID_FIELD),
        (" " * (3 * MIB), ReasonCode.FILE_TOO_LARGE),
    ],
)
def test_an_unsound_document_is_invalid_as_a_whole(manifest: Any, code: ReasonCode, tmp_path: Path) -> None:
    write_unit(tmp_path, manifest=manifest)

    assert is_refused(tmp_path, code)


@pytest.mark.parametrize("text", ["agent_id", 'agent_id = "alpha"\nagent_id = "alpha"', b"\xff"])
def test_an_unreadable_description_comes_before_the_document(text: Any, tmp_path: Path) -> None:
    unit = write_unit(tmp_path, manifest="{")
    write(unit / "agent.toml", text)

    assert is_refused(tmp_path, ReasonCode.AGENT_TOML_INVALID)


def test_a_missing_description_is_an_invalid_one(tmp_path: Path) -> None:
    unit = write_unit(tmp_path)
    (unit / "agent.toml").unlink()

    assert is_refused(tmp_path, ReasonCode.AGENT_TOML_INVALID)


@pytest.mark.parametrize("text", ['agent_id = "beta"', "", "agent_id = 1"])
def test_a_description_of_another_agent_comes_before_the_document(text: str, tmp_path: Path) -> None:
    unit = write_unit(tmp_path, manifest="{")
    write(unit / "agent.toml", text)

    assert is_refused(tmp_path, ReasonCode.AGENT_IDENTITY_MISMATCH)


FORMLESS: dict[str, Sequence[Any]] = {
    "id": ("i" * 501, "é" * 251, ""),
    **dict.fromkeys(("title", "expected_behavior"), ("", "  ", None, 1, "a\0")),
    **dict.fromkeys(("observed_behavior", "confirmed_by"), ("", "  ", None, 1, "\ud800")),
    "confirmed_at": ["2026-10-02T12:00:00", "2026-10-02", "yesterday", None, 5],
    **dict.fromkeys(("source_sha256", "case_sha256"), (CASE.upper(), CASE[1:], None, 0)),
    "observations": [
        *(None, {}, ["no object"], [{}] * 10_001),
        [observation(0, id=" "), observation(1)],
        [observation(0, evidence_path="a\0b"), observation(1)],
        [observation(0, evidence_path=7), observation(1)],
    ],
    "unknown": ["\ud800"],
}


@pytest.mark.parametrize(("key", "value"), [(key, value) for key in FORMLESS for value in FORMLESS[key]])
def test_a_field_without_its_form_is_told(key: str, value: Any, tmp_path: Path) -> None:
    write_unit(tmp_path, manifest=json.dumps(manifest_of(defect(**{key: value}))))

    assert is_refused(tmp_path, ReasonCode.INVALID_FIELD)


@pytest.mark.parametrize(
    ("observations", "code"),
    [
        ([observation(0), observation(1, id="run-0")], ReasonCode.DUPLICATE_OBSERVATION),
        ([observation(0), observation(1, case_sha256=sha256(b"other"))], ReasonCode.OBSERVATION_CASE_MISMATCH),
        ([observation(0), observation(1, case_sha256=None)], ReasonCode.OBSERVATION_CASE_MISMATCH),
        ([observation(0), observation(0, id="run-1")], ReasonCode.DUPLICATE_EVIDENCE),
        (
            [observation(0), observation(0, id="run-1", evidence_path="observations/./run-0.zip")],
            ReasonCode.DUPLICATE_EVIDENCE,
        ),
        ([observation(0, evidence_sha256=CASE), observation(1)], ReasonCode.EVIDENCE_DIGEST_MISMATCH),
        ([observation(0, evidence_sha256=None), observation(1)], ReasonCode.EVIDENCE_DIGEST_MISMATCH),
        ([observation(0, evidence_path="missing"), observation(1)], ReasonCode.FILE_UNAVAILABLE),
        ([observation(0, evidence_path="observations"), observation(1)], ReasonCode.NOT_A_REGULAR_FILE),
        ([observation(0, evidence_path="../agent.toml"), observation(1)], ReasonCode.PATH_ESCAPE),
        ([observation(0, evidence_path="observations/../observations/run-0.zip")], ReasonCode.PATH_ESCAPE),
        ([observation(0, evidence_path="/etc/hostname"), observation(1)], ReasonCode.PATH_ESCAPE),
        ([observation(0)], ReasonCode.TOO_FEW_OBSERVATIONS),
        ([], ReasonCode.TOO_FEW_OBSERVATIONS),
    ],
)
def test_observations_must_bear_the_defect_out(observations: list[Any], code: ReasonCode, tmp_path: Path) -> None:
    write_unit(tmp_path, manifest=manifest_of(defect(observations=observations)))

    assert is_refused(tmp_path, code)


def test_a_defect_twice_is_told(tmp_path: Path) -> None:
    write_unit(tmp_path, manifest=manifest_of(defect(), defect(title="")))

    assert is_refused(tmp_path, ReasonCode.DUPLICATE_DEFECT)


def linked_out(path: Path, outside: Path) -> None:
    path.unlink()
    path.symlink_to(outside)


def piped(path: Path, _: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def swollen(path: Path, _: Path) -> None:
    with path.open("wb") as file:
        file.truncate(65 * MIB)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (linked_out, ReasonCode.PATH_ESCAPE),
        (piped, ReasonCode.NOT_A_REGULAR_FILE),
        (swollen, ReasonCode.FILE_TOO_LARGE),
    ],
)
@pytest.mark.parametrize("path", [EVIDENCE, MANIFEST])
def test_hostile_files_are_refused_and_not_shown(
    path: str, change: Callable[[Path, Path], None], code: ReasonCode, tmp_path: Path
) -> None:
    root = tmp_path / "tree"
    write_unit(root)
    outside = write(tmp_path / "outside.json", '{"schema": "tell no one"}')
    change(root / path, outside)

    with nothing_outside_is_shown(root, "tell no one"):
        assert is_refused(root, code)


def test_a_ground_truth_directory_that_is_a_link_is_not_entered(tmp_path: Path) -> None:
    unit = write_unit(tmp_path / "tree")
    (unit / "ground_truth").rename(tmp_path / "elsewhere")
    (unit / "ground_truth").symlink_to(tmp_path / "elsewhere")

    assert is_refused(tmp_path / "tree", ReasonCode.PATH_ESCAPE)


def test_evidence_that_changes_while_it_is_read_is_refused_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_unit(tmp_path)
    edit_while_read(monkeypatch, tmp_path / EVIDENCE, times=2)

    assert [notice.code for notice in read_tree(tmp_path).notices] == [ReasonCode.FILE_UNAVAILABLE]


def test_one_invalid_manifest_hides_no_other(tmp_path: Path) -> None:
    write_unit(tmp_path)
    broken = tmp_path / "resources/agents/02-beta"
    write(broken / "agent.toml", 'agent_id = "beta"')
    write(broken / "ground_truth/manifest.json", "[" * 100_000)
    with (tmp_path / "resources/registry.toml").open("a") as registry:
        registry.write('[[agents]]\nagent_id = "beta"\npath = "resources/agents/02-beta"\n')

    alpha, beta = read_tree(tmp_path).agents

    assert (alpha.manifest_state, beta.manifest_state) == (ManifestState.VALID, ManifestState.INVALID)


def test_kept_bytes_are_those_that_were_digested(tmp_path: Path) -> None:
    write_unit(tmp_path)
    kept: dict[str, bytes] = {}

    def keep(digest: str, body: IO[bytes]) -> None:
        kept[digest] = body.read()

    tree = read_tree(tmp_path, keep=keep)

    (found,) = tree.agents[0].defects
    relied_on = [*tree.files, *(observation.evidence for observation in found.observations)]
    assert {file.path for file in tree.files} == {"resources/registry.toml", f"{UNIT}/agent.toml", MANIFEST}
    assert {file.sha256 for file in relied_on} == kept.keys()
    assert all(sha256(body) == digest for digest, body in kept.items())
    assert all(BytesIO(kept[file.sha256]).read() == (tmp_path / file.path).read_bytes() for file in relied_on)


def test_a_faulty_manifest_is_kept_as_it_is(tmp_path: Path) -> None:
    write_unit(tmp_path, manifest="{")

    manifest = only_agent(tmp_path).manifest

    assert manifest is not None
    assert manifest.sha256 == sha256(b"{")


@pytest.mark.parametrize("path", [UNIT, MANIFEST])
def test_checking_a_manifest_needs_no_registry(path: str, tmp_path: Path) -> None:
    write_unit(tmp_path)
    (tmp_path / "resources/registry.toml").unlink()
    assert check_manifest(tmp_path / path) == []

    (tmp_path / EVIDENCE).write_bytes(b"edited")
    (notice,) = check_manifest(tmp_path / path)

    assert notice.code is ReasonCode.EVIDENCE_DIGEST_MISMATCH
    assert "defects[0].observations[0].evidence_sha256" in notice.message
    assert str(tmp_path) not in notice.message
