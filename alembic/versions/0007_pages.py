"""Indexes by which pages are found in tables of any size."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

INDEXES = {
    "assessments": (
        ("attempt_pk", "defect_pk"),
        ("suite_pk", "id"),
        ("suite_pk", "reviewed_at"),
        ("attempt_id",),
        ("keeper", "id"),
    ),
    "attempts": (("position", "id"), ("attempt_id",), ("attempt_number",)),
    "cases": (("suite_pk", "id"),),
    "defects": (("position", "id"),),
}

PARTIAL = {
    "assessments_set_aside_idx": (("status", "id"), "status <> 'ACCEPTED'"),
    "assessments_set_aside_at_idx": (("status", "reviewed_at"), "status <> 'ACCEPTED'"),
    "assessments_reason_idx": (("reason", "id"), "reason IS NOT NULL"),
    "assessments_detected_idx": (("id",), "judge_detected"),
}

# Nulls come last in lists of either direction: they count as the last instant there is.
PLACED = (("suites", "created_at"), ("attempts", "started_at"), ("attempts", "finished_at"))
LAST = {"asc": "infinity", "desc": "-infinity"}


def named(table: str, columns: tuple[str, ...]) -> str:
    return f"{table}_{'_'.join(columns)}_idx"


def upgrade() -> None:
    op.drop_index("assessments_attempt_pk_idx", "assessments")
    for table, indexes in INDEXES.items():
        for columns in indexes:
            op.create_index(named(table, columns), table, list(columns))
    for name, (columns, condition) in PARTIAL.items():
        op.create_index(name, "assessments", list(columns), postgresql_where=sa.text(condition))
    for table, column in PLACED:
        for direction, last in LAST.items():
            expression = sa.text(f"coalesce({column}, '{last}'::timestamptz)")
            op.create_index(f"{table}_{column}_{direction}_idx", table, [expression])


def downgrade() -> None:
    for table, column in PLACED:
        for direction in LAST:
            op.drop_index(f"{table}_{column}_{direction}_idx", table)
    for name in PARTIAL:
        op.drop_index(name, "assessments")
    for table, indexes in INDEXES.items():
        for columns in indexes:
            op.drop_index(named(table, columns), table)
    op.create_index("assessments_attempt_pk_idx", "assessments", ["attempt_pk"])
