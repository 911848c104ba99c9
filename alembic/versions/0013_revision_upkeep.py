"""A revision costs no look-up of its row, which the value that it is of holds already, and reads the values once."""

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

# A function keeps the plan of its first call: rows are looked up by index, however few or many there were then.
BY_INDEX = "SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off"

# A key of its own would look up, and lock, a row for each revision, which took longer than all else. A value changes
# under a lock that the removal of its row waits for; only then are the row's revisions dropped.
DROP_REVISIONS = """
CREATE FUNCTION drop_revisions() RETURNS trigger LANGUAGE plpgsql {settings} AS $$
BEGIN
    DELETE FROM expected_revisions USING removed_rows WHERE row_pk = removed_rows.id;
    RETURN NULL;
END $$
"""

KEEP_REVISIONS = """
CREATE OR REPLACE FUNCTION keep_revisions_on_{event}() RETURNS trigger LANGUAGE plpgsql {settings} AS $$
BEGIN
    INSERT INTO expected_revisions (row_pk, revision, text, fields, change, changed_by)
    SELECT
        row_pk,
        coalesce((SELECT max(revision) FROM expected_revisions kept WHERE kept.row_pk = touched.row_pk), 0) + 1,
        {held},
        coalesce(nullif(current_setting('assay.change', true), ''), 'EDITED'),
        coalesce(nullif(current_setting('assay.recorder', true), ''), session_user)
    FROM ({touched}) touched {values};
    RETURN NULL;
END $$
"""

READ_ONCE = {
    "held": """
        max(held.text),
        json_object_agg(held.field, held.value ORDER BY held.field)
        FILTER (WHERE held.field <> '' AND held.value IS NOT NULL)
    """,
    "values": "LEFT JOIN expected_values held USING (row_pk) GROUP BY row_pk",
}
READ_TWICE = {
    "held": """
        (SELECT text FROM expected_values held WHERE held.row_pk = touched.row_pk AND held.field = ''),
        (
            SELECT json_object_agg(field, value ORDER BY field) FROM expected_values held
            WHERE held.row_pk = touched.row_pk AND held.field <> '' AND held.value IS NOT NULL
        )
    """,
    "values": "",
}

# Triggers of a statement that inserts or updates run the update's first, which sees what was inserted too.
INSERTED = """
    SELECT DISTINCT row_pk FROM after_change WHERE origin <> 'EMPTY' AND NOT EXISTS (
        SELECT FROM expected_values held JOIN expected_revisions kept ON kept.row_pk = held.row_pk
        WHERE held.row_pk = after_change.row_pk AND held.field = after_change.field
        AND kept.xmin = held.xmin AND kept.cmin::text::bigint > held.cmin::text::bigint
    )
"""
UPDATED = """
    SELECT DISTINCT row_pk FROM (
        SELECT row_pk, field, text, value::text, origin, locked FROM after_change
        EXCEPT
        SELECT row_pk, field, text, value::text, origin, locked FROM before_change
    ) changed
"""
UPDATED_BY_JOIN = """
    SELECT DISTINCT after_change.row_pk FROM after_change JOIN before_change USING (row_pk, field)
    WHERE (before_change.text, before_change.value::text, before_change.origin, before_change.locked)
    IS DISTINCT FROM (after_change.text, after_change.value::text, after_change.origin, after_change.locked)
"""
DELETED = """
    SELECT DISTINCT row_pk FROM before_change JOIN benchmark_rows ON benchmark_rows.id = row_pk
    WHERE origin <> 'EMPTY'
"""

BY_HASH = "SET enable_seqscan = off SET enable_nestloop = off"
SCANNING_NOTHING = "SET enable_seqscan = off"


def keep(event: str, touched: str, settings: str, read: dict[str, str]) -> None:
    op.execute(KEEP_REVISIONS.format(event=event, touched=touched, settings=settings, **read))


def upgrade() -> None:
    op.drop_constraint("expected_revisions_row_pk_fkey", "expected_revisions", type_="foreignkey")
    op.execute(DROP_REVISIONS.format(settings=BY_INDEX))
    op.execute(
        "CREATE TRIGGER drop_revisions AFTER DELETE ON benchmark_rows REFERENCING OLD TABLE AS removed_rows"
        " FOR EACH STATEMENT EXECUTE FUNCTION drop_revisions()"
    )
    keep("insert", INSERTED, BY_INDEX, READ_ONCE)
    keep("update", UPDATED, BY_INDEX, READ_ONCE)
    keep("delete", DELETED, BY_INDEX, READ_ONCE)


def downgrade() -> None:
    keep("insert", INSERTED, SCANNING_NOTHING, READ_TWICE)
    keep("update", UPDATED_BY_JOIN, BY_HASH, READ_TWICE)
    keep("delete", DELETED, SCANNING_NOTHING, READ_TWICE)
    op.execute("DROP TRIGGER drop_revisions ON benchmark_rows")
    op.execute("DROP FUNCTION drop_revisions()")
    op.create_foreign_key(
        "expected_revisions_row_pk_fkey",
        "expected_revisions",
        "benchmark_rows",
        ["row_pk"],
        ["id"],
        ondelete="CASCADE",
    )
