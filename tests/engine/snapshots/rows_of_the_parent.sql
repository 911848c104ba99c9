SELECT json_build_object(
  'bookCount',
  (SELECT count(*) AS count_1 FROM books),
  'shelves',
  (
    SELECT json_build_object(
      'nodes',
      coalesce(json_agg(json_build_object('shelf', anon_3.shelf, 'books', anon_3.books)), CAST('[]' AS JSON))
    ) AS anon_2
    FROM (
      SELECT anon_4.shelf AS shelf,
      anon_4.books AS books,
      anon_4.room AS room
      FROM (
        SELECT books.shelf AS shelf,
        count(*) AS books,
        anon_5.room AS room
        FROM books
        WHERE books.shelf IS NOT NULL AND (anon_5.room IS NULL OR (books.shelf LIKE anon_5.room || '%'))
        GROUP BY books.shelf
      ) AS anon_4
      ORDER BY anon_4.shelf ASC
      LIMIT 50
    ) AS anon_3
  ),
  'rooms',
  (
    SELECT coalesce(
      json_agg(
        json_build_object(
          'room',
          anon_6.room,
          'shelves',
          json_build_object(
            'totalCount',
            (
              SELECT count(*) AS count_2
              FROM (
                SELECT books.shelf AS shelf,
                count(*) AS books,
                anon_6.room AS room
                FROM books
                WHERE books.shelf IS NOT NULL AND (
                  anon_6.room IS NULL OR (books.shelf LIKE anon_6.room || '%')
                )
                GROUP BY books.shelf
              ) AS anon_7
            )
          )
        )
        ORDER BY anon_6.room
      ),
      CAST('[]' AS JSON)
    ) AS coalesce_1
    FROM (
      SELECT anon_8.room AS room FROM (SELECT 'A' AS room UNION ALL SELECT 'B' AS anon_9) AS anon_8
    ) AS anon_6
  )
) AS anon_1
FROM (SELECT NULL AS room) AS anon_5;
-- []
