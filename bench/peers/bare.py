"""The same answers by hand: a Starlette handler, asyncpg and one statement each."""

import sys

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bench.peers.running import run

AGENT = """
SELECT json_build_object(
    'id', encode(convert_to('Agent:' || id, 'UTF8'), 'base64'), 'agentId', agent_id, 'name', name,
    'framework', framework, 'keeper', keeper, 'sourceSha256', source_sha256
)
FROM agents
WHERE agent_id = $1
"""

NESTED = """
SELECT json_build_object('nodes', coalesce(json_agg(json_build_object(
    'agentId', agent.agent_id, 'name', agent.name, 'defects', defects.page
)), '[]'))
FROM (SELECT * FROM agents WHERE retired_at IS NULL AND listed ORDER BY id LIMIT $1) agent,
LATERAL (
    SELECT json_build_object('nodes', coalesce(json_agg(json_build_object(
        'id', encode(convert_to('Defect:' || defect.id, 'UTF8'), 'base64'), 'defectId', defect.defect_id,
        'title', defect.title, 'revision', defect.revision, 'assessments', assessments.page
    )), '[]')) AS page
    FROM (
        SELECT * FROM defects
        WHERE agent_pk = agent.id AND retired_at IS NULL AND agent.manifest_state <> 'INVALID'
        ORDER BY position, id LIMIT 10
    ) defect,
    LATERAL (
        SELECT json_build_object('nodes', coalesce(json_agg(json_build_object(
            'id', encode(convert_to('Assessment:' || assessment.id, 'UTF8'), 'base64'),
            'caseIndex', assessment.case_index, 'attemptId', assessment.attempt_id,
            'caseReproduced', assessment.case_reproduced, 'judgeDetected', assessment.judge_detected,
            'reviewedBy', assessment.reviewed_by, 'rationale', assessment.rationale, 'status', assessment.status
        )), '[]')) AS page
        FROM (
            SELECT * FROM assessments
            WHERE defect_pk = defect.id AND fault_code IS NULL AND NOT echo
            ORDER BY id LIMIT 5
        ) assessment
    ) assessments
) defects
"""

TABLE = """
SELECT json_build_object('rows', json_build_object('nodes', coalesce(json_agg(json_build_object(
    'id', encode(convert_to('Row:' || row.id, 'UTF8'), 'base64'), 'position', row.position, 'key', row.key,
    'input', row.input, 'expectedOutput', expected.output, 'cells', cells.list
) ORDER BY row.position), '[]')))
FROM (
    SELECT * FROM benchmark_rows
    WHERE benchmark_pk = (SELECT id FROM benchmarks WHERE name = $1) ORDER BY position LIMIT 100
) row,
LATERAL (
    SELECT json_build_object(
        'text', max(text), 'locked', coalesce(bool_or(locked), false),
        'origin', CASE
            WHEN count(*) FILTER (WHERE origin <> 'EMPTY') = 0 THEN 'EMPTY'
            WHEN bool_and(origin = 'AUTO') THEN 'AUTO' WHEN bool_and(origin = 'MANUAL') THEN 'MANUAL' ELSE 'MIXED'
        END,
        'revision', (
            SELECT coalesce(max(revision), 0) FROM expected_revisions WHERE expected_revisions.row_pk = row.id
        )
    ) AS output
    FROM expected_values WHERE row_pk = row.id
) expected,
LATERAL (
    SELECT coalesce(json_agg(json_build_object(
        'id', encode(convert_to('Cell:' || row.id || '-' || track.id, 'UTF8'), 'base64'),
        'status', coalesce(cell.status, 'EMPTY'), 'output', cell.output, 'latencyMs', cell.latency_ms,
        'inputTokens', cell.input_tokens, 'outputTokens', cell.output_tokens, 'cost', cell.cost::text
    ) ORDER BY track.position, track.id), '[]') AS list
    FROM tracks track LEFT JOIN cells cell ON cell.row_pk = row.id AND cell.track_pk = track.id
    WHERE track.benchmark_pk = row.benchmark_pk
) cells
"""


async def agent(request: Request) -> Response:
    text = await request.app.state.pool.fetchval(AGENT, request.path_params["agent_id"])
    return Response(f'{{"data":{{"agent":{text or "null"}}}}}', media_type="application/json")


async def nested(request: Request) -> Response:
    text = await request.app.state.pool.fetchval(NESTED, request.path_params["agents"])
    return Response(f'{{"data":{{"agents":{text}}}}}', media_type="application/json")


async def table(request: Request) -> Response:
    text = await request.app.state.pool.fetchval(TABLE, request.path_params["name"])
    return Response(f'{{"data":{{"benchmark":{text}}}}}', media_type="application/json")


if __name__ == "__main__":
    routes = [Route("/agent/{agent_id}", agent), Route("/nested/{agents:int}", nested), Route("/table/{name}", table)]
    run(routes, tuned="tuned" in sys.argv)
