"""What a call costs: statements that are as many for a thousand records as for two."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, event

from tests.rules.crowd import write_pairs
from tests.rules.house import Answer, House, schema

BULK = """
mutation Bulk($given: RecordAssessmentsInput!) {
  recordAssessments(input: $given) {
    ... on RecordAssessmentsPayload {
      created refused outcomes { assessment { id attempt { attemptId } history { version } } conflict { id } }
    }
  }
}
"""
WITHDRAWN = "UPDATE assessments SET status = 'WITHDRAWN', version = version + 1"


@contextmanager
def counted(house: House) -> Iterator[Counter[int]]:
    """Statements of the rules by their connection, and those of the engine under 0."""
    asked: Counter[int] = Counter()
    driver, counters = house.services.database.engine.sync_engine, schema().engine.counters

    def note(connection: Connection, *_: Any) -> None:
        asked[id(connection)] += 1

    event.listen(driver, "before_cursor_execute", note)
    before = counters.statements
    try:
        yield asked
    finally:
        event.remove(driver, "before_cursor_execute", note)
        asked[0] = counters.statements - before


async def sent(house: House, given: list[Answer]) -> tuple[Answer, int]:
    with counted(house) as asked:
        answer = await house.ask(BULK, given={"assessments": given})
    # What is announced meanwhile goes over a connection of its own.
    of_engine = asked.pop(0)
    return answer["recordAssessments"], max(asked.values()) + of_engine


async def test_a_thousand_records_take_as_many_statements_as_two(home: House, root: Path) -> None:
    pairs = write_pairs(root, slots=501)
    await home.take(root)

    few, of_two = await sent(home, pairs[:2])
    many, of_thousand = await sent(home, pairs[2:])
    await home.execute(WITHDRAWN)
    again, of_replaced = await sent(home, pairs[:1_000])
    differing, of_conflicts = await sent(home, [{**pair, "rationale": "Other."} for pair in pairs[:1_000]])

    assert (few["created"], many["created"], again["created"]) == (2, 1_000, 1_000)
    assert {len(outcome["assessment"]["history"]) for outcome in again["outcomes"]} == {3}
    assert differing["refused"] == 1_000
    assert of_two == of_thousand == of_replaced
    assert of_conflicts < of_two
    await home.assert_sound()
