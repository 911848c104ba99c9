"""How many answers a second: the service beside a handler by hand and a schema with DataLoaders."""

import json
import statistics
from collections.abc import Collection, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.request import Request, urlopen

from bench import serving
from bench.load import Target, requests_a_second
from bench.report import Figure

ROUNDS = 5
BARE, TUNED, SERVICE, LOADERS = "bare handler", "tuned handler", "service", "DataLoaders"
PEERS = {BARE: serving.BARE, TUNED: serving.TUNED, SERVICE: serving.SERVICE, LOADERS: serving.LOADERS}

AGENT = """query Agent($agentId: String!) {
  agent(agentId: $agentId) { id agentId name framework keeper sourceSha256 }
}"""

NESTED = """query Nested($first: Int!) {
  agents(first: $first) {
    nodes {
      agentId
      name
      defects(first: 10) {
        nodes {
          id
          defectId
          title
          revision
          assessments(first: 5) {
            nodes { id caseIndex attemptId caseReproduced judgeDetected reviewedBy rationale status }
          }
        }
      }
    }
  }
}"""

TABLE = """query Table($name: String!) {
  benchmark(name: $name) {
    rows(first: 100) {
      nodes {
        id
        position
        key
        input
        expectedOutput { text origin locked revision }
        cells { id status output latencyMs inputTokens outputTokens cost }
      }
    }
  }
}"""


@dataclass(frozen=True)
class Shape:
    """One question in two spellings, and the shares of the handlers' rates that the service has to reach."""

    name: str
    least: float
    path: str
    query: str
    variables: Mapping[str, object]
    least_of_tuned: float | None = None
    peers: Collection[str] = (BARE, TUNED, SERVICE, LOADERS)

    def target(self, peer: str, address: str) -> Target:
        if peer in (BARE, TUNED):
            return Target(address + self.path)
        return Target(f"{address}/graphql", {"query": self.query, "variables": self.variables})


SHAPES = (
    Shape("point look-up", 0.5, "/agent/agent-7", AGENT, {"agentId": "agent-7"}, least_of_tuned=0.5),
    # Within five per cent of 0.9.
    Shape("nested, 200 KB", 0.855, "/nested/16", NESTED, {"first": 16}),
    Shape("100 rows of a table", 0.9, "/table/table", TABLE, {"name": "table"}, peers=(BARE, TUNED, SERVICE)),
)


def answer(target: Target) -> bytes:
    body = None if target.body is None else target.body.encode()
    request = Request(target.url, body, {"Content-Type": "application/json", "Accept": "application/json"})  # noqa: S310
    with urlopen(request) as response:  # noqa: S310
        content: bytes = response.read()
        return content


def require_equal(targets: Mapping[str, Target]) -> int:
    """All answer alike, or there is nothing to compare; gives the size of the answer."""
    answers = {peer: answer(target) for peer, target in targets.items()}
    expected = json.loads(answers[BARE])
    for peer, content in answers.items():
        if json.loads(content) != expected:
            raise AssertionError(f"{peer} answers otherwise than the {BARE}: {content[:300]!r}")
    return len(answers[SERVICE])


def measured(targets: Mapping[str, Target], seconds: float) -> dict[str, float]:
    """The median of several rounds, in each of which all are asked, in alternating order."""
    for target in targets.values():
        requests_a_second(target, 1)
    rates: dict[str, list[float]] = {peer: [] for peer in targets}
    for number in range(ROUNDS):
        for peer in list(targets)[:: 1 if number % 2 else -1]:
            rates[peer].append(requests_a_second(targets[peer], seconds))
    return {peer: statistics.median(rate) for peer, rate in rates.items()}


def compare(dsn: str, directory: Path, seconds: float) -> list[Figure]:
    with ExitStack() as stack:
        addresses = {
            peer: stack.enter_context(serving.process(command, dsn, directory)) for peer, command in PEERS.items()
        }
        return [figure for shape in SHAPES for figure in figures(shape, addresses, seconds)]


def figures(shape: Shape, addresses: Mapping[str, str], seconds: float) -> list[Figure]:
    targets = {peer: shape.target(peer, addresses[peer]) for peer in shape.peers}
    size = require_equal(targets)
    rates = measured(targets, seconds)
    what, leasts = f"{shape.name} ({size:,} B)", {SERVICE: shape.least}
    beside_bare = [
        Figure(what, peer, f"{rate:,.0f}/s", rate / rates[BARE], least=leasts.get(peer)) for peer, rate in rates.items()
    ]
    of_tuned = rates[SERVICE] / rates[TUNED]
    return [*beside_bare, Figure(what, f"{SERVICE} / {TUNED}", "", of_tuned, least=shape.least_of_tuned)]
