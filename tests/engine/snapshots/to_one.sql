SELECT json_build_object(
  'author',
  (
    SELECT json_build_object(
      'id',
      encode(convert_to('Author:' || CAST(authors_1.id AS TEXT), 'UTF8'), 'base64'),
      'name',
      authors_1.name
    ) AS anon_2
    FROM authors AS authors_1
    WHERE authors_1.id = books_1.author_pk
  ),
  'sequel',
  (
    SELECT json_build_object('title', books_2.title) AS anon_3
    FROM books AS books_2
    WHERE books_2.id = books_1.id + 100
  ),
  'place',
  CASE WHEN (books_1.shelf IS NOT NULL) THEN json_build_object(
    'shelf', books_1.shelf, 'number', books_1.place
  ) ELSE NULL END,
  'cost',
  json_build_object('amount', CAST(coalesce(books_1.price, 0) AS TEXT), 'isKnown', books_1.price IS NOT NULL)
) AS anon_1
FROM books AS books_1
WHERE books_1.id = $1::BIGINT;
-- [1]
