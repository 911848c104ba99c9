SELECT json_build_object(
  '__typename',
  'Book',
  'id',
  encode(convert_to('Book:' || CAST(books_1.id AS TEXT), 'UTF8'), 'base64'),
  'title',
  books_1.title
) AS anon_1
FROM books AS books_1
WHERE books_1.id = $1::BIGINT;
-- [1]
