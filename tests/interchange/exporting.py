"""What tests of exports have in common: a tree of many styles, and what the API adds to it."""

import json
from pathlib import Path
from typing import Any

from interchange.digests import digest_json
from resolvers.confirming import confirm, register
from tests.interchange.building import (
    MANIFEST,
    SIDECAR,
    SOURCE,
    assessment,
    defect,
    manifest_of,
    sidecar_of,
    write,
    write_suite,
    write_unit,
)
from tests.interchange.holding import Holding


def write_tree(root: Path) -> Path:
    """An agent, a defect, a Suite and a decision, each document written in a style of its own."""
    write_unit(root)
    document = manifest_of(defect(cost=1e5, big=12345678901234567890123), owner={"b": 1, "a": 2})
    write(root / MANIFEST, json.dumps(document, indent=7))
    write_suite(root)
    write(root / SIDECAR, json.dumps(sidecar_of(record(), note="kept"), indent=1))
    return root


def record(**changes: Any) -> Any:
    bound = digest_json(defect(cost=1e5, big=12345678901234567890123))
    return assessment(**{"ground_truth_sha256": bound, "colour": "blue", **changes})


async def decide(holding: Holding, defect_id: str = "defect-0") -> None:
    [decision] = [each for each in await holding.waiting() if each.defect_id == defect_id]
    [outcome] = await holding.decide(decision)
    assert outcome.error is None


async def confirmed(holding: Holding, defect_id: str = "new", agent_id: str = "alpha", **changes: Any) -> None:
    finding = await holding.finding(defect_id, **changes)
    async with holding.acting() as acting:
        await confirm(acting, agent_id, defect_id, finding)


async def registered(holding: Holding, agent_id: str, name: str | None = None, framework: str | None = None) -> None:
    async with holding.acting() as acting:
        await register(acting, agent_id, name, framework)


def plan_agent(agent_id: str) -> Any:
    return {"agent_id": agent_id, "case_count": 1, "source_sha256": SOURCE}


def read(path: Path) -> Any:
    return json.loads(path.read_bytes())
