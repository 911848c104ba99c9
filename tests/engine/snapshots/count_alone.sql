SELECT json_build_object(
  'totalCount', (SELECT count(*) AS count_1 FROM books AS books_1 WHERE books_1.year IS NULL)
) AS anon_1;
-- []
