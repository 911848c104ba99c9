"""Many people at once on the same few pairs, and whether what each was told can have been true at its moment."""

import asyncio
import itertools
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from interchange.digests import digest_json
from tests.interchange.building import Object, defect, manifest_of, prepared, result, write_suite, write_unit
from tests.rules.house import Answer, House
from tests.rules.tree import decision

SLOTS = 10
DEFECTS = ("defect-0", "defect-1")

HISTORY = """
SELECT assessment_pk, version, rationale, withdrawn, changed_by FROM assessment_changes ORDER BY assessment_pk, version
"""
PRESENT = """
SELECT id, version, rationale, status = 'WITHDRAWN', recorded_by FROM assessments ORDER BY id
"""
STANDING_TWICE = """
SELECT suite_pk, agent_id, case_index, attempt_id, defect_id FROM assessments WHERE status = 'ACCEPTED'
GROUP BY 1, 2, 3, 4, 5 HAVING count(*) > 1
"""

# Answers None where nobody knows what became of it.
Act = Callable[[str, Answer, str], Awaitable[Answer | None]]


def write_pairs(root: Path, slots: int = SLOTS) -> list[Object]:
    """A tree of two pairs for each slot; answers a decision about each."""
    found = [defect(id=name) for name in DEFECTS]
    write_unit(root, manifest=manifest_of(*found))
    events = [event for index in range(slots) for event in _slot(index)]
    suite = write_suite(root, events, cases=slots)
    for index in range(slots):
        (suite / f"cases/{index}").mkdir(parents=True, exist_ok=True)
        (suite / f"cases/{index}/case.json").write_bytes(b"case")
    return [
        decision(caseIndex=index, defectId=each["id"], groundTruthSha256=digest_json(each))
        for index in range(slots)
        for each in found
    ]


def _slot(index: int) -> Iterator[Object]:
    attempt = {"agent_id": "alpha", "case_index": index, "attempt_id": "try-1", "attempt_number": 1}
    yield prepared(index)
    yield {"event": "case_attempt_started", **attempt}
    yield {"event": "case_completed", **attempt, "case_result": result()}


@dataclass(frozen=True)
class Version:
    rationale: str
    withdrawn: bool
    changed_by: str


@dataclass
class Told:
    """One thing that one person was told: this version, written by this call or found by it."""

    person: str
    said: str
    started: int
    ended: int
    key: str | None = None
    version: int | None = None
    wrote: bool = False
    withdrawn: bool = False
    # What stands in that version, where the answer says it.
    rationale: str | None = None


@dataclass
class Crowd:
    act: Act
    pairs: list[Object]
    told: list[Told] = field(default_factory=list)
    unknown: set[str] = field(default_factory=set)
    _ticks: Iterator[int] = field(default_factory=itertools.count)
    _seen: dict[int, Answer] = field(default_factory=dict)
    _sent: dict[str, Object] = field(default_factory=dict)

    async def work(self, people: int, calls: int, *, bulk: int = 0, seed: int = 7) -> None:
        """Everybody makes so many calls; with `bulk`, records come in lists of that length."""
        randoms = [Random(seed + n) for n in range(people)]  # noqa: S311 -- the same people say the same each time
        await asyncio.gather(*(self._person(f"person-{n}", calls, bulk, each) for n, each in enumerate(randoms)))

    async def _person(self, name: str, calls: int, bulk: int, random: Random) -> None:
        for number in range(calls):
            word = f"{name}/{number}"
            known = self._seen.get(place := random.randrange(len(self.pairs)))
            kind = random.choice(("record", "record", "repeat", "revise", "withdraw"))
            if bulk and kind == "record":
                await self._record_all(name, word, random.choices(range(len(self.pairs)), k=bulk), random)
            elif known is None or kind == "record":
                await self._record(name, place, self._new(place, word, random))
            elif kind == "repeat":
                await self._record(name, place, self._sent.get(known["rationale"], self._new(place, word, random)))
            else:
                await self._change(name, place, kind, word, known, random)

    def _new(self, place: int, word: str, random: Random) -> Object:
        given = {**self.pairs[place], **_decided(random), "rationale": word}
        self._sent[word] = given
        return given

    async def _record(self, name: str, place: int, given: Object) -> None:
        started = next(self._ticks)
        answer = await self.act("recordAssessment", {"assessment": given}, name)
        if answer is None:
            self.unknown.add(given["rationale"])
            return
        told = Told(name, given["rationale"], started, next(self._ticks))
        if answer["__typename"] == "Conflict":
            self._note(told, place, answer["existing"])
            assert told.rationale != given["rationale"]
            assert not told.withdrawn
            return
        assert answer["__typename"] == "RecordAssessmentPayload", answer
        self._note(told, place, answer["assessment"], wrote=answer["created"])
        assert told.rationale == given["rationale"]

    async def _record_all(self, name: str, word: str, places: list[int], random: Random) -> None:
        given = [self._new(place, f"{word}/{number}", random) for number, place in enumerate(places)]
        started = next(self._ticks)
        answer = await self.act("recordAssessments", {"assessments": given}, name)
        if answer is None:
            self.unknown.update(each["rationale"] for each in given)
            return
        ended = next(self._ticks)
        for place, each, outcome in zip(places, given, answer["outcomes"], strict=True):
            shown = outcome["assessment"] or outcome["conflict"]
            assert shown, outcome
            assert (shown["rationale"] == each["rationale"]) == outcome["created"]
            self._note(Told(name, each["rationale"], started, ended), place, shown, wrote=outcome["created"])

    async def _change(self, name: str, place: int, kind: str, word: str, known: Answer, random: Random) -> None:
        given = {"id": known["id"], "expectedVersion": known["version"], "rationale": word}
        if kind == "revise":
            given |= {**_decided(random), "reviewedBy": name, "reviewedAt": "2026-10-05T10:00:00Z"}
        started = next(self._ticks)
        answer = await self.act(f"{kind}Assessment", given, name)
        if answer is None:
            self.unknown.add(word)
            return
        told = Told(name, word, started, next(self._ticks))
        if answer["__typename"] == "Conflict":
            self._note(told, place, answer["existing"])
            assert told.version == answer["currentVersion"] != known["version"]
        elif answer["__typename"] == "Refused":
            assert answer["code"] == "INVALID_DECISION", answer
            told.key, told.version, told.withdrawn = known["id"], known["version"], True
            self.told.append(told)
        else:
            self._note(told, place, answer["assessment"], wrote=True)
            assert told.version == known["version"] + 1
            assert told.rationale == word

    def _note(self, told: Told, place: int, shown: Answer, *, wrote: bool = False) -> None:
        told.key, told.version, told.wrote = shown["id"], shown["version"], wrote
        told.withdrawn, told.rationale = shown["status"] == "WITHDRAWN", shown["rationale"]
        self.told.append(told)
        latest = self._seen.get(place)
        if latest is None or latest["version"] < shown["version"]:
            self._seen[place] = shown


def _decided(random: Random) -> Object:
    reproduced = random.choice((True, True, False, None))
    return {"caseReproduced": reproduced, "judgeDetected": random.choice((True, False)) if reproduced else None}


async def assert_consistent(house: House, crowd: Crowd, key_of: Callable[[int], str], *, by_name: bool = True) -> None:
    """Histories without gaps that hold what was acknowledged, each once, and nothing that nobody sent."""
    histories: dict[str, dict[int, Version]] = defaultdict(dict)
    for pk, version, *rest in await house.execute(HISTORY):
        histories[key_of(pk)][version] = Version(*rest)
    for history in histories.values():
        assert list(history) == list(range(1, len(history) + 1))
    for pk, version, *rest in await house.execute(PRESENT):
        assert (version, Version(*rest)) == list(histories[key_of(pk)].items())[-1]
    assert await house.execute(STANDING_TWICE) == []
    _assert_written(histories, crowd, by_name=by_name)
    _assert_told(histories, crowd)
    await house.assert_sound()


def _assert_written(histories: dict[str, dict[int, Version]], crowd: Crowd, *, by_name: bool) -> None:
    written = {(key, number): version for key, history in histories.items() for number, version in history.items()}
    acknowledged = [told for told in crowd.told if told.wrote]
    for told in acknowledged:
        assert told.key is not None
        assert told.version is not None
        version = written.pop((told.key, told.version))
        assert (version.rationale, version.withdrawn) == (told.said, told.withdrawn)
        assert not by_name or version.changed_by == told.person
    left = [version.rationale for version in written.values()]
    assert len(left) == len(set(left))
    assert set(left) <= crowd.unknown


def _assert_told(histories: dict[str, dict[int, Version]], crowd: Crowd) -> None:
    writers = {(told.key, told.version): told for told in crowd.told if told.wrote}
    for told in crowd.told:
        assert told.key is not None
        assert told.version is not None
        version = histories[told.key][told.version]
        assert version.withdrawn == told.withdrawn
        assert told.rationale in (None, version.rationale)
        # It stood at some moment between question and answer.
        before, after = writers.get((told.key, told.version)), writers.get((told.key, told.version + 1))
        assert before is None or before.started < told.ended
        assert after is None or after is told or after.ended > told.started
