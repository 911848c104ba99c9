SELECT (
  SELECT json_build_object(
    '__typename',
    'Book',
    'id',
    encode(convert_to('Book:' || CAST(books_1.id AS TEXT), 'UTF8'), 'base64'),
    'title',
    books_1.title
  ) AS anon_2
  FROM books AS books_1
  WHERE books_1.id = $1::BIGINT
) AS anon_1;
-- [1]
