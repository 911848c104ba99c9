SELECT coalesce(json_agg(found.made ORDER BY anon_1.place), CAST('[]' AS JSON)) AS coalesce_1
FROM generate_series(1, $1::INTEGER) AS anon_1(place)
LEFT OUTER JOIN (
  SELECT anon_2.place AS place,
  json_build_object('id', encode(convert_to('Book:' || CAST(books_1.id AS TEXT), 'UTF8'), 'base64')) AS made
  FROM (
    SELECT unnest($2::BIGINT[]) AS key, unnest($3::INTEGER[]) AS place
  ) AS anon_2 JOIN books AS books_1 ON books_1.id = anon_2.key
) AS found ON found.place = anon_1.place;
-- [3, [1, 3], [1, 3]]

SELECT json_build_object('title', books_1.title) AS anon_1 FROM books AS books_1 WHERE books_1.id = $1::BIGINT;
-- [1]

SELECT json_build_object('__typename', 'Review') AS anon_1
FROM reviews AS reviews_1
WHERE reviews_1.slug = $1::VARCHAR;
-- ['r1']

SELECT coalesce(
  string_agg(coalesce(CAST(found.made AS TEXT), ''), chr(30) ORDER BY anon_1.place), ''
) AS coalesce_1
FROM generate_series(1, $1::INTEGER) AS anon_1(place)
LEFT OUTER JOIN (
  SELECT anon_2.place AS place,
  json_build_object('title', books_1.title) AS made
  FROM (
    SELECT unnest($2::BIGINT[]) AS key, unnest($3::INTEGER[]) AS place
  ) AS anon_2 JOIN books AS books_1 ON books_1.id = anon_2.key
) AS found ON found.place = anon_1.place;
-- [2, [1, 3], [1, 2]]
