SELECT json_build_object(
  'nodes',
  coalesce(
    json_agg(
      json_build_object('title', anon_2.title) ORDER BY anon_2.place_in_page DESC
    ) FILTER (WHERE anon_2.place_in_page <= 2),
    CAST('[]' AS JSON)
  ),
  'pageInfo',
  json_build_object('hasPreviousPage', count(*) > 2)
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
  books_1.place AS place,
  books_1.title AS sort_0,
  books_1.id AS sort_1,
  row_number() OVER (ORDER BY books_1.title DESC, books_1.id DESC) AS place_in_page,
  lead(true) OVER (ORDER BY books_1.title DESC, books_1.id DESC) AS has_next
  FROM books AS books_1
  WHERE (books_1.title, books_1.id) < ($1::VARCHAR, $2::BIGINT)
  ORDER BY books_1.title DESC,
  books_1.id DESC
  LIMIT 3
) AS anon_2;
-- ['a0', 6]
