SELECT json_build_object(
  'edges',
  coalesce(
    json_agg(
      json_build_object(
        'cursor',
        replace(
          encode(
            convert_to(
              CAST(
                json_build_array(
                  'Book -year title id', anon_2.sort_0, CAST(anon_2.sort_1 AS TEXT), anon_2.sort_2
                ) AS TEXT
              ),
              'UTF8'
            ),
            'base64'
          ),
          '\n',
          ''
        ),
        'node',
        json_build_object('title', anon_2.title, 'year', anon_2.year)
      )
    ) FILTER (WHERE anon_2.place_in_page <= $1::INTEGER),
    CAST('[]' AS JSON)
  ),
  'pageInfo',
  json_build_object(
    'hasNextPage',
    count(*) > $2::INTEGER,
    'hasPreviousPage',
    coalesce(
      (
        SELECT true AS anon_3
        FROM books AS books_1
        WHERE books_1.year > $3::BIGINT OR books_1.year IS NOT NULL AND $3::BIGINT IS NULL OR books_1.year IS NOT DISTINCT FROM $3::BIGINT AND books_1.title <= $4::VARCHAR AND (
          books_1.title < $4::VARCHAR OR books_1.title = $4::VARCHAR AND books_1.id <= $5::BIGINT
        )
        ORDER BY books_1.year ASC NULLS FIRST,
        books_1.title DESC,
        books_1.id DESC
        LIMIT 1
      ),
      false
    ),
    'startCursor',
    max(
      replace(
        encode(
          convert_to(
            CAST(
              json_build_array(
                'Book -year title id', anon_2.sort_0, CAST(anon_2.sort_1 AS TEXT), anon_2.sort_2
              ) AS TEXT
            ),
            'UTF8'
          ),
          'base64'
        ),
        '\n',
        ''
      )
    ) FILTER (WHERE anon_2.place_in_page = 1 AND anon_2.place_in_page <= $6::INTEGER),
    'endCursor',
    max(
      replace(
        encode(
          convert_to(
            CAST(
              json_build_array(
                'Book -year title id', anon_2.sort_0, CAST(anon_2.sort_1 AS TEXT), anon_2.sort_2
              ) AS TEXT
            ),
            'UTF8'
          ),
          'base64'
        ),
        '\n',
        ''
      )
    ) FILTER (WHERE anon_2.place_in_page = $7::INTEGER OR anon_2.place_in_page < $7::INTEGER AND anon_2.has_next IS NULL)
  ),
  'totalCount',
  (SELECT count(*) AS count_1 FROM books AS books_1)
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
  books_1.year AS sort_0,
  books_1.title AS sort_1,
  books_1.id AS sort_2,
  row_number() OVER (
    ORDER BY books_1.year DESC NULLS LAST, books_1.title ASC, books_1.id ASC
  ) AS place_in_page,
  lead(true) OVER (ORDER BY books_1.year DESC NULLS LAST, books_1.title ASC, books_1.id ASC) AS has_next
  FROM books AS books_1
  WHERE books_1.year < $3::BIGINT OR $3::BIGINT IS NOT NULL AND books_1.year IS NULL OR books_1.year IS NOT DISTINCT FROM $3::BIGINT AND books_1.title >= $4::VARCHAR AND (
    books_1.title > $4::VARCHAR OR books_1.title = $4::VARCHAR AND books_1.id > $5::BIGINT
  )
  ORDER BY books_1.year DESC NULLS LAST,
  books_1.title ASC,
  books_1.id ASC
  LIMIT $8::INTEGER
) AS anon_2;
-- [2, 2, 2001, 'B0', 1, 2, 2, 3]
