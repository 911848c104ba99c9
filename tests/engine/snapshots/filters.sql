SELECT json_build_object(
  'nodes', coalesce(json_agg(json_build_object('title', anon_2.title)), CAST('[]' AS JSON))
) AS anon_1
FROM (
  SELECT books_1.id AS id,
  books_1.author_pk AS author_pk,
  books_1.title AS title,
  books_1.year AS year,
  books_1.rating AS rating,
  books_1.price AS price,
  books_1.genre AS genre,
  books_1.in_print AS in_print,
  books_1.added_at AS added_at,
  books_1.notes AS notes,
  books_1.catalogue AS catalogue,
  books_1.tags AS tags,
  books_1.shelf AS shelf,
  books_1.place AS place
  FROM books AS books_1
  WHERE books_1.title = ANY ($1::TEXT[]) AND lower(books_1.title) LIKE lower($2::VARCHAR) AND (
    EXISTS (
      SELECT true AS anon_3
      FROM authors AS authors_1
      WHERE authors_1.id = books_1.author_pk AND authors_1.name IS DISTINCT FROM $3::VARCHAR
    )
  ) AND (books_1.genre = 'POEM' OR (books_1.year >= $4::BIGINT) IS NOT true)
  ORDER BY books_1.id ASC
  LIMIT 50
) AS anon_2;
-- [['a_b0', 'a_b1'], '%A\\_%', 'Bo', 2001]
