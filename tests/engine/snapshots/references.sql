SELECT (
  SELECT coalesce(json_agg(found.made ORDER BY anon_2.place), CAST('[]' AS JSON)) AS coalesce_1
  FROM generate_series(1, $1::INTEGER) AS anon_2(place)
  LEFT OUTER JOIN (
    SELECT anon_3.place AS place,
    json_build_object('id', encode(convert_to('Book:' || CAST(books_1.id AS TEXT), 'UTF8'), 'base64')) AS made
    FROM (
      SELECT unnest($2::BIGINT[]) AS key, unnest($3::INTEGER[]) AS place
    ) AS anon_3 JOIN books AS books_1 ON books_1.id = anon_3.key
  ) AS found ON found.place = anon_2.place
) AS anon_1;
-- [3, [1, 3], [1, 3]]

SELECT (
  SELECT json_build_object('title', books_1.title) AS anon_2
  FROM books AS books_1
  WHERE books_1.id = $1::BIGINT
) AS anon_1;
-- [1]

SELECT (
  SELECT json_build_object('__typename', 'Review') AS anon_2
  FROM reviews AS reviews_1
  WHERE reviews_1.slug = $1::VARCHAR
) AS anon_1;
-- ['r1']

SELECT (
  SELECT coalesce(
    string_agg(coalesce(CAST(found.made AS TEXT), ''), chr(30) ORDER BY anon_2.place), ''
  ) AS coalesce_1
  FROM generate_series(1, $1::INTEGER) AS anon_2(place)
  LEFT OUTER JOIN (
    SELECT anon_3.place AS place,
    json_build_object('title', books_1.title) AS made
    FROM (
      SELECT unnest($2::BIGINT[]) AS key, unnest($3::INTEGER[]) AS place
    ) AS anon_3 JOIN books AS books_1 ON books_1.id = anon_3.key
  ) AS found ON found.place = anon_2.place
) AS anon_1;
-- [2, [1, 3], [1, 2]]
