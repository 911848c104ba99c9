"""Metrics, scores and runs, with what the database itself sees to: what has ended stays, and what is removed ends."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

# Beyond this a watcher does better to read the table anew.
MOST = 1000

NOTE = """
CREATE FUNCTION note_scores_{event}() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    IF (SELECT count(*) FROM (SELECT FROM {event}_rows LIMIT {most} + 1) counted) > {most} THEN
        INSERT INTO benchmark_changes (benchmark_pk, kind)
        SELECT DISTINCT its_row.benchmark_pk, 'MANY'
        FROM {event}_rows changed JOIN benchmark_rows its_row ON its_row.id = changed.row_pk;
    ELSE
        INSERT INTO benchmark_changes (benchmark_pk, kind, row_pk, track_pk)
        SELECT DISTINCT its_row.benchmark_pk, '{kind}', changed.row_pk, changed.track_pk
        FROM {event}_rows changed JOIN benchmark_rows its_row ON its_row.id = changed.row_pk;
    END IF;
    RETURN NULL;
END $$
"""
# Of scores that go nothing is left to be told but their cell.
TRANSITIONS = {"insert": ("NEW", "SCORE"), "update": ("NEW", "SCORE"), "delete": ("OLD", "CELL")}

# How many calls of a model are under way, but for items that are held and call it no longer. It looks anew whenever it
# is called: within the statement that locks the model's row, it sees what was committed while that waited for the lock.
IN_FLIGHT = """
CREATE FUNCTION calls_in_flight(called_model bigint, over_ids bigint[], over_tokens uuid[]) RETURNS bigint
LANGUAGE sql VOLATILE AS $$
    SELECT count(*) FROM run_items item
    WHERE token IS NOT NULL AND model_pk = called_model AND NOT EXISTS (
        SELECT FROM unnest(over_ids, over_tokens) AS done (id, token) WHERE done.id = item.id AND done.token = item.token
    )
$$
"""

# By function: its body, and when it runs.
TRIGGERS = {
    "drop_scores_of_failed_cell": (
        """
        DELETE FROM scores WHERE row_pk = NEW.row_pk AND track_pk = NEW.track_pk;
        RETURN NULL;
        """,
        "AFTER INSERT OR UPDATE ON cells FOR EACH ROW WHEN (NEW.status = 'FAILED')",
    ),
    "refuse_score_of_failed_cell": (
        """
        IF EXISTS (SELECT FROM cells WHERE row_pk = NEW.row_pk AND track_pk = NEW.track_pk AND status = 'FAILED') THEN
            RAISE EXCEPTION 'a failed cell has no scores' USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN NEW;
        """,
        "BEFORE INSERT OR UPDATE ON scores FOR EACH ROW WHEN (NEW.status <> 'SKIPPED')",
    ),
    "end_item_of_removed_cell": (
        """
        NEW.status := 'CANCELLED';
        NEW.token := NULL;
        NEW.lease_until := NULL;
        NEW.finished_at := now();
        RETURN NEW;
        """,
        "BEFORE UPDATE OF row_pk, track_pk ON run_items FOR EACH ROW"
        " WHEN (OLD.status IN ('QUEUED', 'RUNNING') AND (NEW.row_pk IS NULL OR NEW.track_pk IS NULL))",
    ),
    "keep_ended_item": (
        "RAISE EXCEPTION 'a run item that has ended is final' USING ERRCODE = 'restrict_violation';",
        "BEFORE UPDATE ON run_items FOR EACH ROW"
        " WHEN (OLD.status NOT IN ('QUEUED', 'RUNNING')"
        # Its row or track can be removed all the same.
        " AND to_jsonb(OLD) - '{row_pk,track_pk}'::text[] IS DISTINCT FROM to_jsonb(NEW) - '{row_pk,track_pk}'::text[])",
    ),
    "keep_ended_run": (
        "RAISE EXCEPTION 'a run that has ended is final' USING ERRCODE = 'restrict_violation';",
        "BEFORE UPDATE ON runs FOR EACH ROW"
        " WHEN (OLD.status NOT IN ('QUEUED', 'RUNNING') AND to_jsonb(OLD) IS DISTINCT FROM to_jsonb(NEW))",
    ),
    # The scores of a changed metric are stale, wherever they are, and who has chosen it sees another one.
    "note_metric": (
        """
        INSERT INTO benchmark_changes (benchmark_pk, kind)
        SELECT its_track.benchmark_pk, 'MANY' FROM tracks its_track
        WHERE EXISTS (SELECT FROM scores WHERE track_pk = its_track.id AND metric_pk = NEW.id)
        UNION SELECT benchmark_pk, 'MANY' FROM benchmark_metrics WHERE metric_pk = NEW.id;
        RETURN NULL;
        """,
        "AFTER UPDATE ON metrics FOR EACH ROW WHEN (OLD.version IS DISTINCT FROM NEW.version)",
    ),
}
TOLD = ["TABLE", "ROW", "CELL", "EXPECTED", "ROW_REMOVED", "TRACK_REMOVED", "MANY"]


def upgrade() -> None:
    op.create_table(
        "metrics",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("description", sa.String(), nullable=True),
        sa.Column(
            "kind",
            sa.Enum(
                "EXACT_MATCH",
                "NORMALIZED_MATCH",
                "CONTAINS",
                "REGEX",
                "EDIT_SIMILARITY",
                "TOKEN_F1",
                "ROUGE_L",
                "SEMANTIC_SIMILARITY",
                "NUMERIC_CLOSENESS",
                "FIELD_ACCURACY",
                "JSON_VALID",
                "LLM_JUDGE",
                "LATENCY",
                "TOKENS",
                "COST",
                name="kind",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("options", sa.JSON(), nullable=False),
        sa.Column("judge_model_pk", sa.BigInteger(), nullable=True),
        sa.Column("judge_prompt", sa.String(), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.CheckConstraint(
            "(kind = 'LLM_JUDGE') = (judge_model_pk IS NOT NULL) AND (kind = 'LLM_JUDGE') = (judge_prompt IS NOT NULL)",
            name=op.f("metrics_judge_check"),
        ),
        sa.ForeignKeyConstraint(["judge_model_pk"], ["models.id"], name=op.f("metrics_judge_model_pk_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("metrics_pkey")),
        sa.UniqueConstraint("name", name=op.f("metrics_name_key")),
    )
    op.create_index(op.f("metrics_judge_model_pk_idx"), "metrics", ["judge_model_pk"], unique=False)
    op.create_table(
        "metric_variables",
        sa.Column("metric_pk", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column(
            "type",
            sa.Enum("NUMBER", "BOOLEAN", "TEXT", name="type", native_enum=False, create_constraint=True, length=32),
            nullable=False,
        ),
        sa.Column("description", sa.String(), nullable=True),
        sa.Column("minimum", sa.Double(), nullable=True),
        sa.Column("maximum", sa.Double(), nullable=True),
        sa.Column(
            "aggregation",
            sa.Enum("AVERAGE", "COUNT_TRUE", name="aggregation", native_enum=False, create_constraint=True, length=32),
            nullable=True,
        ),
        sa.CheckConstraint("minimum <= maximum", name=op.f("metric_variables_bounds_check")),
        sa.ForeignKeyConstraint(
            ["metric_pk"], ["metrics.id"], name=op.f("metric_variables_metric_pk_fkey"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("metric_pk", "name", name=op.f("metric_variables_pkey")),
    )
    op.create_table(
        "benchmark_metrics",
        sa.Column("benchmark_pk", sa.BigInteger(), nullable=False),
        sa.Column("metric_pk", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["benchmark_pk"], ["benchmarks.id"], name=op.f("benchmark_metrics_benchmark_pk_fkey"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["metric_pk"], ["metrics.id"], name=op.f("benchmark_metrics_metric_pk_fkey"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("benchmark_pk", "metric_pk", name=op.f("benchmark_metrics_pkey")),
    )
    op.create_index(op.f("benchmark_metrics_metric_pk_idx"), "benchmark_metrics", ["metric_pk"], unique=False)
    op.create_table(
        "runs",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("benchmark_pk", sa.BigInteger(), nullable=False),
        sa.Column(
            "status",
            sa.Enum(
                "QUEUED",
                "RUNNING",
                "SUCCEEDED",
                "FAILED",
                "CANCELLED",
                name="status",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column(
            "generation_scope",
            sa.Enum(
                "ALL",
                "SELECTED",
                "EMPTY_AND_FAILED",
                name="generation_scope",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=True,
        ),
        sa.Column(
            "evaluation_scope",
            sa.Enum(
                "ALL",
                "SELECTED",
                "MISSING",
                "STALE",
                name="evaluation_scope",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=True,
        ),
        sa.Column("cell_count", sa.Integer(), nullable=False),
        sa.Column("score_count", sa.Integer(), nullable=False),
        sa.Column("max_cost", sa.Numeric(), nullable=True),
        sa.Column("cost", sa.Numeric(), nullable=False),
        sa.Column("unpriced_calls", sa.Integer(), nullable=False),
        sa.Column("started_by", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "(finished_at IS NULL) = (status IN ('QUEUED', 'RUNNING'))", name=op.f("runs_finished_check")
        ),
        sa.CheckConstraint(
            "generation_scope IS NOT NULL OR evaluation_scope IS NOT NULL", name=op.f("runs_parts_check")
        ),
        sa.CheckConstraint("max_cost >= 0 AND cost >= 0", name=op.f("runs_cost_check")),
        sa.ForeignKeyConstraint(
            ["benchmark_pk"], ["benchmarks.id"], name=op.f("runs_benchmark_pk_fkey"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("runs_pkey")),
    )
    op.create_index(
        "runs_active_idx", "runs", ["id"], unique=False, postgresql_where=sa.text("status IN ('QUEUED', 'RUNNING')")
    )
    op.create_index(op.f("runs_benchmark_pk_id_idx"), "runs", ["benchmark_pk", "id"], unique=False)
    op.create_index(op.f("runs_created_at_idx"), "runs", ["created_at"], unique=False)
    op.create_table(
        "run_inputs",
        sa.Column("run_pk", sa.BigInteger(), nullable=False),
        sa.Column("row_pk", sa.BigInteger(), nullable=False),
        sa.Column("input", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["run_pk"], ["runs.id"], name=op.f("run_inputs_run_pk_fkey"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_pk", "row_pk", name=op.f("run_inputs_pkey")),
    )
    op.create_table(
        "run_items",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("run_pk", sa.BigInteger(), nullable=False),
        sa.Column("row_pk", sa.BigInteger(), nullable=True),
        sa.Column("track_pk", sa.BigInteger(), nullable=True),
        sa.Column("generates", sa.Boolean(), nullable=False),
        sa.Column(
            "stage",
            sa.Enum("GENERATE", "WAIT", "EVALUATE", name="stage", native_enum=False, create_constraint=True, length=32),
            nullable=False,
        ),
        sa.Column("model_pk", sa.BigInteger(), nullable=True),
        sa.Column("metric_pks", sa.ARRAY(sa.BigInteger()), nullable=False),
        sa.Column("scored_pks", sa.ARRAY(sa.BigInteger()), nullable=False),
        sa.Column(
            "status",
            sa.Enum(
                "QUEUED",
                "RUNNING",
                "SUCCEEDED",
                "FAILED",
                "CANCELLED",
                "OUT_OF_BUDGET",
                name="status",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("token", sa.Uuid(), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("deaths", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column(
            "error_kind",
            sa.Enum(
                "RATE_LIMITED",
                "TIMEOUT",
                "PROVIDER",
                "INVALID_OUTPUT",
                "EXTERNAL",
                "INTERNAL",
                name="error_kind",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=True,
        ),
        sa.Column("error_message", sa.String(), nullable=True),
        sa.Column("captured", sa.Boolean(), nullable=False),
        sa.Column("locked_skipped", sa.Boolean(), nullable=False),
        sa.Column("cost", sa.Numeric(), nullable=True),
        sa.Column("unpriced_calls", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "(finished_at IS NULL) = (status IN ('QUEUED', 'RUNNING'))", name=op.f("run_items_finished_check")
        ),
        sa.CheckConstraint("(status = 'FAILED') = (error_kind IS NOT NULL)", name=op.f("run_items_error_check")),
        sa.CheckConstraint("generates OR stage <> 'GENERATE'", name=op.f("run_items_generation_check")),
        sa.CheckConstraint("token IS NULL OR status = 'RUNNING'", name=op.f("run_items_held_check")),
        sa.CheckConstraint("(token IS NULL) = (lease_until IS NULL)", name=op.f("run_items_lease_check")),
        sa.ForeignKeyConstraint(["model_pk"], ["models.id"], name=op.f("run_items_model_pk_fkey")),
        sa.ForeignKeyConstraint(
            ["row_pk"], ["benchmark_rows.id"], name=op.f("run_items_row_pk_fkey"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(["run_pk"], ["runs.id"], name=op.f("run_items_run_pk_fkey"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["track_pk"], ["tracks.id"], name=op.f("run_items_track_pk_fkey"), ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name=op.f("run_items_pkey")),
    )
    op.create_index(
        "run_items_active_idx",
        "run_items",
        ["run_pk"],
        unique=False,
        postgresql_where=sa.text("status IN ('QUEUED', 'RUNNING')"),
    )
    op.create_index(
        "run_items_held_idx", "run_items", ["lease_until"], unique=False, postgresql_where=sa.text("token IS NOT NULL")
    )
    op.create_index(
        "run_items_one_generation_key",
        "run_items",
        ["row_pk", "track_pk"],
        unique=True,
        postgresql_where=sa.text("stage = 'GENERATE' AND status IN ('QUEUED', 'RUNNING')"),
    )
    op.create_index(
        "run_items_pending_idx",
        "run_items",
        ["row_pk", "track_pk"],
        unique=False,
        postgresql_where=sa.text("status IN ('QUEUED', 'RUNNING')"),
    )
    op.create_index(
        "run_items_queue_idx",
        "run_items",
        ["model_pk", "run_pk", "id"],
        unique=False,
        postgresql_where=sa.text("token IS NULL AND stage <> 'WAIT' AND status IN ('QUEUED', 'RUNNING')"),
    )
    op.create_index(op.f("run_items_row_pk_idx"), "run_items", ["row_pk"], unique=False)
    op.create_index(
        "run_items_waiting_idx",
        "run_items",
        ["run_pk", "row_pk"],
        unique=False,
        postgresql_where=sa.text("stage = 'WAIT' AND status IN ('QUEUED', 'RUNNING')"),
    )
    op.create_index(op.f("run_items_run_pk_status_idx"), "run_items", ["run_pk", "status"], unique=False)
    op.create_index(op.f("run_items_track_pk_idx"), "run_items", ["track_pk"], unique=False)
    op.create_table(
        "run_metrics",
        sa.Column("run_pk", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("metric_pk", sa.BigInteger(), nullable=True),
        sa.Column("name", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["metric_pk"], ["metrics.id"], name=op.f("run_metrics_metric_pk_fkey"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(["run_pk"], ["runs.id"], name=op.f("run_metrics_run_pk_fkey"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_pk", "position", name=op.f("run_metrics_pkey")),
    )
    op.create_index(op.f("run_metrics_metric_pk_idx"), "run_metrics", ["metric_pk"], unique=False)
    op.create_table(
        "run_tracks",
        sa.Column("run_pk", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("track_pk", sa.BigInteger(), nullable=True),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("model_pk", sa.BigInteger(), nullable=False),
        sa.Column("provider", sa.String(), nullable=False),
        sa.Column("model_name", sa.String(), nullable=False),
        sa.Column("base_url", sa.String(), nullable=True),
        sa.Column("api_key_variable", sa.String(), nullable=True),
        sa.Column("input_price", sa.Numeric(), nullable=True),
        sa.Column("output_price", sa.Numeric(), nullable=True),
        sa.Column("system_prompt", sa.String(), nullable=True),
        sa.Column("temperature", sa.Double(), nullable=True),
        sa.Column("top_p", sa.Double(), nullable=True),
        sa.Column("max_output_tokens", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(["model_pk"], ["models.id"], name=op.f("run_tracks_model_pk_fkey")),
        sa.ForeignKeyConstraint(["run_pk"], ["runs.id"], name=op.f("run_tracks_run_pk_fkey"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["track_pk"], ["tracks.id"], name=op.f("run_tracks_track_pk_fkey"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("run_pk", "position", name=op.f("run_tracks_pkey")),
    )
    op.create_index(op.f("run_tracks_track_pk_idx"), "run_tracks", ["track_pk"], unique=False)
    op.create_table(
        "scores",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("row_pk", sa.BigInteger(), nullable=False),
        sa.Column("track_pk", sa.BigInteger(), nullable=False),
        sa.Column("metric_pk", sa.BigInteger(), nullable=False),
        sa.Column("variable", sa.String(), nullable=False),
        sa.Column(
            "status",
            sa.Enum("SCORED", "FAILED", "SKIPPED", name="status", native_enum=False, create_constraint=True, length=32),
            nullable=False,
        ),
        sa.Column("number", sa.Double(), nullable=True),
        sa.Column("boolean", sa.Boolean(), nullable=True),
        sa.Column("text", sa.String(), nullable=True),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("raw_reply", sa.String(), nullable=True),
        sa.Column("cost", sa.Numeric(), nullable=True),
        sa.Column("cell_revision", sa.Integer(), nullable=False),
        sa.Column("expected_revision", sa.Integer(), nullable=True),
        sa.Column("metric_version", sa.Integer(), nullable=False),
        sa.Column("computed_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "num_nonnulls(number, boolean, text) = CASE status WHEN 'SCORED' THEN 1 ELSE 0 END",
            name=op.f("scores_value_check"),
        ),
        sa.CheckConstraint("number NOT IN ('NaN', 'Infinity', '-Infinity')", name=op.f("scores_number_check")),
        sa.ForeignKeyConstraint(
            ["metric_pk", "variable"],
            ["metric_variables.metric_pk", "metric_variables.name"],
            name=op.f("scores_metric_pk_variable_fkey"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["row_pk"], ["benchmark_rows.id"], name=op.f("scores_row_pk_fkey"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["track_pk"], ["tracks.id"], name=op.f("scores_track_pk_fkey"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("scores_pkey")),
        sa.UniqueConstraint(
            "row_pk", "track_pk", "metric_pk", "variable", name=op.f("scores_row_pk_track_pk_metric_pk_variable_key")
        ),
    )
    op.create_index(op.f("scores_metric_pk_variable_idx"), "scores", ["metric_pk", "variable"], unique=False)
    op.create_index(op.f("scores_track_pk_metric_pk_idx"), "scores", ["track_pk", "metric_pk"], unique=False)
    op.create_table(
        "run_input_files",
        sa.Column("run_pk", sa.BigInteger(), nullable=False),
        sa.Column("row_pk", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_pk", "row_pk"],
            ["run_inputs.run_pk", "run_inputs.row_pk"],
            name=op.f("run_input_files_run_pk_row_pk_fkey"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["sha256"], ["files.sha256"], name=op.f("run_input_files_sha256_fkey")),
        sa.PrimaryKeyConstraint("run_pk", "row_pk", "position", name=op.f("run_input_files_pkey")),
    )
    op.create_index(op.f("run_input_files_sha256_idx"), "run_input_files", ["sha256"], unique=False)
    op.add_column("cells", sa.Column("run_pk", sa.BigInteger(), nullable=True))
    op.create_index(
        op.f("cells_run_pk_idx"), "cells", ["run_pk"], unique=False, postgresql_where=sa.text("run_pk IS NOT NULL")
    )
    op.create_foreign_key(op.f("cells_run_pk_fkey"), "cells", "runs", ["run_pk"], ["id"], ondelete="SET NULL")
    op.add_column("models", sa.Column("paced_until", sa.DateTime(timezone=True), nullable=True))
    op.execute(IN_FLIGHT)
    tell_of([*TOLD, "SCORE"])
    for event, (transition, kind) in TRANSITIONS.items():
        op.execute(NOTE.format(event=event, most=MOST, kind=kind))
        op.execute(
            f"CREATE TRIGGER note_scores_{event} AFTER {event.upper()} ON scores"
            f" REFERENCING {transition} TABLE AS {event}_rows FOR EACH STATEMENT"
            f" EXECUTE FUNCTION note_scores_{event}()"
        )
    for name, (body, when) in TRIGGERS.items():
        op.execute(f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} END $$")
        op.execute(f"CREATE TRIGGER {name} {when} EXECUTE FUNCTION {name}()")


def tell_of(kinds: list[str]) -> None:
    words = ", ".join(f"'{kind}'" for kind in kinds)
    op.drop_constraint("benchmark_changes_kind_check", "benchmark_changes")
    op.create_check_constraint(op.f("benchmark_changes_kind_check"), "benchmark_changes", f"kind IN ({words})")


def downgrade() -> None:
    op.execute("DROP FUNCTION calls_in_flight")
    for name in TRIGGERS:
        op.execute(f"DROP FUNCTION {name}() CASCADE")
    for event in TRANSITIONS:
        op.execute(f"DROP FUNCTION note_scores_{event}() CASCADE")
    op.execute("DELETE FROM benchmark_changes WHERE kind = 'SCORE'")
    tell_of(TOLD)
    op.drop_column("models", "paced_until")
    op.drop_constraint(op.f("cells_run_pk_fkey"), "cells", type_="foreignkey")
    op.drop_index(op.f("cells_run_pk_idx"), table_name="cells", postgresql_where=sa.text("run_pk IS NOT NULL"))
    op.drop_column("cells", "run_pk")
    op.drop_index(op.f("run_input_files_sha256_idx"), table_name="run_input_files")
    op.drop_table("run_input_files")
    op.drop_index(op.f("scores_track_pk_metric_pk_idx"), table_name="scores")
    op.drop_index(op.f("scores_metric_pk_variable_idx"), table_name="scores")
    op.drop_table("scores")
    op.drop_index(op.f("run_tracks_track_pk_idx"), table_name="run_tracks")
    op.drop_table("run_tracks")
    op.drop_index(op.f("run_metrics_metric_pk_idx"), table_name="run_metrics")
    op.drop_table("run_metrics")
    op.drop_index(op.f("run_items_track_pk_idx"), table_name="run_items")
    op.drop_index(op.f("run_items_run_pk_status_idx"), table_name="run_items")
    op.drop_index("run_items_waiting_idx", table_name="run_items")
    op.drop_index(op.f("run_items_row_pk_idx"), table_name="run_items")
    op.drop_index(
        "run_items_queue_idx",
        table_name="run_items",
        postgresql_where=sa.text("token IS NULL AND stage <> 'WAIT' AND status IN ('QUEUED', 'RUNNING')"),
    )
    op.drop_index(
        "run_items_pending_idx", table_name="run_items", postgresql_where=sa.text("status IN ('QUEUED', 'RUNNING')")
    )
    op.drop_index(
        "run_items_one_generation_key",
        table_name="run_items",
        postgresql_where=sa.text("stage = 'GENERATE' AND status IN ('QUEUED', 'RUNNING')"),
    )
    op.drop_index("run_items_held_idx", table_name="run_items", postgresql_where=sa.text("token IS NOT NULL"))
    op.drop_index(
        "run_items_active_idx", table_name="run_items", postgresql_where=sa.text("status IN ('QUEUED', 'RUNNING')")
    )
    op.drop_table("run_items")
    op.drop_table("run_inputs")
    op.drop_index(op.f("runs_created_at_idx"), table_name="runs")
    op.drop_index(op.f("runs_benchmark_pk_id_idx"), table_name="runs")
    op.drop_index("runs_active_idx", table_name="runs", postgresql_where=sa.text("status IN ('QUEUED', 'RUNNING')"))
    op.drop_table("runs")
    op.drop_index(op.f("benchmark_metrics_metric_pk_idx"), table_name="benchmark_metrics")
    op.drop_table("benchmark_metrics")
    op.drop_table("metric_variables")
    op.drop_index(op.f("metrics_judge_model_pk_idx"), table_name="metrics")
    op.drop_table("metrics")
