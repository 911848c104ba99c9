SELECT json_build_object(
  'totalCount',
  (
    SELECT count(*) AS count_1
    FROM reviews AS reviews_1
    WHERE reviews_1.book_pk = ANY (
      array(
        (
          SELECT books_1.id
          FROM books AS books_1
          WHERE books_1.year < $1::BIGINT AND books_1.author_pk = (
            SELECT authors_1.id FROM authors AS authors_1 WHERE authors_1.name = $2::VARCHAR
          )
        )
      )
    )
  )
) AS anon_1;
-- [2003, 'Anna']

SELECT json_build_object(
  'nodes', coalesce(json_agg(json_build_object('slug', anon_2.slug)), CAST('[]' AS JSON))
) AS anon_1
FROM (
  SELECT reviews_1.slug AS slug,
  reviews_1.book_pk AS book_pk,
  reviews_1.stars AS stars,
  reviews_1.words AS words
  FROM reviews AS reviews_1
  WHERE (
    reviews_1.book_pk = ANY (
      array(
        (
          SELECT books_1.id
          FROM books AS books_1
          WHERE books_1.author_pk = (
            SELECT authors_1.id FROM authors AS authors_1 WHERE authors_1.name = $1::VARCHAR
          )
        )
      )
    )
  ) IS NOT true
  ORDER BY reviews_1.slug ASC
  LIMIT 50
) AS anon_2;
-- ['Anna']
