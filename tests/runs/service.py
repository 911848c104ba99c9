"""A service with a worker, as a client of its GraphQL sees it, and a benchmark whose models a test provider plays."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from server.app import create_app
from server.settings import Settings
from tests.live import serving
from tests.provider import Provider

PATIENCE = 60

CELL = "id status output fields error { kind message attempts } cost latencyMs updatedAt run { id } track { id }"
SCORE = "id variable status number boolean text reason rawReply stale cost metric { name }"
RUN = (
    "id status cost unpricedCalls maxCost startedBy createdAt startedAt finishedAt"
    " generation { trackNames scope cellCount } evaluation { metricNames scope scoreCount }"
    " progress { total done succeeded failed cancelled outOfBudget remaining captured lockedSkipped etaSeconds }"
)
ITEMS = "items(first: 500) { nodes { id status attempts error { kind message attempts } captured cost cell { id } } }"
TABLE = f"""
query ($id: ID!) {{ node(id: $id) {{ ... on Benchmark {{
  id version sourceTrack {{ id }}
  summary {{ tracks {{ track {{ id }} succeeded failed empty scores {{
    metric {{ name }} variable scored failed skipped missing stale average countTrue
  }} }} }}
  rows(first: 500) {{ nodes {{
    id input expectedOutput {{ revision text origin locked fields {{ name value origin locked }} sourceTrack {{ id }} }}
    cells {{ {CELL} pending {{ id status }} scores {{ {SCORE} }} }}
  }} }}
}} }} }}
"""

Answer = dict[str, Any]


class Refused(Exception):
    """The mutation answered something else than its payload."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(str(answer))
        self.answer = answer
        self.kind: str = answer["__typename"]


@dataclass(frozen=True, slots=True)
class Service:
    client: httpx.AsyncClient

    async def ask(self, query: str, **variables: Any) -> Answer:
        response = await self.client.post("/graphql", json={"query": query, "variables": variables})
        body = response.json()
        assert "errors" not in body, body["errors"]
        data: Answer = body["data"]
        return data

    async def act(self, mutation: str, selection: str, **given: Any) -> Answer:
        """What is selected of the payload; raises Refused for anything else."""
        name = mutation[0].upper() + mutation[1:]
        error = "... on Error { message }"
        if mutation == "startRun":
            error += " ... on RunInProgress { run { id } } ... on InvalidInput { path } ... on NotFound { lost: path }"
        query = (
            f"mutation ($input: {name}Input!) {{ {mutation}(input: $input)"
            f" {{ __typename ... on {name}Payload {{ {selection} }} {error} }} }}"
        )
        answer: Answer = (await self.ask(query, input=given))[mutation]
        if answer["__typename"] != f"{name}Payload":
            raise Refused(answer)
        return answer

    async def send(self, data: bytes) -> str:
        response = await self.client.post("/files", content=data)
        sha256: str = response.json()["sha256"]
        return sha256


@dataclass
class Bench:
    """A benchmark with models named after its tracks, all played by one provider."""

    service: Service
    provider: Provider
    id: str
    models: list[str] = field(default_factory=list)
    tracks: list[str] = field(default_factory=list)
    rows: list[str] = field(default_factory=list)

    async def table(self) -> Answer:
        found: Answer = (await self.service.ask(TABLE, id=self.id))["node"]
        return found

    async def cells(self, track: int = 0) -> list[Answer]:
        rows = (await self.table())["rows"]["nodes"]
        return [next(cell for cell in row["cells"] if cell["track"]["id"] == self.tracks[track]) for row in rows]

    async def add_metric(self, name: str, kind: str, **given: Any) -> str:
        made = await self.service.act("createMetric", "metric { id }", name=name, kind=kind, **given)
        metric: str = made["metric"]["id"]
        return metric

    async def set_metrics(self, *metrics: str) -> None:
        version = (await self.table())["version"]
        await self.service.act(
            "setBenchmarkMetrics",
            "benchmark { id }",
            benchmarkId=self.id,
            metricIds=list(metrics),
            expectedVersion=version,
        )

    async def start(self, **given: Any) -> str:
        started = await self.service.act("startRun", "run { id } created", benchmarkId=self.id, **given)
        run: str = started["run"]["id"]
        return run

    async def generate(self, scope: str = "ALL", *, tracks: Sequence[int] | None = None, **given: Any) -> Answer:
        """A whole run of generation, to its end."""
        chosen = self.tracks if tracks is None else [self.tracks[place] for place in tracks]
        more = {name: given.pop(name) for name in ("rowIds", "cells") if name in given}
        return await self.run(generation={"trackIds": chosen, "scope": scope, **more}, **given)

    async def evaluate(self, scope: str = "ALL", **given: Any) -> Answer:
        more = {name: given.pop(name) for name in ("rowIds", "cells", "trackIds", "metricIds") if name in given}
        return await self.run(evaluation={"scope": scope, **more}, **given)

    async def run(self, **given: Any) -> Answer:
        return await self.ended(await self.start(**given))

    async def ended(self, run: str) -> Answer:
        async with asyncio.timeout(PATIENCE):
            while True:
                found = await self.look(run)
                if found["finishedAt"] is not None:
                    return found
                await asyncio.sleep(0.05)

    async def look(self, run: str) -> Answer:
        found: Answer = (
            await self.service.ask(f"query ($id: ID!) {{ node(id: $id) {{ ... on Run {{ {RUN} {ITEMS} }} }} }}", id=run)
        )["node"]
        return found


@asynccontextmanager
async def service(dsn: str, directory: Path, **settings: Any) -> AsyncIterator[Service]:
    app = create_app(Settings(data_dir=directory, **settings), dsn)
    async with serving(app) as host, httpx.AsyncClient(base_url=f"http://{host}", timeout=30) as client:
        yield Service(client)


async def made(
    service: Service,
    provider: Provider,
    *,
    tracks: Sequence[str] = ("one", "two"),
    inputs: Sequence[str] = ("What is 1?", "What is 2?"),
    model: Mapping[str, Any] | None = None,
    **benchmark: Any,
) -> Bench:
    """Prices are a dollar per million tokens either way, unless `model` says otherwise."""
    given = {"name": "table", "kind": "CONVERSATION", "autoCapture": True, **benchmark}
    bench = Bench(
        service, provider, (await service.act("createBenchmark", "benchmark { id }", **given))["benchmark"]["id"]
    )
    for name in tracks:
        settings = {"inputPrice": "1", "outputPrice": "1", "baseUrl": provider.base_url, **(model or {})}
        asked = {"name": name, "provider": "openai", "modelName": name, **settings}
        bench.models.append((await service.act("createModel", "model { id }", **asked))["model"]["id"])
        track = await service.act("addTrack", "track { id }", benchmarkId=bench.id, modelId=bench.models[-1], name=name)
        bench.tracks.append(track["track"]["id"])
    added = await service.act("addRows", "rows { id }", benchmarkId=bench.id, rows=[{"input": each} for each in inputs])
    bench.rows = [row["id"] for row in added["rows"]]
    return bench
