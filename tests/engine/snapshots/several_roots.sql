SELECT json_build_object('title', books_1.title) AS anon_1 FROM books AS books_1 WHERE books_1.id = $1::BIGINT;
-- [1]

SELECT json_build_object('title', books_1.title) AS anon_1 FROM books AS books_1 WHERE books_1.id = $1::BIGINT;
-- [2]
