SELECT (
  SELECT json_build_object('title', books_1.title) AS anon_2
  FROM books AS books_1
  WHERE books_1.id = $1::BIGINT
) AS anon_1;
-- [1]

SELECT (
  SELECT json_build_object('title', books_1.title) AS anon_2
  FROM books AS books_1
  WHERE books_1.id = $1::BIGINT
) AS anon_1;
-- [2]
