"""What is asked of a database at size: the overview, and pages that must not cost more the more rows there are."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

ASSESSMENT = "id agentId defectId caseReproduced judgeDetected reviewedBy reviewedAt status reason"

OVERVIEW = """{
  benchmarkOverview {
    totals { suiteCount agentCount caseCount completedCaseCount }
    groundTruth {
      status defectCount assessedDefectCount caseReproducedCount discoveredDefectCount assessmentCount discoveryRate
      judgeRecall { numerator denominator value lower upper }
    }
    agents(first: 10) { nodes { agentId suiteCount caseCount groundTruth { status defectCount discoveryRate } } }
    evaluators { evaluator totals { suiteCount } groundTruth { status defectCount discoveryRate } }
    warnings { code message agentId suiteId }
  }
}"""


PAGE = 2_000
"""The most blocks of 8 KB that an answer found by index may look at, whatever the size of the tables."""

PAIRS = 250_000
"""What may be looked at where the cost follows the pairs of defect and Suite, of which there are 200,000."""


@dataclass(frozen=True)
class Question:
    """`start` is a filter whose first row is where the page begins: the way to a place deep in a list."""

    name: str
    text: str
    variables: Mapping[str, Any] = field(default_factory=dict)
    start: Mapping[str, Any] | None = None
    most: int = PAGE


def page(
    root: str,
    name: str,
    select: str,
    *,
    where: Mapping[str, Any] | None = None,
    order: str | None = None,
    direction: str = "ASC",
    last: bool = False,
    start: Mapping[str, Any] | None = None,
    most: int = PAGE,
) -> Question:
    kind = root[0].upper() + root[1:-1]
    ordered = f"orderBy: [{{field: {order}, direction: {direction}}}]" if order else ""
    size, cursor = ("last", "before") if last else ("first", "after")
    text = f"""query Page($where: {kind}Filter, $size: Int!, $cursor: String) {{
  {root}({size}: $size, {cursor}: $cursor, where: $where {ordered}) {{
    nodes {{ {select} }}
    pageInfo {{ hasNextPage hasPreviousPage startCursor endCursor }}
  }}
}}"""
    return Question(name, text, {"size": 50, "where": where}, start, most)


def assessments(name: str, **options: Any) -> Question:
    return page("assessments", name, ASSESSMENT, **options)


def equal(**fields: Any) -> dict[str, Any]:
    return {name: {"eq": value} for name, value in fields.items()}


EARLY = {"reviewedAt": {"lt": "2026-01-28T00:00:00Z"}}
MONTH = {"reviewedAt": {"gte": "2026-02-01T00:00:00Z", "lt": "2026-03-01T00:00:00Z"}}

QUESTIONS = (
    Question("overview", OVERVIEW, most=PAIRS),
    Question(
        "overview with what was refused",
        "{benchmarkOverview {groundTruth {assessmentCount warnings {code}}}}",
        most=PAIRS,
    ),
    assessments("assessments, first page"),
    assessments("assessments, deep page", start=equal(agentId="agent-500")),
    assessments("assessments, newest first", order="REVIEWED_AT", direction="DESC"),
    assessments("assessments, oldest first", order="REVIEWED_AT"),
    assessments("assessments by review, deep page", order="REVIEWED_AT", direction="DESC", start=EARLY),
    assessments("assessments by review, deep page backward", order="REVIEWED_AT", last=True, start=EARLY),
    assessments("refused", where=equal(status="REFUSED")),
    assessments("refused, newest first", where=equal(status="REFUSED"), order="REVIEWED_AT", direction="DESC"),
    assessments("withdrawn", where=equal(status="WITHDRAWN")),
    assessments("accepted, newest first", where=equal(status="ACCEPTED"), order="REVIEWED_AT", direction="DESC"),
    assessments("refused for a reason", where=equal(reason="STALE_REVISION")),
    assessments("refused for a reason nobody has", where=equal(reason="UNKNOWN_AGENT")),
    assessments("of an agent", where=equal(agentId="agent-500")),
    assessments("of an agent, newest first", where=equal(agentId="agent-500"), order="REVIEWED_AT", direction="DESC"),
    assessments("of an agent nobody knows", where=equal(agentId="nobody")),
    assessments("of a defect", where=equal(agentId="agent-500", defectId="defect-7")),
    assessments("of a defect's title", where={"defect": equal(title="Defect 7 of Agent 500")}),
    assessments("of a Suite", where={"suite": equal(suiteId="suite-50")}),
    assessments(
        "of a Suite, newest first",
        where={"suite": equal(suiteId="suite-50")},
        order="REVIEWED_AT",
        direction="DESC",
    ),
    assessments("of a Suite, refused", where={"suite": equal(suiteId="suite-50"), **equal(status="REFUSED")}),
    assessments("of an evaluator, newest", where={"suite": equal(evaluator="kuma")}, order="REVIEWED_AT"),
    assessments("of an Attempt", where=equal(attemptId="attempt-20000-1")),
    assessments("of an Attempt nobody made", where=equal(attemptId="nothing")),
    assessments("of a reviewer", where=equal(reviewedBy="reviewer-3")),
    assessments("of a reviewer, newest", where=equal(reviewedBy="reviewer-3"), order="REVIEWED_AT", direction="DESC"),
    # A reviewer's name may be longer than an index holds, so nothing says that there are none.
    assessments("of a reviewer nobody knows", where=equal(reviewedBy="nobody"), most=PAIRS),
    assessments("detected", where=equal(judgeDetected=True)),
    assessments("undecided by the Judge", where={"judgeDetected": {"isNull": True}}),
    assessments("of a month, oldest first", where=MONTH, order="REVIEWED_AT"),
    # In the order of creation: what came before that month is passed over.
    assessments("of a month", where=MONTH, most=PAIRS),
    assessments("by record, newest first", order="RECORDED_AT", direction="DESC"),
    assessments("kept by trees", where=equal(keeper="TREE")),
    page("suites", "suites", "suiteId state caseCount completedCaseCount", order="CREATED_AT", direction="DESC"),
    page("attempts", "attempts", "attemptId attemptNumber executionStatus reviewable"),
    page("attempts", "attempts, newest first", "attemptId reviewable", order="STARTED_AT", direction="DESC"),
    page("attempts", "attempts, deep page", "attemptId", start=equal(attemptId="attempt-20000-1")),
    page(
        "attempts",
        "attempts, newest first, deep page",
        "attemptId",
        order="STARTED_AT",
        direction="DESC",
        start={"startedAt": {"lt": "2026-01-10T00:00:00Z"}},
    ),
    page("attempts", "attempts that can be reviewed", "attemptId", where=equal(reviewable=True)),
    page("attempts", "attempts of a Suite", "attemptId", where={"case": {"suite": equal(suiteId="suite-50")}}),
    page(
        "attempts",
        "attempts of a Suite, newest first",
        "attemptId",
        where={"case": {"suite": equal(suiteId="suite-50")}},
        order="STARTED_AT",
        direction="DESC",
    ),
    page("attempts", "attempts by name", "attemptId", where=equal(attemptId="attempt-20000-1")),
    page("defects", "defects", "defectId title status assessmentCount"),
    page("defects", "defects by title", "defectId title status", order="TITLE"),
    page("defects", "defects by status", "defectId title status", order="STATUS", most=PAIRS),
    page("defects", "defects discovered", "defectId title", where=equal(status="DISCOVERED")),
    page("defects", "defects of an agent", "defectId title", where={"agent": equal(agentId="agent-500")}),
    page("agents", "agents", "agentId name groundTruth { status defectCount discoveryRate }", most=20_000),
    page("agents", "agents by status", "agentId", where=equal(groundTruthStatus="PARTIALLY_ASSESSED"), most=PAIRS),
    Question(
        "nested connections",
        "{agents(first: 20) {nodes {agentId defects(first: 10) {nodes {defectId status"
        " assessments(first: 5, orderBy: [{field: REVIEWED_AT, direction: DESC}])"
        " {totalCount nodes {id status reviewedAt}}}}}}}",
        # Counting the fifty records of each of 200 defects.
        most=20_000,
    ),
    Question(
        "a Suite with its Cases",
        '{suite(suiteId: "suite-50") {caseCount cases(first: 50) {totalCount nodes {agentId caseIndex'
        " attempts {nodes {attemptId reviewable assessments(first: 5) {nodes {defectId status}}}}}}}}",
    ),
    Question("Suites of an agent", '{agent(agentId: "agent-500") {suites(first: 20) {totalCount nodes {suiteId}}}}'),
    Question(
        "review queue",
        "{reviewQueue(first: 20) {nodes {defect {defectId} attempt {attemptId} assessment {id}}"
        " pageInfo {hasNextPage endCursor}}}",
    ),
    Question(
        "review queue of an agent",
        '{reviewQueue(first: 20, agentId: "agent-500") {nodes {defect {defectId} attempt {attemptId}}}}',
        most=20_000,
    ),
    Question("review queue of an agent, counted", '{reviewQueue(agentId: "agent-500") {totalCount}}', most=20_000),
)
