-- A benchmark of 10,000 rows and six tracks, answered everywhere; what the first track said is expected.
INSERT INTO models (name, provider, model_name, max_concurrency, version) VALUES ('small', 'openai', 'small', 8, 1);

INSERT INTO benchmarks (name, kind, auto_capture, version) VALUES ('table', 'CONVERSATION', true, 1);

INSERT INTO tracks (benchmark_pk, position, name, model_pk, version)
SELECT benchmarks.id, n, 'track ' || n, models.id, 1 FROM benchmarks, models, generate_series(0, 5) n;

INSERT INTO benchmark_rows (benchmark_pk, position, key, input, version)
SELECT id, n, 'row-' || n, 'What about ' || n || '? ' || repeat('word ', 20), 1
FROM benchmarks, generate_series(0, 9999) n;

INSERT INTO cells (row_pk, track_pk, status, output, latency_ms, input_tokens, output_tokens, cost, revision)
SELECT
    benchmark_rows.id, tracks.id, 'SUCCEEDED', tracks.name || ' says ' || benchmark_rows.position || repeat(' word', 20),
    900 + benchmark_rows.position % 200, 120, 40, 0.00042, 1
FROM benchmark_rows, tracks;

INSERT INTO expected_values (row_pk, field, text, origin, locked, source_track_pk, edited_revision)
SELECT row_pk, '', output, 'AUTO', false, track_pk, 0
FROM cells JOIN tracks ON tracks.id = track_pk WHERE tracks.position = 0;

ANALYZE;
