SELECT json_build_object(
  'totalCount', (SELECT count(*) AS count_1 FROM authors AS authors_1 WHERE authors_1.closed_at IS NULL)
) AS anon_1;
-- []

SELECT json_build_object('totalCount', (SELECT count(*) AS count_1 FROM authors AS authors_1)) AS anon_1;
-- []
