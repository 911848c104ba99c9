"""Trees that would break an import: each gives its warning, and a sound Suite beside it still counts."""

import os
import secrets
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import select

from models import Suite
from models.base import ReasonCode, table
from tests.interchange.building import (
    MANIFEST,
    REGISTRY,
    SIDECAR,
    SUITE,
    UNIT,
    assessment,
    defect,
    manifest_of,
    sidecar_of,
    write,
    write_suite,
    write_unit,
)
from tests.interchange.trees import Service

suites = table(Suite)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_unit(tmp_path)
    write_suite(tmp_path)
    write(tmp_path / SIDECAR, sidecar_of(assessment()))
    return tmp_path


def long_path() -> str:
    """Longer than an entry of an index can be, of letters that do not compress."""
    return "/".join(secrets.token_hex(120) for _ in range(14))


def register(root: Path, path: str) -> None:
    with (root / REGISTRY).open("a") as registry:
        registry.write(f'[[agents]]\nagent_id = "other"\npath = "{path}"\n')


def a_broken_copy_under_the_same_name(root: Path) -> None:
    shutil.copytree(root / SUITE, root / "results/copies/first")
    write(root / "results/copies/first/plan.json", "{")


def a_broken_suite_whose_name_is_not_utf_8(root: Path) -> None:
    shutil.copytree(root / SUITE, root / "results" / os.fsdecode(b"\xff"))


def a_suite_too_deep_to_be_a_key(root: Path) -> None:
    write_suite(root, directory=f"results/{long_path()}", suite_id="deep")


def a_unit_too_deep_to_be_a_key(root: Path) -> None:
    path = f"resources/{long_path()}"
    shutil.copytree(root / UNIT, root / path)
    register(root, path)


def a_unit_whose_name_no_file_system_takes(root: Path) -> None:
    register(root, "resources/" + "x" * 300)


def a_description_with_an_endless_key(root: Path) -> None:
    register(root, "resources/agents/other")
    write(root / "resources/agents/other/ground_truth/manifest.json", manifest_of(agent_id="other"))
    write(root / "resources/agents/other/agent.toml", 'agent_id = "other"\n' + ".".join("a" * 100_000) + " = 1\n")


HOSTILE: list[tuple[Callable[[Path], None], list[ReasonCode]]] = [
    (a_broken_copy_under_the_same_name, [ReasonCode.UNAVAILABLE_SUITE]),
    (a_broken_suite_whose_name_is_not_utf_8, [ReasonCode.UNAVAILABLE_SUITE]),
    (a_suite_too_deep_to_be_a_key, [ReasonCode.UNAVAILABLE_SUITE]),
    (a_unit_too_deep_to_be_a_key, [ReasonCode.INVALID_FIELD]),
    (a_unit_whose_name_no_file_system_takes, []),
    (a_description_with_an_endless_key, [ReasonCode.AGENT_TOML_INVALID]),
]


@pytest.mark.parametrize(("spoil", "codes"), HOSTILE)
async def test_what_cannot_be_kept_is_told_and_all_else_counts(
    spoil: Callable[[Path], None], codes: list[ReasonCode], root: Path, service: Service
) -> None:
    spoil(root)

    done = await service.take(root)
    again = await service.take(root)

    assert [notice.code for notice in done.notices] == codes
    assert not again.changed
    assert len(await service.accepted()) == 1


async def test_a_suite_that_broke_where_another_is_ambiguous_settles_at_once(root: Path, service: Service) -> None:
    await service.take(root)
    write_suite(root, directory="results/second", suite_id="first")
    write(root / "results/copies/first/events.json", "")
    write(root / "results/copies/first/plan.json", "{")

    await service.take(root)
    again = await service.take(root)

    assert not again.changed
    assert await service.rows(select(suites.c.fault)) == [(ReasonCode.AMBIGUOUS_SUITE,)]


async def test_suites_below_what_is_not_entered_are_left_out_and_not_retired(root: Path, service: Service) -> None:
    await service.take(root)
    (root / "results").rename(root / "away")
    (root / "results").symlink_to("away")

    await service.take(root)

    assert await service.rows(select(suites.c.fault, suites.c.retired_at)) == [(ReasonCode.UNAVAILABLE_SUITE, None)]
    assert not await service.accepted()


@pytest.mark.parametrize("instant", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"])
async def test_the_ends_of_time_are_no_instants(instant: str, root: Path, service: Service) -> None:
    write(root / MANIFEST, manifest_of(defect(confirmed_at=instant)))

    done = await service.take(root)

    assert [notice.code for notice in done.notices] == [ReasonCode.INVALID_FIELD]
