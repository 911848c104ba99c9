-- A conversation and an automation with answers, ground truth, metrics, scores and runs, with nulls and ties in all of it.
INSERT INTO models (name, provider, model_name, input_price, max_concurrency, version)
VALUES ('small', 'openai', 's', 0.15, 8, 1), ('judge', 'anthropic', 'j', NULL, 2, 3);

INSERT INTO benchmarks (name, kind, auto_capture, description, version, created_at, updated_at)
VALUES ('talk', 'CONVERSATION', true, NULL, 3, '2026-02-01T10:00:00Z', '2026-02-02T10:00:00Z'),
       ('forms', 'AUTOMATION', false, 'a form', 1, '2026-02-01T10:00:00Z', '2026-02-03T10:00:00.25Z');
INSERT INTO benchmark_fields (benchmark_pk, name, position, type) VALUES (2, 'total', 0, 'NUMBER'), (2, 'note', 1, 'STRING');
INSERT INTO tracks (benchmark_pk, position, name, model_pk, temperature, version)
VALUES (1, 0, 'first', 1, 0.5, 1), (1, 1, 'second', 2, NULL, 1), (2, 0, 'first', 1, NULL, 2);
UPDATE benchmarks SET source_track_pk = CASE id WHEN 1 THEN 1 ELSE 3 END;
INSERT INTO benchmark_rows (benchmark_pk, position, key, input, version)
VALUES (1, 0, 'a', 'Hello?', 1), (1, 1, NULL, 'Who is there?', 2), (1, 2, 'b', '', 1), (2, 0, 'a', 'Read it.', 1);

INSERT INTO runs (benchmark_pk, status, generation_scope, evaluation_scope, cell_count, score_count, max_cost, cost, unpriced_calls, started_by, created_at, started_at, finished_at)
VALUES (1, 'RUNNING', 'ALL', NULL, 6, 0, 1.5, 0, 0, 'olga', '2026-02-04T10:00:00Z', '2026-02-04T10:00:01Z', NULL),
       (1, 'RUNNING', 'EMPTY_AND_FAILED', 'MISSING', 2, 3, NULL, 0.001, 1, 'olga', '2026-02-04T10:00:00Z', '2026-02-04T10:00:01Z', NULL),
       (2, 'QUEUED', NULL, 'STALE', 0, 1, NULL, 0, 0, 'ann', '2026-02-05T10:00:00Z', NULL, NULL);

INSERT INTO cells (row_pk, track_pk, status, output, fields, error_kind, error_message, error_attempts, latency_ms, input_tokens, output_tokens, cost, run_pk, revision, updated_at)
VALUES (1, 1, 'SUCCEEDED', 'Hello!', NULL, NULL, NULL, NULL, 120, 10, 3, 0.0001, 2, 2, '2026-02-04T10:00:02Z'),
       (1, 2, 'FAILED', NULL, NULL, 'TIMEOUT', 'too late', 3, NULL, NULL, NULL, NULL, 2, 1, '2026-02-04T10:00:02Z'),
       (2, 1, 'SUCCEEDED', 'Me.', NULL, NULL, NULL, NULL, 80, NULL, 2, NULL, NULL, 1, '2026-02-04T09:00:00Z'),
       (2, 2, 'EMPTY', NULL, NULL, NULL, NULL, NULL, 70, 5, 0, 0, NULL, 1, '2026-02-04T09:00:00Z'),
       (4, 3, 'SUCCEEDED', NULL, '{"total":1.0,"note":null}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 4, '2026-02-04T09:00:00Z');

SELECT set_config('assay.recorder', 'ann', false), set_config('assay.actor', 'ann', false);
SELECT set_config('assay.change', 'CAPTURED', false);
INSERT INTO expected_values (row_pk, field, text, value, origin, locked, source_track_pk, edited_revision)
VALUES (1, '', 'Hello!', NULL, 'AUTO', false, 1, 0), (2, '', 'Me.', NULL, 'AUTO', false, 1, 0),
       (4, 'total', NULL, '1.0', 'AUTO', false, 3, 0);
SELECT set_config('assay.change', 'EDITED', false);
UPDATE expected_values SET text = 'It is me.', origin = 'MANUAL', locked = true, source_track_pk = NULL,
       edited_by = 'ann', edited_at = '2026-02-05T00:00:00Z', edited_revision = 2 WHERE row_pk = 2;
INSERT INTO expected_values (row_pk, field, value, origin, locked, edited_by, edited_at, edited_revision)
VALUES (4, 'note', '"as read"', 'MANUAL', true, 'ann', '2026-02-05T00:00:00Z', 2);

INSERT INTO metrics (name, description, kind, options, judge_model_pk, judge_prompt, version)
VALUES ('same', NULL, 'EXACT_MATCH', '{}', NULL, NULL, 1), ('taste', 'of a judge', 'LLM_JUDGE', '{}', 2, '{agent_response}?', 2),
       ('spare', NULL, 'CONTAINS', '{"caseSensitive":true}', NULL, NULL, 1);
INSERT INTO metric_variables (metric_pk, name, position, type, description, minimum, maximum, aggregation)
VALUES (1, 'value', 0, 'BOOLEAN', NULL, NULL, NULL, 'COUNT_TRUE'), (2, 'tone', 0, 'TEXT', 'in a word', NULL, NULL, NULL),
       (2, 'fit', 1, 'NUMBER', NULL, 0, 1, 'AVERAGE'), (3, 'value', 0, 'BOOLEAN', NULL, NULL, NULL, 'COUNT_TRUE');
INSERT INTO benchmark_metrics (benchmark_pk, metric_pk, position) VALUES (1, 2, 0), (1, 1, 1), (2, 1, 0);
INSERT INTO scores (row_pk, track_pk, metric_pk, variable, status, number, boolean, text, reason, raw_reply, cost, cell_revision, expected_revision, metric_version, computed_at)
VALUES (1, 1, 1, 'value', 'SCORED', NULL, true, NULL, NULL, NULL, NULL, 2, 1, 1, '2026-02-04T11:00:00Z'),
       (1, 1, 2, 'fit', 'SCORED', 0.75, NULL, NULL, NULL, NULL, 0.0002, 2, NULL, 2, '2026-02-04T11:00:00Z'),
       (1, 1, 2, 'tone', 'SCORED', NULL, NULL, 'kind', NULL, NULL, NULL, 2, NULL, 1, '2026-02-04T11:00:00Z'),
       (2, 1, 1, 'value', 'SCORED', NULL, false, NULL, NULL, NULL, NULL, 1, 1, 1, '2026-02-04T11:00:00Z'),
       (2, 1, 2, 'fit', 'SCORED', 0.25, NULL, NULL, NULL, NULL, NULL, 1, NULL, 2, '2026-02-04T11:00:00Z'),
       (2, 2, 1, 'value', 'SKIPPED', NULL, NULL, NULL, 'no output', NULL, NULL, 1, 2, 1, '2026-02-04T11:00:00Z'),
       (2, 2, 2, 'fit', 'FAILED', NULL, NULL, NULL, 'no number', 'much', NULL, 1, NULL, 2, '2026-02-04T11:00:00Z'),
       (4, 3, 1, 'value', 'SCORED', NULL, true, NULL, NULL, NULL, NULL, 3, 2, 1, '2026-02-04T11:00:00Z');

INSERT INTO run_tracks (run_pk, position, track_pk, name, model_pk, provider, model_name)
VALUES (1, 0, 2, 'second', 2, 'anthropic', 'j'), (1, 1, 1, 'first', 1, 'openai', 's'), (2, 0, 1, 'first', 1, 'openai', 's'),
       (2, 1, NULL, 'gone', 1, 'openai', 's');
INSERT INTO run_metrics (run_pk, position, metric_pk, name) VALUES (2, 0, 2, 'taste'), (2, 1, NULL, 'gone'), (2, 2, 1, 'same'), (3, 0, 1, 'same');
INSERT INTO run_items (run_pk, row_pk, track_pk, generates, stage, metric_pks, scored_pks, status, deaths, attempts, error_kind, error_message, captured, locked_skipped, cost, unpriced_calls, started_at, finished_at)
VALUES (1, 3, 1, true, 'GENERATE', '{}', '{}', 'QUEUED', 0, 0, NULL, NULL, false, false, NULL, 0, NULL, NULL),
       (1, 3, 2, true, 'GENERATE', '{}', '{}', 'RUNNING', 0, 1, NULL, NULL, false, false, NULL, 0, '2026-02-04T10:00:02Z', NULL),
       (2, 1, 1, true, 'EVALUATE', '{}', '{}', 'SUCCEEDED', 0, 1, NULL, NULL, true, false, 0.001, 0, '2026-02-04T10:00:02Z', '2026-02-04T10:00:03Z'),
       (2, 1, 2, true, 'GENERATE', '{}', '{}', 'FAILED', 0, 3, 'TIMEOUT', 'too late', false, false, NULL, 1, '2026-02-04T10:00:02Z', '2026-02-04T10:00:05Z'),
       (2, NULL, 1, true, 'GENERATE', '{}', '{}', 'CANCELLED', 0, 0, NULL, NULL, false, false, NULL, 0, NULL, '2026-02-04T10:00:05Z'),
       (2, 2, 1, true, 'GENERATE', '{}', '{}', 'OUT_OF_BUDGET', 0, 0, NULL, NULL, false, true, NULL, 0, NULL, '2026-02-04T10:00:05Z'),
       (3, 4, 3, false, 'EVALUATE', '{1}', '{}', 'QUEUED', 0, 0, NULL, NULL, false, false, NULL, 0, NULL, NULL),
       (3, 3, 1, false, 'EVALUATE', '{1}', '{}', 'QUEUED', 0, 0, NULL, NULL, false, false, NULL, 0, NULL, NULL);
UPDATE runs SET status = 'FAILED', finished_at = '2026-02-04T10:00:06Z' WHERE id = 2;
