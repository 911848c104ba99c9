"""The formal discovery score, held against one that is computed record by record."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any

import pytest
from sqlalchemy import Integer, column, select, values

from interchange.digests import digest_json
from resolvers.sql import proportion
from tests.interchange.building import (
    CASE,
    MANIFEST,
    SOURCE,
    Object,
    defect,
    manifest_of,
    prepared,
    result,
    write,
    write_suite,
    write_unit,
)
from tests.rules.house import Answer, House
from tests.rules.tree import benchmark, decision

LATER = "2999-01-01T00:00:00+00:00"
AGENTS, DEFECTS, TRIALS, BUDGET, SLOTS = ("alpha", "beta"), ("defect-0", "defect-1"), 2, 2, 3
MODES = {"local": "local-container", "kuma": "official-container"}

SCORE = """
{
  discoveryProtocol(name: "first") {
    score {
      pending
      evaluators {
        evaluator macro perTrial
        micro { ...P } caseTriggerCoverage { ...P } judgeConditionalRecall { ...P } reviewCoverage { ...P }
        perAgent { agent { agentId } discovery { ...P } }
      }
    }
  }
}
fragment P on Proportion { numerator denominator }
"""


@dataclass(frozen=True, eq=False)
class Run:
    """One Attempt in a trial, as it was drawn."""

    suite_id: str
    evaluator: str
    trial: int
    agent_id: str
    slot: int
    attempt_id: str
    result: Object
    failed: bool

    @property
    def has_report(self) -> bool:
        return bool(self.result["benchmark"]["report"])


Pair = tuple[Run, str]
Said = tuple[bool | None, bool | None]


@dataclass
class Trials:
    """A frozen cohort, what ran, and what reviewers say of it at last."""

    house: House
    root: Path
    random: Random
    runs: list[Run] = field(default_factory=list)
    last: dict[Pair, Said] = field(default_factory=dict)
    records: dict[Pair, Answer] = field(default_factory=dict)

    @property
    def pairs(self) -> list[Pair]:
        return [(run, name) for run in self.runs if not run.failed for name in DEFECTS]

    async def freeze(self) -> None:
        self.describe()
        await self.house.take(self.root)
        cohort = [{"agentId": agent, "sourceSha256": SOURCE, "defectIds": list(DEFECTS)} for agent in AGENTS]
        given = {"name": "first", "budgetCases": BUDGET, "trials": TRIALS, "cohort": cohort}
        assert (await self.house.act("freezeDiscoveryProtocol", given))["protocol"]

    def describe(self, **changes: Any) -> None:
        """The tree's agents, with both their defects, edited or not."""
        found = [defect(id=name, **changes) for name in DEFECTS]
        write_unit(self.root, manifest=manifest_of(*found))
        unit = self.root / "resources/agents/02-beta"
        write(unit / "agent.toml", 'agent_id = "beta"\n')
        for number in range(2):
            write(unit / f"ground_truth/observations/run-{number}.zip", f"run {number}".encode())
        write(unit / "ground_truth/manifest.json", manifest_of(*found, agent_id="beta"))
        with (self.root / MANIFEST).parents[3].joinpath("registry.toml").open("a") as registry:
            registry.write('[[agents]]\nagent_id = "beta"\npath = "resources/agents/02-beta"\n')

    async def run(self) -> None:
        for evaluator, trial in product(MODES, range(1, TRIALS + 1)):
            suite_id = f"{evaluator}-{trial}"
            runs = list(self.drawn(suite_id, evaluator, trial))
            self.runs += runs
            agents = [{"agent_id": agent, "case_count": SLOTS, "source_sha256": SOURCE} for agent in AGENTS]
            settings = {"agents": agents, "configuration": {"sdk": evaluator}, "created_at": LATER}
            events = [event for run in runs for event in events_of(run)]
            suite = write_suite(self.root, events, directory=f"results/{suite_id}", suite_id=suite_id, **settings)
            for slot in range(SLOTS):
                write(suite / f"cases/{slot}/case.json", b"case")
        await self.house.take(self.root)
        for suite_id, trial in sorted({(run.suite_id, run.trial) for run in self.runs}):
            given = {"protocol": "first", "trial": trial, "suiteId": suite_id}
            assert (await self.house.act("addTrialSuite", given))["protocol"]

    def drawn(self, suite_id: str, evaluator: str, trial: int) -> Iterator[Run]:
        for agent, slot in product(AGENTS, range(SLOTS)):
            for number in range(self.random.choice((1, 1, 2))):
                fate = self.random.choice(("sound", "sound", "sound", "failed", "unreported"))
                report = {} if fate == "unreported" else {"status": "issue", "score": self.random.random()}
                saved = result(benchmark=benchmark(report=report, provider_mode=MODES[evaluator]))
                if fate == "failed":
                    saved["error"] = {"type": "TimeoutError"}
                where = (suite_id, evaluator, trial, agent, slot, f"try-{number + 1}")
                yield Run(*where, saved, fate == "failed")

    async def review(self, pair: Pair, said: Said) -> None:
        """Record, or revise what this reviewer recorded, bound to the revision that was frozen."""
        run, name = pair
        words = {"caseReproduced": said[0], "judgeDetected": said[1], "rationale": f"{self.random.random()}"}
        if pair in self.records:
            known = {"id": self.records[pair]["id"], "expectedVersion": self.records[pair]["version"], **words}
            given = {**known, "reviewedBy": "ann", "reviewedAt": "2026-10-05T10:00:00Z"}
            answer = await self.house.act("reviseAssessment", given)
        else:
            answer = await self.house.act("recordAssessment", {"assessment": {**bound(run, name), **words}})
        assert "assessment" in answer, answer
        self.records[pair], self.last[pair] = answer["assessment"], said

    async def withdraw(self, pair: Pair) -> None:
        known = self.records.pop(pair)
        given = {"id": known["id"], "expectedVersion": known["version"], "rationale": "No."}
        await self.house.act("withdrawAssessment", given)
        del self.last[pair]

    def opinion(self, run: Run, *, whole: bool = False) -> Said:
        reproduced = self.random.choice((True, True, False, *(() if whole else (None,))))
        if not run.has_report:
            return reproduced, None
        if not reproduced:
            return reproduced, False if whole else self.random.choice((False, None))
        return True, self.random.choice((True, False, *(() if whole else (None,))))


def bound(run: Run, name: str) -> Answer:
    return decision(
        suiteId=run.suite_id,
        agentId=run.agent_id,
        caseIndex=run.slot,
        attemptId=run.attempt_id,
        defectId=name,
        groundTruthSha256=digest_json(defect(id=name)),
        caseSha256=CASE,
        resultSha256=digest_json(run.result),
    )


def events_of(run: Run) -> list[Object]:
    number = int(run.attempt_id.removeprefix("try-"))
    attempt = {"agent_id": run.agent_id, "case_index": run.slot, "attempt_id": run.attempt_id, "attempt_number": number}
    return [
        {**prepared(run.slot), "agent_id": run.agent_id},
        {"event": "case_attempt_started", **attempt},
        {"event": "case_completed", **attempt, "case_result": run.result},
    ]


def share(found: list[bool]) -> Answer:
    return {"numerator": sum(found), "denominator": len(found)}


def expected(trials: Trials) -> Answer:
    evaluators = [expected_of(trials, evaluator) for evaluator in sorted(MODES)]
    return {"pending": any(each["macro"] is None for each in evaluators), "evaluators": evaluators}


def expected_of(trials: Trials, evaluator: str) -> Answer:
    """A8 to the letter: trial by trial, agent by agent, defect by defect."""
    pairs = [pair for pair in trials.pairs if pair[0].evaluator == evaluator and pair[0].slot < BUDGET]
    judged = [trials.last[pair] for pair in pairs if pair in trials.last]
    recalled = [bool(said[1]) for said in judged if said[0] and said[1] is not None]
    pending = {pair[0].trial for pair in pairs if not is_decided(trials, pair)}
    per_trial: list[float | None] = []
    cells: list[tuple[str, bool, bool]] = []
    for trial in range(1, TRIALS + 1):
        if trial in pending:
            per_trial.append(None)
            continue
        of_trial = [(agent, *cell_of(trials, pairs, trial, agent, name)) for agent, name in product(AGENTS, DEFECTS)]
        per_agent = [mean(found for agent, found, _ in of_trial if agent == each) for each in AGENTS]
        per_trial.append(mean(per_agent))
        cells += of_trial
    return {
        "evaluator": evaluator,
        "macro": mean(each for each in per_trial if each is not None) if not pending else None,
        "perTrial": per_trial,
        "micro": share([found for _, found, _ in cells]),
        "caseTriggerCoverage": share([reproduced for _, _, reproduced in cells]),
        "judgeConditionalRecall": share(recalled),
        "reviewCoverage": share([is_decided(trials, pair) for pair in pairs]),
        "perAgent": [
            {"agent": {"agentId": each}, "discovery": share([found for agent, found, _ in cells if agent == each])}
            for each in AGENTS
        ],
    }


def cell_of(trials: Trials, pairs: list[Pair], trial: int, agent: str, name: str) -> tuple[bool, bool]:
    """Whether the defect was found there, and whether it was reproduced."""
    of_cell = [pair for pair in pairs if (pair[0].trial, pair[0].agent_id, pair[1]) == (trial, agent, name)]
    said = [trials.last[pair] for pair in of_cell]
    return (True, True) in said, any(reproduced for reproduced, _ in said)


def is_decided(trials: Trials, pair: Pair) -> bool:
    """Where no report was saved, the Judge has nothing to be asked about."""
    reproduced, detected = trials.last.get(pair, (None, None))
    return reproduced is not None and (detected is not None or not pair[0].has_report)


async def shown(house: House) -> Answer:
    score: Answer = (await house.ask(SCORE))["discoveryProtocol"]["score"]
    for evaluator in score["evaluators"]:
        for name in ("macro", "perTrial"):
            evaluator[name] = approximately(evaluator[name])
        evaluator["perAgent"].sort(key=lambda each: each["agent"]["agentId"])
    score["evaluators"].sort(key=lambda each: each["evaluator"])
    return score


def approximately(value: Any) -> Any:
    return [approximately(each) for each in value] if isinstance(value, list) else pytest.approx(value)


@pytest.mark.parametrize("seed", range(3))
async def test_the_score_is_the_one_computed_record_by_record(home: House, root: Path, seed: int) -> None:
    trials = Trials(home, root, Random(seed))  # noqa: S311 -- the same each time
    await trials.freeze()
    await trials.run()
    assert await shown(home) == expected(trials)

    for pair in trials.random.sample(trials.pairs, len(trials.pairs) * 2 // 3):
        await trials.review(pair, trials.opinion(pair[0]))
    for pair in trials.random.sample(list(trials.records), 5):
        await trials.withdraw(pair)
    partly = await shown(home)
    assert partly == expected(trials)
    assert partly["pending"]

    # A later edit does not change the score, nor what can still be said about the frozen revision.
    trials.describe(title="Repeats a payment")
    await home.take(root)
    assert await shown(home) == expected(trials)
    for pair in trials.pairs:
        if not is_decided(trials, pair):
            await trials.review(pair, trials.opinion(pair[0], whole=True))
    whole = await shown(home)
    assert whole == expected(trials)
    assert not whole["pending"]
    await home.assert_sound()


@pytest.mark.parametrize(
    ("numerator", "denominator", "lower", "upper"),
    [
        # R. G. Newcombe, Two-sided confidence intervals for the single proportion, Statistics in Medicine 17 (1998).
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
async def test_intervals_are_those_that_were_published(
    shared: House, numerator: int, denominator: int, lower: float, upper: float
) -> None:
    row = values(column("found", Integer), column("asked", Integer), name="row").data([(numerator, denominator)])
    figures = proportion("found", "asked")

    [(value, low, high)] = await shared.execute(
        select(*(figures[name](row) for name in ("value", "lower", "upper"))).select_from(row)
    )

    assert value == pytest.approx(numerator / denominator)
    assert (round(low, 4), round(high, 4)) == (lower, upper)
