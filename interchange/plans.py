"""The plan of a Suite: which Cases of which agents it was to run, under a digest of its own."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from interchange.digests import digest_json
from interchange.documents import Object, object_at
from interchange.reading import Fault, Place
from models.base import ReasonCode
from resolvers.forms import LONGEST_IDENTITY, identity, instant, integer, mapping, objects, sha256, text

SCHEMA = "abb.suite.plan.v1"
MOST_CASES_OF_AGENT = 100_000
MOST_CASES = 1_000_000
_SUITE_ID = re.compile(rf"[A-Za-z0-9_-]{{1,{LONGEST_IDENTITY}}}")


@dataclass(frozen=True, slots=True)
class PlannedAgent:
    agent_id: str
    case_count: int
    source_sha256: str | None


@dataclass(frozen=True, slots=True)
class Plan:
    suite_id: str
    agents: list[PlannedAgent]
    provenance_sha256: str | None
    origin_suite_id: str | None
    created_at: datetime | None
    # The configured SDK, whatever was written there.
    sdk: Any

    def case_counts(self) -> dict[str, int]:
        return {agent.agent_id: agent.case_count for agent in self.agents}


def suite_identity(value: Any) -> str | None:
    return value if isinstance(value, str) and _SUITE_ID.fullmatch(value) else None


def parse_plan(place: Place, data: bytes) -> Plan:
    document = object_at(place, data)

    def fault(message: str) -> Fault:
        return place.fault(ReasonCode.UNAVAILABLE_SUITE, message)

    if document.get("schema") != SCHEMA:
        raise fault(f"schema must be {SCHEMA}")
    if (suite_id := suite_identity(document.get("suite_id"))) is None:
        raise fault("suite_id must be letters, digits, _ and -")
    if (agents := _agents(document.get("agents"))) is None:
        raise fault("agents must be distinct, each with agent_id, case_count and source_sha256, within the limits")
    if not isinstance(document.get("configuration"), dict):
        raise fault("configuration must be an object")
    origin = document.get("origin_suite_id")
    if origin is not None and text(origin) is None:
        raise fault("origin_suite_id must be nonempty text where it is given")
    if (provenance := _provenance(document)) is None:
        raise fault("provenance_sha256 must be the digest of agents and configuration")
    sdk = mapping(document.get("configuration")).get("sdk")
    return Plan(suite_id, agents, provenance, origin, instant(document.get("created_at")), sdk)


def within_limits(agents: list[PlannedAgent]) -> bool:
    return sum(agent.case_count for agent in agents) <= MOST_CASES


def case_count(value: Any) -> int | None:
    return integer(value, most=MOST_CASES_OF_AGENT)


def _agents(value: Any) -> list[PlannedAgent] | None:
    entries = objects(value, most=MOST_CASES)
    if entries is None:
        return None
    agents = [agent for entry in entries if (agent := _agent(entry))]
    is_sound = len(agents) == len(entries) == len({agent.agent_id for agent in agents})
    return agents if is_sound and within_limits(agents) else None


def _agent(entry: Object) -> PlannedAgent | None:
    agent_id, count, source = (
        identity(entry.get("agent_id")),
        case_count(entry.get("case_count")),
        entry.get("source_sha256"),
    )
    if agent_id is None or count is None or sha256(source) is None:
        return None
    return PlannedAgent(agent_id, count, source)


def _provenance(document: Object) -> str | None:
    try:
        digest = digest_json({"agents": document["agents"], "configuration": document["configuration"]})
    except ValueError:
        return None
    return digest if document.get("provenance_sha256") == digest else None
