"""Ten writers at once are as safe as one; so are thirty-two, on the same twenty pairs."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.encode import write_global_id
from models.base import Role
from resolvers.access import Viewer
from tests.rules.crowd import Crowd, assert_consistent, write_pairs
from tests.rules.house import Answer, House, house

PEOPLE = 32


@pytest.fixture
async def hall(database: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    """A house with a connection for each of the people."""
    async with house(database, tmp_path_factory.mktemp("house"), write_connections=PEOPLE) as made:
        yield made


def key_of(pk: int) -> str:
    return write_global_id("Assessment", pk)


@pytest.mark.parametrize(("calls", "bulk"), [(40, 0), (20, 6)])
async def test_people_who_write_at_once_lose_nothing_and_are_told_the_truth(
    hall: House, root: Path, calls: int, bulk: int
) -> None:
    pairs = write_pairs(root)
    await hall.take(root)

    async def act(mutation: str, given: Answer, name: str) -> Answer:
        return await hall.act(mutation, given, Viewer(name, Role.REVIEWER))

    crowd = Crowd(act, pairs)

    await crowd.work(PEOPLE, calls, bulk=bulk)

    assert crowd.unknown == set()
    await assert_consistent(hall, crowd, key_of)
