"""Triggers keep the plan of their first call, which may have seen no rows at all: it must do for many, too."""

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

# Rows are looked up by index, and what was before and after is matched by hashing, however few they were at first.
SETTINGS = {
    "keep_revisions_on_insert": "enable_seqscan",
    "keep_revisions_on_update": "enable_nestloop",
    "keep_revisions_on_delete": "enable_seqscan",
    "note_cells_insert": "enable_seqscan",
    "note_cells_update": "enable_seqscan",
    "note_expected_values_insert": "enable_seqscan",
    "note_expected_values_update": "enable_seqscan",
    "note_expected_values_delete": "enable_seqscan",
}


def upgrade() -> None:
    for function, setting in SETTINGS.items():
        op.execute(f"ALTER FUNCTION {function}() SET {setting} = off")
    # Its revisions are looked up too.
    op.execute("ALTER FUNCTION keep_revisions_on_update() SET enable_seqscan = off")


def downgrade() -> None:
    op.execute("ALTER FUNCTION keep_revisions_on_update() RESET enable_seqscan")
    for function, setting in SETTINGS.items():
        op.execute(f"ALTER FUNCTION {function}() RESET {setting}")
