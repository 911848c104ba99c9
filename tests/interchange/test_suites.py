"""Which directories are Suites, when one is unavailable, and what its artifacts are found to be."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from interchange.digests import digest_json
from interchange.reader import read_tree
from interchange.reading import MIB
from models.base import Provenance, ReasonCode, SuiteState
from tests.interchange.building import (
    SUITE,
    first_slot,
    nothing_outside_is_shown,
    notices,
    numbered,
    one_attempt,
    only_suite,
    plan_of,
    prepared,
    write,
    write_suite,
)

AGENT = plan_of()["agents"][0]
UNSOUND_AGENTS: list[Any] = [
    {},
    ["alpha"],
    [AGENT, AGENT],
    [{**AGENT, "agent_id": ""}],
    [{**AGENT, "agent_id": "a\0"}],
    [{**AGENT, "agent_id": "i" * 501}],
    [{**AGENT, "case_count": True}],
    [{**AGENT, "case_count": -1}],
    [{**AGENT, "case_count": 100_001}],
    [{**AGENT, "case_count": 1.0}],
    [{**AGENT, "source_sha256": None}],
    [{**AGENT, "agent_id": str(number), "case_count": 100_000} for number in range(11)],
]


def faults(root: Path) -> list[tuple[ReasonCode, str | None]]:
    tree = read_tree(root)
    told = [(notice.code, notice.suite_id) for notice in tree.notices]
    assert told == [(fault.code, fault.suite_id) for fault in tree.suite_faults]
    return told


def is_unavailable(root: Path, name: str = "first") -> bool:
    return read_tree(root).suites == [] and faults(root) == [(ReasonCode.UNAVAILABLE_SUITE, name)]


def test_a_suite_is_read_wherever_it_lies_under_results(tmp_path: Path) -> None:
    write_suite(
        tmp_path, directory="results/a/b/deep", cases=2, origin_suite_id="older", created_at="2026-10-03T08:00Z"
    )

    suite = only_suite(tmp_path)

    assert (suite.suite_id, suite.directory) == ("first", "results/a/b/deep")
    assert (suite.state, suite.provenance, suite.origin_suite_id) == (
        SuiteState.COMPLETE,
        Provenance.CANONICAL,
        "older",
    )
    assert suite.created_at is not None
    assert [(a.agent_id, a.case_count, a.completed_case_count) for a in suite.agents] == [("alpha", 2, 1)]
    assert notices(tmp_path) == []


def test_a_suite_without_events_yet_is_planned(tmp_path: Path) -> None:
    write_suite(tmp_path, [])

    assert only_suite(tmp_path).state is SuiteState.PLANNED


def test_a_suite_is_not_entered_further(tmp_path: Path) -> None:
    write_suite(tmp_path)
    write_suite(tmp_path, directory=f"{SUITE}/inner", suite_id="inner")

    assert only_suite(tmp_path).suite_id == "first"


def test_a_trace_is_neither_a_suite_nor_entered(tmp_path: Path) -> None:
    write_suite(tmp_path, directory="results/trace")
    write_suite(tmp_path, directory="results/trace/inner", suite_id="inner")
    write(tmp_path / "results/trace/run.json", {})

    assert (read_tree(tmp_path).suites, faults(tmp_path)) == ([], [])


@pytest.mark.parametrize("name", ["plan.json", "events.json"])
def test_a_directory_with_one_of_the_two_files_is_no_suite(name: str, tmp_path: Path) -> None:
    (write_suite(tmp_path) / name).unlink()

    assert (read_tree(tmp_path).suites, faults(tmp_path)) == ([], [])


def test_links_among_results_are_not_followed(tmp_path: Path) -> None:
    write_suite(tmp_path, directory="elsewhere/away")
    (tmp_path / "results").mkdir()
    (tmp_path / "results/link").symlink_to("../elsewhere")
    (tmp_path / "results/loop").symlink_to(".")

    assert (read_tree(tmp_path).suites, faults(tmp_path)) == ([], [])


def test_a_link_in_place_of_a_suite_is_unavailable(tmp_path: Path) -> None:
    write_suite(tmp_path, directory="elsewhere/away")
    (tmp_path / "results").mkdir()
    (tmp_path / "results/link").symlink_to("../elsewhere/away")

    assert is_unavailable(tmp_path, "link")


def test_a_link_in_place_of_results_hides_no_silence(tmp_path: Path) -> None:
    write_suite(tmp_path, directory="elsewhere/away")
    (tmp_path / "results").symlink_to("elsewhere")

    assert is_unavailable(tmp_path, "results")


@pytest.mark.parametrize("name", ["plan.json", "events.json"])
@pytest.mark.parametrize("kind", ["link", "pipe", "directory", "not UTF-8", "not JSON"])
def test_a_suite_with_an_unreadable_file_is_unavailable(name: str, kind: str, tmp_path: Path) -> None:
    path = write_suite(tmp_path) / name
    saved = path.rename(path.with_suffix(".saved"))
    match kind:
        case "link":
            path.symlink_to(saved)
        case "pipe":
            os.mkfifo(path)
        case "directory":
            path.mkdir()
        case "not UTF-8":
            path.write_bytes(b"\xff")
        case "not JSON":
            path.write_text("[" * 100_000)

    with nothing_outside_is_shown(tmp_path, "saved"):
        assert is_unavailable(tmp_path)


def test_an_unavailable_suite_is_named_by_its_directory_and_hides_no_other(tmp_path: Path) -> None:
    write_suite(tmp_path, directory="results/broken\nname", suite_id="second", schema="abb.suite.plan.v2")
    write_suite(tmp_path)

    assert only_suite(tmp_path).suite_id == "first"
    assert faults(tmp_path) == [(ReasonCode.UNAVAILABLE_SUITE, r"broken\nname")]


def test_a_plan_larger_than_its_limit_is_unavailable(tmp_path: Path) -> None:
    write(write_suite(tmp_path) / "plan.json", " " * (2 * MIB + 1))

    assert is_unavailable(tmp_path)


@pytest.mark.parametrize(
    "changes",
    [
        {"schema": "abb.suite.plan.v2"},
        {"suite_id": "a/b"},
        {"suite_id": ""},
        {"suite_id": "naïve"},
        {"suite_id": None},
        {"origin_suite_id": 7},
        {"provenance_sha256": "0" * 64},
        {"provenance_sha256": None},
        {"configuration": [], "provenance_sha256": digest_json({"agents": [AGENT], "configuration": []})},
        *({"agents": agents} for agents in UNSOUND_AGENTS),
    ],
    ids=lambda changes: repr(changes)[:60],
)
def test_a_plan_that_does_not_hold_is_unavailable(changes: Any, tmp_path: Path) -> None:
    write_suite(tmp_path, **changes)

    assert is_unavailable(tmp_path)


def test_a_plan_with_a_lone_surrogate_has_no_provenance(tmp_path: Path) -> None:
    plan = plan_of()
    plan["configuration"] = {"sdk": "\ud800"}
    write(write_suite(tmp_path) / "plan.json", json.dumps(plan))

    assert is_unavailable(tmp_path)


@pytest.mark.parametrize(
    "changes",
    [
        {"schema": "abb.suite.event.v2"},
        {"sequence": 2},
        {"sequence": True},
        {"sequence": 1.0},
        {"suite_id": "other"},
    ],
    ids=repr,
)
def test_an_event_out_of_its_place_makes_the_suite_unavailable(changes: Any, tmp_path: Path) -> None:
    write_suite(tmp_path, [{"event": "run_started", **changes}])

    assert is_unavailable(tmp_path)


@pytest.mark.parametrize("events", ["{}", '["text"]', "[1e999]", '[{"a": 1, "a": 1}]'])
def test_events_that_are_no_list_of_objects_make_the_suite_unavailable(events: str, tmp_path: Path) -> None:
    write(write_suite(tmp_path) / "events.json", events)

    assert is_unavailable(tmp_path)


def test_two_directories_with_one_identity_are_both_left_out(tmp_path: Path) -> None:
    write_suite(tmp_path)
    write_suite(tmp_path, directory="results/copies/again")
    write_suite(tmp_path, directory="results/other", suite_id="other")

    tree = read_tree(tmp_path)

    assert [suite.suite_id for suite in tree.suites] == ["other"]
    assert faults(tmp_path) == [(ReasonCode.AMBIGUOUS_SUITE, "first")]
    assert tree.suite_faults[0].directories == ["results/copies/again", SUITE]


def test_an_unavailable_copy_makes_nothing_ambiguous(tmp_path: Path) -> None:
    write_suite(tmp_path)
    write_suite(tmp_path, directory="results/again", provenance_sha256=None)

    assert only_suite(tmp_path).directory == SUITE
    assert faults(tmp_path) == [(ReasonCode.UNAVAILABLE_SUITE, "again")]


def test_a_sound_artifact_is_kept(tmp_path: Path) -> None:
    write_suite(tmp_path)

    slot = first_slot(tmp_path)

    assert slot.artifact is not None
    assert slot.artifact.path == f"{SUITE}/cases/0/case.json"
    assert slot.artifact_fault is None


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("../../stray.json", ReasonCode.PATH_ESCAPE),
        ("/etc/hostname", ReasonCode.PATH_ESCAPE),
        ("link.json", ReasonCode.PATH_ESCAPE),
        ("missing.json", ReasonCode.FILE_UNAVAILABLE),
        ("cases\n.json", ReasonCode.FILE_UNAVAILABLE),
        ("a\0b", ReasonCode.FILE_UNAVAILABLE),
        ("cases", ReasonCode.NOT_A_REGULAR_FILE),
        ("pipe", ReasonCode.NOT_A_REGULAR_FILE),
        ("large.json", ReasonCode.FILE_TOO_LARGE),
        ("edited.json", ReasonCode.CASE_ARTIFACT_MISMATCH),
        ("cases/../cases/0/case.json", None),
    ],
)
def test_an_artifact_is_found_sound_or_told_why_not(path: str, code: ReasonCode | None, tmp_path: Path) -> None:
    directory = write_suite(tmp_path, [prepared(path=path)])
    write(tmp_path / "stray.json", b"case")
    (directory / "link.json").symlink_to(tmp_path / "stray.json")
    os.mkfifo(directory / "pipe")
    write(directory / "edited.json", b"case\n")
    with write(directory / "large.json", b"").open("wb") as file:
        file.truncate(65 * MIB)

    slot = first_slot(tmp_path)

    assert slot.artifact_fault == code
    assert (slot.artifact is None) == (code is not None)


def test_slots_without_an_artifact_have_no_fault(tmp_path: Path) -> None:
    write_suite(tmp_path, [])

    assert first_slot(tmp_path).artifact_fault is None


def test_the_content_digest_moves_with_everything_that_matters(tmp_path: Path) -> None:
    directory = write_suite(tmp_path)
    digests = [only_suite(tmp_path).content_sha256]

    def look() -> None:
        digests.append(only_suite(tmp_path).content_sha256)

    write(directory / "cases/0/case.json", b"edited")
    look()
    write(directory / "ground_truth/assessments.json", "{")
    look()
    write(directory / "ground_truth/assessments.json", "[")
    look()
    write(directory / "events.json", numbered([*one_attempt(), {"event": "suite_failed"}]))
    look()
    write(directory / "plan.json", plan_of(configuration={"sdk": "kuma"}))
    look()

    assert len(set(digests)) == len(digests)


def test_files_to_export_are_listed(tmp_path: Path) -> None:
    directory = write_suite(tmp_path)
    write(directory / "ground_truth/assessments.json", "not JSON, but to be written again")

    assert [file.path for file in read_tree(tmp_path).files] == [
        f"{SUITE}/plan.json",
        f"{SUITE}/events.json",
        f"{SUITE}/ground_truth/assessments.json",
    ]


def test_a_name_that_is_not_utf_8_makes_its_suite_unavailable(tmp_path: Path) -> None:
    write_suite(tmp_path, directory=os.fsdecode(b"results/\xff"))

    (fault,) = read_tree(tmp_path).suite_faults

    assert fault.code is ReasonCode.UNAVAILABLE_SUITE
    assert fault.suite_id.isprintable()
