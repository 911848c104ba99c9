SELECT json_build_object(
  '__typename',
  'Book',
  'id',
  encode(convert_to('Book:' || CAST(books_1.id AS TEXT), 'UTF8'), 'base64'),
  'title',
  books_1.title,
  'rating',
  books_1.rating,
  'price',
  CAST(books_1.price AS TEXT),
  'genre',
  books_1.genre,
  'addedAt',
  replace(to_char(timezone('UTC', books_1.added_at), 'YYYY-MM-DD"T"HH24:MI:SS.US'), '.000000', '') || 'Z',
  'notes',
  books_1.notes,
  'catalogue',
  CAST(books_1.catalogue AS JSON),
  'tags',
  books_1.tags,
  'reviewCount',
  (SELECT count(*) AS count_1 FROM reviews WHERE reviews.book_pk = books_1.id)
) AS anon_1
FROM books AS books_1
WHERE books_1.id = $1::BIGINT;
-- [1]
