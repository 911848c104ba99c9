SELECT json_build_object(
  'best',
  (
    SELECT coalesce(
      json_agg(
        json_build_object('slug', reviews_1.slug, 'stars', reviews_1.stars)
        ORDER BY reviews_1.stars DESC,
        reviews_1.slug
      ),
      CAST('[]' AS JSON)
    ) AS coalesce_1
    FROM reviews AS reviews_1
    WHERE reviews_1.book_pk = books_1.id
  ),
  'some',
  (
    SELECT coalesce(
      json_agg(json_build_object('slug', reviews_2.slug) ORDER BY reviews_2.stars DESC, reviews_2.slug),
      CAST('[]' AS JSON)
    ) AS coalesce_2
    FROM reviews AS reviews_2
    WHERE reviews_2.book_pk = books_1.id AND reviews_2.slug = ANY ($1::TEXT[])
  )
) AS anon_1
FROM books AS books_1
WHERE books_1.id = $2::BIGINT;
-- [['r12'], 1]
