"""What the rules forbid, a statement in psql cannot do either."""

from pathlib import Path

import pytest
import pytest_asyncio
from sqlalchemy.exc import DBAPIError

from tests.interchange.building import write_suite, write_unit
from tests.rules.house import House
from tests.rules.tree import decision, described

COPIED = "suite_pk, agent_id, case_index, attempt_id, defect_id, defect_pk, attempt_pk, ground_truth_sha256,"
COPIED += " case_sha256, result_sha256, case_reproduced, judge_detected, reviewed_by, reviewed_at, rationale, status,"
COPIED += " echo, keeper, version, recorded_by"

COPY = "INSERT INTO assessments ({0}, trial) SELECT {0}, {1} FROM assessments"

# The class of states that tell of a constraint.
INTEGRITY = "23"

FORBIDDEN = {
    "a second current assessment": COPY.format(COPIED, "true"),
    "a second record of the API": COPY.format(COPIED, "false"),
    "a detection without reproduction": "UPDATE assessments SET judge_detected = true, case_reproduced = NULL,"
    " version = version + 1",
    "a decision without a version": "UPDATE assessments SET judge_detected = true",
    "a version left out": "UPDATE assessments SET rationale = 'other', version = version + 2",
    "a withdrawal without a version": "UPDATE assessments SET status = 'WITHDRAWN'",
    "a refusal without a reason": "UPDATE assessments SET status = 'REFUSED'",
    "acceptance of nothing": "UPDATE assessments SET attempt_pk = NULL",
    "a changed history": "UPDATE assessment_changes SET rationale = 'other'",
    "a history that is gone": "DELETE FROM assessment_changes",
    "a changed revision": """UPDATE defect_revisions SET record = '{"id": "other"}'""",
    "a revision that is gone": "DELETE FROM defect_revisions",
    "changed evidence": "UPDATE observations SET evidence_path = 'observations/other'",
    "evidence that is gone": "DELETE FROM observations WHERE position = 0",
    "a defect that is not its revision": "UPDATE defects SET revision = 7",
    "a digest that is none": "UPDATE defects SET ground_truth_sha256 = upper(ground_truth_sha256)",
    "a blank title": "UPDATE defects SET title = E' \\n'",
    "a defect with one observation": """
        WITH revision AS (
            INSERT INTO defect_revisions (defect_pk, revision, ground_truth_sha256, record, recorded_by)
            SELECT id, revision + 1, repeat('a', 64), '{}', 'psql' FROM defects LIMIT 1 RETURNING id
        )
        INSERT INTO observations (revision_pk, position, observation_id, case_sha256, evidence_path, evidence_sha256)
        SELECT revision.id, 0, 'only', case_sha256, 'observations/only', evidence_sha256
        FROM revision, observations LIMIT 1
    """,
    "a Suite in two trials": """
        WITH protocol AS (
            INSERT INTO discovery_protocols (name, budget_cases, trials, frozen_by)
            VALUES ('a', 1, 2, 'psql') RETURNING id
        )
        INSERT INTO trial_suites (suite_pk, protocol_pk, trial, evaluator, added_by)
        SELECT suites.id, protocol.id, trial, 'local', 'psql' FROM suites, protocol, generate_series(1, 2) AS trial
    """,
}


@pytest_asyncio.fixture(scope="module")
async def ground(shared: House, shared_root: Path) -> House:
    write_unit(shared_root)
    write_suite(shared_root)
    await shared.take(shared_root)
    runs = await shared.keep(b"first run", b"second run")
    await shared.act("confirmDefect", {"agentId": "alpha", "defectId": "new", "defect": described(runs)})
    await shared.act("recordAssessment", {"assessment": decision()})
    return shared


@pytest.mark.parametrize("statement", FORBIDDEN.values(), ids=FORBIDDEN)
async def test_a_statement_that_breaks_a_rule_fails(ground: House, statement: str) -> None:
    before = await ground.image()

    with pytest.raises(DBAPIError) as refusal:
        await ground.execute(statement)

    assert getattr(refusal.value.orig, "sqlstate", "").startswith(INTEGRITY)
    assert await ground.image() == before
