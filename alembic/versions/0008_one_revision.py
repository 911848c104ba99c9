"""A statement keeps one revision of a row, whether it adds or changes values; none where only emptiness goes."""

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

# Triggers of a statement that inserts or updates run the update's first, which sees what was inserted too.
KEPT_BY_UPDATE = """
    AND NOT EXISTS (
        SELECT FROM expected_values held JOIN expected_revisions kept ON kept.row_pk = held.row_pk
        WHERE held.row_pk = after_change.row_pk AND held.field = after_change.field
        AND kept.xmin = held.xmin AND kept.cmin::text::bigint > held.cmin::text::bigint
    )
"""

KEEP_REVISIONS = """
CREATE OR REPLACE FUNCTION keep_revisions_on_{event}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO expected_revisions (row_pk, revision, text, fields, change, changed_by)
    SELECT
        touched.row_pk,
        coalesce((SELECT max(revision) FROM expected_revisions kept WHERE kept.row_pk = touched.row_pk), 0) + 1,
        (SELECT text FROM expected_values held WHERE held.row_pk = touched.row_pk AND held.field = ''),
        (
            SELECT json_object_agg(field, value ORDER BY field) FROM expected_values held
            WHERE held.row_pk = touched.row_pk AND held.field <> '' AND held.value IS NOT NULL
        ),
        coalesce(nullif(current_setting('assay.change', true), ''), 'EDITED'),
        coalesce(nullif(current_setting('assay.recorder', true), ''), session_user)
    FROM ({touched}) touched;
    RETURN NULL;
END $$
"""


INSERTED = "SELECT DISTINCT row_pk FROM after_change WHERE origin <> 'EMPTY'"
DELETED = "SELECT DISTINCT row_pk FROM before_change JOIN benchmark_rows ON benchmark_rows.id = row_pk"


def keep(inserted: str, deleted: str) -> None:
    op.execute(KEEP_REVISIONS.format(event="insert", touched=inserted))
    op.execute(KEEP_REVISIONS.format(event="delete", touched=deleted))


def upgrade() -> None:
    keep(INSERTED + KEPT_BY_UPDATE, DELETED + " WHERE origin <> 'EMPTY'")


def downgrade() -> None:
    keep(INSERTED, DELETED)
