-- A database at size. `size` holds one row: agents, defects of each agent, Suites, agents in each Suite.
-- An agent of a Suite has four Cases, the first of them with a retry; every Attempt is assessed for each defect.
SET synchronous_commit = off;

CREATE FUNCTION pg_temp.digest(words text) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT encode(sha256(words::bytea), 'hex') $$;

CREATE FUNCTION pg_temp.instant(minutes bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS
$$ SELECT timestamptz '2026-01-01 00:00+00' + minutes * interval '1 minute' $$;

INSERT INTO agents (agent_id, name, framework, source_sha256, keeper, manifest_state, listed, created_at, updated_at)
SELECT
    'agent-' || n, 'Agent ' || n, (ARRAY['langgraph', 'crewai', 'adk'])[1 + n % 3], pg_temp.digest('source ' || n),
    'API', 'MISSING', true, pg_temp.instant(n), pg_temp.instant(n)
FROM size, generate_series(1, size.agents) n;

INSERT INTO files (sha256, size) VALUES (pg_temp.digest('evidence'), 8);

BEGIN;
INSERT INTO defects (
    agent_pk, defect_id, position, title, expected_behavior, observed_behavior, confirmed_by, confirmed_at,
    source_sha256, case_sha256, ground_truth_sha256, revision, keeper
)
SELECT
    agents.id, 'defect-' || n, n, 'Defect ' || n || ' of ' || agents.name, 'It answers from the document.',
    'It answers from memory.', 'reviewer-' || n % 5, pg_temp.instant(agents.id * 20 + n), agents.source_sha256,
    pg_temp.digest('case ' || n), pg_temp.digest(format('record %s %s', agents.id, n)), 1, 'API'
FROM size, agents, generate_series(1, size.defects) n;
INSERT INTO defect_revisions (defect_pk, revision, ground_truth_sha256, record, recorded_by)
SELECT id, revision, ground_truth_sha256, json_build_object('id', defect_id, 'title', title), confirmed_by FROM defects;
INSERT INTO observations (revision_pk, position, observation_id, case_sha256, evidence_path, evidence_sha256)
SELECT
    defect_revisions.id, n, 'run-' || n, defects.case_sha256, format('observations/%s/run-%s.json', defects.id, n),
    pg_temp.digest('evidence')
FROM defect_revisions JOIN defects ON defects.id = defect_pk, generate_series(1, 2) n;
COMMIT;

INSERT INTO suites (
    suite_id, state, provenance, provenance_sha256, source_status, sdk, sdks, configured_sdk, provider_modes, evidence,
    evaluator, keeper, content_sha256, created_at, imported_at
)
SELECT
    'suite-' || n, 'COMPLETE', 'CANONICAL', pg_temp.digest('provenance ' || n), 'RECORDED', sdk, ARRAY[sdk], sdk,
    '{}', 'PLAN', sdk, 'API', pg_temp.digest('content ' || n), pg_temp.instant(n * 1440), pg_temp.instant(n * 1440 + 60)
FROM size, generate_series(1, size.suites) n, LATERAL (SELECT (ARRAY['kuma', 'local'])[1 + n % 2] AS sdk) named;

INSERT INTO suite_agents (suite_pk, agent_id, position, source_sha256, case_count, completed_case_count)
SELECT suites.id, agents.agent_id, n, agents.source_sha256, 4, 4
FROM size, suites, generate_series(1, size.agents_in_suite) n
JOIN agents ON true
WHERE agents.id = 1 + (suites.id * size.agents_in_suite + n) % size.agents
ORDER BY suites.id, n;

INSERT INTO cases (suite_pk, agent_id, case_index, case_id, artifact_path, artifact_sha256, execution_status)
SELECT
    suite_pk, agent_id, n, 'case-' || n, format('cases/%s/%s/case.json', agent_id, n),
    pg_temp.digest(format('artifact %s %s', agent_id, n)), 'completed'
FROM suite_agents, generate_series(0, 3) n
ORDER BY suite_pk, position, n;

INSERT INTO attempts (
    case_pk, attempt_id, attempt_number, position, execution_status, judge_status, report, has_report, result,
    result_sha256, host_acceptance, evidence_status, host_trace_validation, started_at, finished_at
)
SELECT
    cases.id, format('attempt-%s-%s', cases.id, n), n, n, 'completed', 'pass', '{"status": "pass"}', true,
    json_build_object('status', 'succeeded', 'output', repeat('word ', 40)),
    pg_temp.digest(format('result %s %s', cases.id, n)), 'accepted', 'complete', 'passed',
    pg_temp.instant(cases.id * 2 + n), pg_temp.instant(cases.id * 2 + n + 1)
FROM cases, LATERAL generate_series(1, CASE WHEN case_index = 0 THEN 2 ELSE 1 END) n
ORDER BY cases.id, n;

-- The statistics of an empty table would have these joins planned by loops.
ANALYZE;

-- An index is made faster than it is kept.
CREATE TEMPORARY TABLE put_aside AS
SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'assessments' AND indexdef NOT LIKE 'CREATE UNIQUE%';

DO $$
DECLARE name text;
BEGIN
    FOR name IN SELECT indexname FROM put_aside LOOP EXECUTE format('DROP INDEX %I', name); END LOOP;
END $$;

-- Of a hundred records two are stale and one was withdrawn.
INSERT INTO assessments (
    suite_pk, agent_id, case_index, attempt_id, defect_id, defect_pk, attempt_pk, ground_truth_sha256, case_sha256,
    result_sha256, case_reproduced, judge_detected, reviewed_by, reviewed_at, rationale, status, reason, echo, trial,
    keeper, version, recorded_by, recorded_at
)
SELECT
    cases.suite_pk, cases.agent_id, cases.case_index, attempts.attempt_id, defects.defect_id, defects.id, attempts.id,
    CASE lot WHEN 0 THEN pg_temp.digest('an older record') WHEN 1 THEN pg_temp.digest('an older record')
        ELSE defects.ground_truth_sha256 END,
    cases.artifact_sha256, attempts.result_sha256,
    chance < 4, CASE WHEN chance = 9 THEN NULL ELSE chance < 2 END,
    'reviewer-' || lot % 7, attempts.finished_at + (1 + defects.position) * interval '1 second', 'As the report says.',
    CASE lot WHEN 0 THEN 'REFUSED' WHEN 1 THEN 'REFUSED' WHEN 2 THEN 'WITHDRAWN' ELSE 'ACCEPTED' END,
    CASE WHEN lot < 2 THEN 'STALE_REVISION' END, false, false, 'API', 1, 'local',
    attempts.finished_at + (2 + defects.position) * interval '1 second'
FROM attempts
JOIN cases ON cases.id = attempts.case_pk
JOIN agents ON agents.agent_id = cases.agent_id
JOIN defects ON defects.agent_pk = agents.id,
LATERAL (SELECT mod(hashint8(attempts.id * 31 + defects.id)::bigint + 2147483648, 100) AS lot) lots,
LATERAL (SELECT mod(hashint8(attempts.id * 7 + defects.id)::bigint + 2147483648, 10) AS chance) chances
ORDER BY attempts.id, defects.id;

DO $$
DECLARE definition text;
BEGIN
    FOR definition IN SELECT indexdef FROM put_aside LOOP EXECUTE definition; END LOOP;
END $$;

VACUUM ANALYZE;
