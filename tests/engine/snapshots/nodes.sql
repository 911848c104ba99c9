SELECT coalesce(json_agg(found.made ORDER BY anon_1.place), CAST('[]' AS JSON)) AS coalesce_1
FROM generate_series(1, $1::INTEGER) AS anon_1(place)
LEFT OUTER JOIN (
  SELECT anon_2.place AS place,
  json_build_object(
    'id', encode(convert_to('Book:' || CAST(books_1.id AS TEXT), 'UTF8'), 'base64'), 'title', books_1.title
  ) AS made
  FROM (
    SELECT unnest($2::BIGINT[]) AS key, unnest($3::INTEGER[]) AS place
  ) AS anon_2 JOIN books AS books_1 ON books_1.id = anon_2.key
  UNION ALL SELECT anon_3.place AS place,
  json_build_object(
    'id', replace(encode(convert_to('Review:' || CAST(reviews_1.slug AS TEXT), 'UTF8'), 'base64'), '\n', '')
  ) AS made
  FROM (
    SELECT unnest($4::TEXT[]) AS key, unnest($5::INTEGER[]) AS place
  ) AS anon_3 JOIN reviews AS reviews_1 ON reviews_1.slug = anon_3.key
) AS found ON found.place = anon_1.place;
-- [3, [1, 999], [2, 3], ['r1'], [1]]
