SELECT json_build_object(
  'nodes',
  coalesce(
    json_agg(
      json_build_object(
        'name',
        anon_2.name,
        'books',
        (
          SELECT json_build_object(
            'nodes',
            coalesce(
              json_agg(
                json_build_object(
                  'title',
                  anon_4.title,
                  'reviews',
                  (
                    SELECT json_build_object(
                      'nodes',
                      coalesce(json_agg(json_build_object('stars', anon_6.stars)), CAST('[]' AS JSON))
                    ) AS anon_5
                    FROM (
                      SELECT reviews_1.slug AS slug,
                      reviews_1.book_pk AS book_pk,
                      reviews_1.stars AS stars,
                      reviews_1.words AS words
                      FROM reviews AS reviews_1
                      WHERE reviews_1.book_pk = anon_4.id
                      ORDER BY reviews_1.stars DESC,
                      reviews_1.slug ASC
                      LIMIT 1
                    ) AS anon_6
                  )
                )
              ),
              CAST('[]' AS JSON)
            )
          ) AS anon_3
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
            books_1.place AS place
            FROM books AS books_1
            WHERE books_1.author_pk = anon_2.id
            ORDER BY books_1.id ASC
            LIMIT 2
          ) AS anon_4
        )
      )
    ),
    CAST('[]' AS JSON)
  )
) AS anon_1
FROM (
  SELECT authors_1.id AS id,
  authors_1.name AS name,
  authors_1.born AS born,
  authors_1.closed_at AS closed_at
  FROM authors AS authors_1
  WHERE authors_1.closed_at IS NULL
  ORDER BY authors_1.id ASC
  LIMIT 2
) AS anon_2;
-- []
