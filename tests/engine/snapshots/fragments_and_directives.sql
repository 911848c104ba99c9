SELECT json_build_object(
  'author',
  (
    SELECT json_build_object('name', authors_1.name, 'born', authors_1.born) AS anon_2
    FROM authors AS authors_1
    WHERE authors_1.id = books_1.author_pk
  ),
  'other',
  (
    SELECT json_build_object(
      'id', encode(convert_to('Author:' || CAST(authors_2.id AS TEXT), 'UTF8'), 'base64')
    ) AS anon_3
    FROM authors AS authors_2
    WHERE authors_2.id = books_1.author_pk
  ),
  'year',
  books_1.year
) AS anon_1
FROM books AS books_1
WHERE books_1.id = $1::BIGINT;
-- [1]
