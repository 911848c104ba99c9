"""Writers of decisions and changers of their ground at once: neither slips past the other."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

import pytest

from tests.databases import execute
from tests.interchange.building import MANIFEST, defect, manifest_of, write
from tests.rules.crowd import DEFECTS, write_pairs
from tests.rules.house import Answer, House, house
from tests.rules.tree import described
from tests.waiting import eventually

CURRENCY = {"agentId": "alpha", "defectId": "currency"}
TITLES = ("Forgets the currency", "Forgets a currency")

# What a decision can meet while all of its ground changes.
POSSIBLE = {"STALE_REVISION", "RESULT_DIGEST_MISMATCH", "UNKNOWN_DEFECT"}


@pytest.fixture
async def hall(database: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    # Long enough for a test to make a deadlock before somebody looks for one.
    await execute(database, f"ALTER DATABASE {database.rsplit('/', 1)[1]} SET deadlock_timeout = '2s'")
    async with house(database, tmp_path_factory.mktemp("house"), write_connections=16) as made:
        yield made


async def decide(hall: House, choices: list[Answer], calls: int, random: Random) -> set[str]:
    """Records and withdraws; answers the reasons that were met."""
    met = set()
    for number in range(calls):
        given = {**random.choice(choices), "rationale": f"{number}"}
        answer = await hall.act("recordAssessment", {"assessment": given})
        if answer["__typename"] == "Refused":
            met.add(answer["code"])
            continue
        stands = answer["existing"] if answer["__typename"] == "Conflict" else answer["assessment"]
        gone = {"id": stands["id"], "expectedVersion": stands["version"], "rationale": "No."}
        await hall.act("withdrawAssessment", gone)
    return met


async def revise(hall: House, runs: list[str], digests: list[str], calls: int) -> None:
    for number in range(calls):
        given = {**CURRENCY, "expectedGroundTruthSha256": digests[number % 2]}
        defect = described(runs, title=TITLES[(number + 1) % 2])
        answer = await hall.act("reviseDefect", {**given, "defect": defect})
        assert answer["__typename"] == "ReviseDefectPayload", answer


async def reimport(hall: House, root: Path, calls: int) -> None:
    """Now the results are others, now the defects are."""
    events = root / "results/first/events.json"
    original = events.read_text()
    other = original.replace('"score": 0.5', '"score": 0.25')
    assert other != original
    for number in range(calls):
        write(events, other if number % 2 == 0 else original)
        title = TITLES[number // 2 % 2]
        write(root / MANIFEST, manifest_of(*(defect(id=name, title=title) for name in DEFECTS)))
        await hall.take(root)


async def test_every_verdict_is_true_after_a_race_of_writers_and_changers(hall: House, root: Path) -> None:
    pairs = write_pairs(root)
    await hall.take(root)
    runs = await hall.keep(b"first run", b"second run")
    first = await hall.act("confirmDefect", {**CURRENCY, "defect": described(runs, title=TITLES[0])})
    digests = [first["defect"]["groundTruthSha256"]]
    given = {**CURRENCY, "expectedGroundTruthSha256": digests[0], "defect": described(runs, title=TITLES[1])}
    digests.append((await hall.act("reviseDefect", given))["defect"]["groundTruthSha256"])
    await hall.act("reviseDefect", {**given, "expectedGroundTruthSha256": digests[1], "defect": described(runs)})
    # Only the first of a slot's two decisions, each bound to either revision.
    bound = [{**pair, "defectId": "currency", "groundTruthSha256": each} for pair in pairs[::2] for each in digests]
    randoms = [Random(seed) for seed in range(8)]  # noqa: S311 -- the same each time

    met = await asyncio.gather(
        *(decide(hall, [*pairs, *bound], 15, random) for random in randoms),
        revise(hall, runs, digests, 12),
        reimport(hall, root, 6),
    )

    assert set().union(*(codes for codes in met if codes)) <= POSSIBLE
    await hall.assert_sound()


async def test_a_deadlock_is_tried_again(hall: House, root: Path) -> None:
    [given, *_] = write_pairs(root)
    await hall.take(root)
    async with hall.connection() as other:
        await other.exec_driver_sql("SET LOCAL deadlock_timeout = '1min'")
        await other.exec_driver_sql("SELECT FROM defects FOR UPDATE")
        writing = asyncio.create_task(hall.act("recordAssessment", {"assessment": given}))

        async def is_waiting() -> bool:
            return bool(await hall.execute("SELECT pid FROM pg_locks WHERE NOT granted"))

        await eventually(is_waiting)
        # The writer shares the Suite and waits for the defect.
        await other.exec_driver_sql("SELECT FROM suites FOR UPDATE")
        await other.commit()

    assert (await writing)["created"]
    await hall.assert_sound()


async def test_who_is_slower_to_add_a_name_is_told_that_it_is_taken(hall: House) -> None:
    answers = await asyncio.gather(*(hall.act("registerAgent", {"agentId": "refunds"}) for _ in range(8)))

    told = sorted(answer["__typename"] for answer in answers)
    assert told == ["Duplicate"] * 7 + ["RegisterAgentPayload"]


async def test_two_people_who_confirm_one_defect_make_it_once(hall: House) -> None:
    await hall.act("registerAgent", {"agentId": "refunds"})
    runs = await hall.keep(b"first run", b"second run")
    given = {"agentId": "refunds", "defectId": "currency"}

    answers = await asyncio.gather(
        *(hall.act("confirmDefect", {**given, "defect": described(runs, title=title)}) for title in TITLES * 4)
    )

    created = [answer for answer in answers if answer.get("created")]
    assert len(created) == 1
    assert sum(answer["__typename"] == "Duplicate" for answer in answers) == 4
