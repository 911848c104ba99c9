from sqlalchemy import and_

from engine.graph import Connection, Node
from engine.mapping import Argument, backed, lookup, many, node, nodes, one
from resolvers import defects, overview, suites
from schema.access import AccessQueries
from schema.agents import Agent, Defect
from schema.assessments import Assessment
from schema.benchmarks import BenchmarkQueries
from schema.checks import CheckQueries
from schema.files import File
from schema.metrics import MetricQueries
from schema.overview import BenchmarkOverview
from schema.protocols import ProtocolQueries
from schema.reviews import ReviewQueries
from schema.runs import RunQueries
from schema.scalars import Sha256
from schema.suites import Attempt, Suite


@backed()
class Query(CheckQueries, ReviewQueries, ProtocolQueries, AccessQueries, BenchmarkQueries, MetricQueries, RunQueries):
    node: Node | None = node()
    nodes: list[Node | None] = nodes()
    agent: Agent | None = lookup(
        lambda agent, given: agent.c.agent_id == given["agent_id"],
        agent_id=Argument(str),
    )
    agents: Connection[Agent] = many()
    defect: Defect | None = lookup(
        lambda defect, given: and_(defect.c.defect_id == given["defect_id"], defects.is_of(defect, given["agent_id"])),
        agent_id=Argument(str),
        defect_id=Argument(str),
    )
    defects: Connection[Defect] = many()
    suite: Suite | None = lookup(
        lambda suite, given: suite.c.suite_id == given["suite_id"],
        suite_id=Argument(str),
    )
    suites: Connection[Suite] = many()
    attempt: Attempt | None = lookup(
        lambda attempt, given: and_(
            attempt.c.attempt_id == given["attempt_id"],
            suites.is_at(attempt, given["suite_id"], given["agent_id"], given["case_index"]),
        ),
        suite_id=Argument(str),
        agent_id=Argument(str),
        case_index=Argument(int),
        attempt_id=Argument(str),
    )
    attempts: Connection[Attempt] = many()
    assessments: Connection[Assessment] = many()
    benchmark_overview: BenchmarkOverview = one(rows=overview.overview)
    file: File | None = lookup(lambda file, given: file.c.sha256 == given["sha256"], sha256=Argument(Sha256))
