"""What changed in a table, and in which transaction: kept for a minute, for who watches."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

# Beyond this a watcher does better to read the table anew.
MOST = 1000

NOTE = """
CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT count(*) FROM (SELECT FROM {transition} LIMIT {most} + 1) counted) > {most} THEN
        INSERT INTO benchmark_changes (benchmark_pk, kind)
        SELECT DISTINCT touched.benchmark_pk, 'MANY' FROM ({touched}) touched;
    ELSE
        INSERT INTO benchmark_changes (benchmark_pk, kind, row_pk, track_pk)
        SELECT touched.benchmark_pk, '{kind}', touched.row_pk, touched.track_pk FROM ({touched}) touched;
    END IF;
    RETURN NULL;
END $$
"""

BENCHMARKS = "SELECT id AS benchmark_pk, NULL::bigint AS row_pk, NULL::bigint AS track_pk FROM {transition}"
TRACKS = "SELECT benchmark_pk, NULL::bigint AS row_pk, id AS track_pk FROM {transition}"
ROWS = "SELECT benchmark_pk, id AS row_pk, NULL::bigint AS track_pk FROM {transition}"
CELLS = (
    "SELECT its_row.benchmark_pk, changed.row_pk, changed.track_pk"
    " FROM {transition} changed JOIN benchmark_rows its_row ON its_row.id = changed.row_pk"
)
VALUES = (
    "SELECT DISTINCT its_row.benchmark_pk, changed.row_pk, NULL::bigint AS track_pk"
    " FROM {transition} changed JOIN benchmark_rows its_row ON its_row.id = changed.row_pk"
)

TRANSITIONS = {"INSERT": "NEW", "UPDATE": "NEW", "DELETE": "OLD"}

# Cells go with their row or track, and say nothing then.
NOTED = [
    ("benchmarks", "UPDATE", "TABLE", BENCHMARKS),
    ("tracks", "INSERT", "TABLE", TRACKS),
    ("tracks", "UPDATE", "TABLE", TRACKS),
    ("tracks", "DELETE", "TRACK_REMOVED", TRACKS),
    ("benchmark_rows", "INSERT", "ROW", ROWS),
    ("benchmark_rows", "UPDATE", "ROW", ROWS),
    ("benchmark_rows", "DELETE", "ROW_REMOVED", ROWS),
    ("cells", "INSERT", "CELL", CELLS),
    ("cells", "UPDATE", "CELL", CELLS),
    ("expected_values", "INSERT", "EXPECTED", VALUES),
    ("expected_values", "UPDATE", "EXPECTED", VALUES),
    ("expected_values", "DELETE", "EXPECTED", VALUES),
]


def named(table: str, event: str) -> str:
    return f"note_{table}_{event.lower()}"


def upgrade() -> None:
    op.create_table(
        "benchmark_changes",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("benchmark_pk", sa.BigInteger(), nullable=False),
        sa.Column(
            "transaction_id",
            sa.BigInteger(),
            server_default=sa.text("pg_current_xact_id()::text::bigint"),
            nullable=False,
        ),
        sa.Column(
            "kind",
            sa.Enum(
                "TABLE",
                "ROW",
                "CELL",
                "EXPECTED",
                "ROW_REMOVED",
                "TRACK_REMOVED",
                "MANY",
                name="kind",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("row_pk", sa.BigInteger(), nullable=True),
        sa.Column("track_pk", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("benchmark_changes_pkey")),
    )
    op.create_index(
        op.f("benchmark_changes_benchmark_pk_transaction_id_idx"),
        "benchmark_changes",
        ["benchmark_pk", "transaction_id"],
    )
    for table, event, kind, touched in NOTED:
        name, transition = named(table, event), f"{TRANSITIONS[event].lower()}_rows"
        touched = touched.format(transition=transition)
        op.execute(NOTE.format(name=name, transition=transition, touched=touched, kind=kind, most=MOST))
        op.execute(
            f"CREATE TRIGGER {name} AFTER {event} ON {table} REFERENCING {TRANSITIONS[event]} TABLE AS {transition}"
            f" FOR EACH STATEMENT EXECUTE FUNCTION {name}()"
        )


def downgrade() -> None:
    for table, event, _, _ in NOTED:
        op.execute(f"DROP TRIGGER {named(table, event)} ON {table}")
        op.execute(f"DROP FUNCTION {named(table, event)}()")
    op.drop_table("benchmark_changes")
