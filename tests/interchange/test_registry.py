from pathlib import Path

import pytest

from interchange.reader import read_tree
from models.base import ManifestState, ReasonCode
from tests.interchange.building import REGISTRY, UNIT, codes, notices, only_agent, write, write_suite, write_unit


def entry(agent_id: str = "alpha", path: str = UNIT) -> str:
    return f'[[agents]]\nagent_id = "{agent_id}"\npath = "{path}"\n'


def test_a_tree_without_a_registry_has_no_agents_and_no_warning(tmp_path: Path) -> None:
    tree = read_tree(tmp_path)

    assert (tree.registry_valid, tree.agents, tree.notices) == (True, [], [])


def test_a_registered_unit_is_an_agent(tmp_path: Path) -> None:
    write_unit(tmp_path)

    agent = only_agent(tmp_path)

    assert (agent.agent_id, agent.name, agent.framework, agent.unit_path) == ("alpha", "Alpha", "plain", UNIT)
    assert agent.manifest_state is ManifestState.VALID
    assert agent.source_sha256 is not None


@pytest.mark.parametrize(
    "text", ["", "[[agents]\n", "agents = 1", "agents = [1]", "[agents]\na = 1", "[[agents]]\na = 1\na = 2"]
)
def test_a_registry_that_is_no_list_of_tables_is_invalid_as_a_whole(text: str, tmp_path: Path) -> None:
    write_unit(tmp_path)
    write_suite(tmp_path)
    write(tmp_path / REGISTRY, text)

    tree = read_tree(tmp_path)

    assert (tree.registry_valid, tree.agents) == (False, [])
    assert [notice.code for notice in tree.notices] == [ReasonCode.REGISTRY_INVALID]
    assert [suite.suite_id for suite in tree.suites] == ["first"]


def test_a_registry_that_is_a_link_out_of_the_tree_is_invalid(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside.toml", entry())
    (tmp_path / "tree/resources").mkdir(parents=True)
    (tmp_path / "tree" / REGISTRY).symlink_to(outside)

    assert codes(tmp_path / "tree") == [ReasonCode.REGISTRY_INVALID]


@pytest.mark.parametrize("line", ['agent_id = ""', "agent_id = 1", "", 'agent_id = "a\\u0000b"'])
def test_an_entry_without_an_identity_is_skipped(line: str, tmp_path: Path) -> None:
    write_unit(tmp_path)
    write(tmp_path / REGISTRY, f'[[agents]]\n{line}\npath = "elsewhere"\n{entry()}')

    tree = read_tree(tmp_path)

    assert [agent.agent_id for agent in tree.agents] == ["alpha"]
    assert [(notice.code, notice.agent_id) for notice in tree.notices] == [(ReasonCode.REGISTRY_INVALID, None)]


def test_an_identity_twice_is_invalid_whatever_its_manifest_says(tmp_path: Path) -> None:
    write_unit(tmp_path, manifest="broken")
    write(tmp_path / REGISTRY, entry() + entry())

    assert only_agent(tmp_path).manifest_state is ManifestState.INVALID
    assert [(notice.code, notice.agent_id) for notice in notices(tmp_path)] == [(ReasonCode.DUPLICATE_AGENT, "alpha")]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("../elsewhere", ReasonCode.PATH_ESCAPE),
        (".", ReasonCode.PATH_ESCAPE),
        ("resources/..", ReasonCode.PATH_ESCAPE),
        ("/", ReasonCode.PATH_ESCAPE),
        ("link", ReasonCode.PATH_ESCAPE),
        ("", ReasonCode.INVALID_FIELD),
        ("   ", ReasonCode.INVALID_FIELD),
        ("a\\u0000b", ReasonCode.INVALID_FIELD),
    ],
)
def test_a_path_that_names_no_unit_inside_makes_the_agent_invalid(path: str, code: ReasonCode, tmp_path: Path) -> None:
    root = tmp_path / "tree"
    write(root / REGISTRY, entry(path=path))
    (root / "link").symlink_to(tmp_path)

    agent = only_agent(root)

    assert (agent.manifest_state, agent.unit_path) == (ManifestState.INVALID, None)
    assert [(notice.code, notice.agent_id) for notice in notices(root)] == [(code, "alpha")]
    assert str(tmp_path) not in notices(root)[0].message


def test_a_link_to_a_unit_inside_the_tree_is_that_unit(tmp_path: Path) -> None:
    write_unit(tmp_path)
    (tmp_path / "alias").symlink_to(UNIT)
    write(tmp_path / REGISTRY, entry(path="alias"))

    assert only_agent(tmp_path).unit_path == UNIT
    assert only_agent(tmp_path).manifest_state is ManifestState.VALID
