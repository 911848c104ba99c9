"""Tables of benchmarks, whose locked values only a person changes and whose ground truth keeps its history."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

REFUSE_LOCKED = """
CREATE FUNCTION refuse_locked_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF coalesce(current_setting('assay.actor', true), '') = '' THEN
        RAISE EXCEPTION 'a locked value is changed by a person alone, named as assay.actor'
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN coalesce(NEW, OLD);
END $$
"""

CHANGED = "(OLD.text, OLD.value::text, OLD.origin, OLD.locked) IS DISTINCT FROM (NEW.text, NEW.value::text, NEW.origin, NEW.locked)"

KEEP_REVISIONS = """
CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$
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

TOUCHED = {
    "insert": "SELECT DISTINCT row_pk FROM after_change WHERE origin <> 'EMPTY'",
    "update": (
        "SELECT DISTINCT after_change.row_pk FROM after_change JOIN before_change USING (row_pk, field)"
        " WHERE (before_change.text, before_change.value::text, before_change.origin, before_change.locked)"
        " IS DISTINCT FROM (after_change.text, after_change.value::text, after_change.origin, after_change.locked)"
    ),
    # A row that goes takes its history along; a field that goes leaves a revision without it.
    "delete": "SELECT DISTINCT row_pk FROM before_change JOIN benchmark_rows ON benchmark_rows.id = row_pk",
}
TABLES = {
    "insert": "NEW TABLE AS after_change",
    "update": "OLD TABLE AS before_change NEW TABLE AS after_change",
    "delete": "OLD TABLE AS before_change",
}


def upgrade() -> None:
    op.create_table(
        "models",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("provider", sa.String(), nullable=False),
        sa.Column("model_name", sa.String(), nullable=False),
        sa.Column("base_url", sa.String(), nullable=True),
        sa.Column("api_key_variable", sa.String(), nullable=True),
        sa.Column("input_price", sa.Numeric(), nullable=True),
        sa.Column("output_price", sa.Numeric(), nullable=True),
        sa.Column("requests_per_minute", sa.Integer(), nullable=True),
        sa.Column("max_concurrency", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.CheckConstraint("input_price >= 0 AND output_price >= 0", name=op.f("models_prices_check")),
        sa.CheckConstraint("max_concurrency > 0", name=op.f("models_max_concurrency_check")),
        sa.CheckConstraint("requests_per_minute > 0", name=op.f("models_requests_per_minute_check")),
        sa.PrimaryKeyConstraint("id", name=op.f("models_pkey")),
        sa.UniqueConstraint("name", name=op.f("models_name_key")),
    )
    op.create_table(
        "benchmarks",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("description", sa.String(), nullable=True),
        sa.Column(
            "kind",
            sa.Enum("CONVERSATION", "AUTOMATION", name="kind", native_enum=False, create_constraint=True, length=32),
            nullable=False,
        ),
        sa.Column("agent_pk", sa.BigInteger(), nullable=True),
        sa.Column("auto_capture", sa.Boolean(), nullable=False),
        sa.Column("source_track_pk", sa.Integer(), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["agent_pk"], ["agents.id"], name=op.f("benchmarks_agent_pk_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("benchmarks_pkey")),
        sa.UniqueConstraint("name", name=op.f("benchmarks_name_key")),
    )
    op.create_index(op.f("benchmarks_agent_pk_idx"), "benchmarks", ["agent_pk"], unique=False)
    op.create_index(op.f("benchmarks_created_at_idx"), "benchmarks", ["created_at"], unique=False)
    op.create_index(op.f("benchmarks_updated_at_idx"), "benchmarks", ["updated_at"], unique=False)
    op.create_table(
        "benchmark_fields",
        sa.Column("benchmark_pk", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column(
            "type",
            sa.Enum(
                "STRING",
                "NUMBER",
                "BOOLEAN",
                "DATE",
                "LIST",
                "OBJECT",
                name="type",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("description", sa.String(), nullable=True),
        sa.CheckConstraint("name <> ''", name=op.f("benchmark_fields_name_check")),
        sa.ForeignKeyConstraint(
            ["benchmark_pk"], ["benchmarks.id"], name=op.f("benchmark_fields_benchmark_pk_fkey"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("benchmark_pk", "name", name=op.f("benchmark_fields_pkey")),
    )
    op.create_table(
        "benchmark_rows",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("benchmark_pk", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(), nullable=True),
        sa.Column("input", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["benchmark_pk"], ["benchmarks.id"], name=op.f("benchmark_rows_benchmark_pk_fkey"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("benchmark_rows_pkey")),
        sa.UniqueConstraint("benchmark_pk", "key", name=op.f("benchmark_rows_benchmark_pk_key_key")),
        sa.UniqueConstraint("benchmark_pk", "position", name=op.f("benchmark_rows_benchmark_pk_position_key")),
    )
    op.create_table(
        "tracks",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("benchmark_pk", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("model_pk", sa.BigInteger(), nullable=False),
        sa.Column("system_prompt", sa.String(), nullable=True),
        sa.Column("temperature", sa.Float(), nullable=True),
        sa.Column("top_p", sa.Float(), nullable=True),
        sa.Column("max_output_tokens", sa.Integer(), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["benchmark_pk"], ["benchmarks.id"], name=op.f("tracks_benchmark_pk_fkey"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["model_pk"], ["models.id"], name=op.f("tracks_model_pk_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("tracks_pkey")),
        sa.UniqueConstraint("benchmark_pk", "id", name=op.f("tracks_benchmark_pk_id_key")),
        sa.UniqueConstraint("benchmark_pk", "name", name=op.f("tracks_benchmark_pk_name_key")),
    )
    op.create_index(op.f("tracks_model_pk_idx"), "tracks", ["model_pk"], unique=False)
    op.create_table(
        "cells",
        sa.Column("row_pk", sa.BigInteger(), nullable=False),
        sa.Column("track_pk", sa.BigInteger(), nullable=False),
        sa.Column(
            "status",
            sa.Enum(
                "EMPTY", "SUCCEEDED", "FAILED", name="status", native_enum=False, create_constraint=True, length=32
            ),
            nullable=False,
        ),
        sa.Column("output", sa.String(), nullable=True),
        sa.Column("fields", sa.JSON(), nullable=True),
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
        sa.Column("error_attempts", sa.Integer(), nullable=True),
        sa.Column("latency_ms", sa.Integer(), nullable=True),
        sa.Column("input_tokens", sa.Integer(), nullable=True),
        sa.Column("output_tokens", sa.Integer(), nullable=True),
        sa.Column("cost", sa.Numeric(), nullable=True),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("(status = 'FAILED') = (error_kind IS NOT NULL)", name=op.f("cells_error_check")),
        sa.CheckConstraint(
            "status = 'SUCCEEDED' OR (output IS NULL AND fields IS NULL)", name=op.f("cells_output_check")
        ),
        sa.ForeignKeyConstraint(["row_pk"], ["benchmark_rows.id"], name=op.f("cells_row_pk_fkey"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["track_pk"], ["tracks.id"], name=op.f("cells_track_pk_fkey"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("row_pk", "track_pk", name=op.f("cells_pkey")),
    )
    op.create_index(op.f("cells_track_pk_status_idx"), "cells", ["track_pk", "status"], unique=False)
    op.create_table(
        "expected_revisions",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("row_pk", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("text", sa.String(), nullable=True),
        sa.Column("fields", sa.JSON(), nullable=True),
        sa.Column(
            "change",
            sa.Enum(
                "CAPTURED",
                "RECAPTURED",
                "EDITED",
                "CLEARED",
                "UNLOCKED",
                "IMPORTED",
                name="change",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("changed_by", sa.String(), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["row_pk"], ["benchmark_rows.id"], name=op.f("expected_revisions_row_pk_fkey"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("expected_revisions_pkey")),
        sa.UniqueConstraint("row_pk", "revision", name=op.f("expected_revisions_row_pk_revision_key")),
    )
    op.create_table(
        "expected_values",
        sa.Column("row_pk", sa.BigInteger(), nullable=False),
        sa.Column("field", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=True),
        sa.Column("value", sa.JSON(), nullable=True),
        sa.Column(
            "origin",
            sa.Enum(
                "EMPTY", "AUTO", "MANUAL", "MIXED", name="origin", native_enum=False, create_constraint=True, length=32
            ),
            nullable=False,
        ),
        sa.Column("locked", sa.Boolean(), nullable=False),
        sa.Column("source_track_pk", sa.BigInteger(), nullable=True),
        sa.Column("edited_by", sa.String(), nullable=True),
        sa.Column("edited_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("edited_revision", sa.Integer(), nullable=False),
        sa.CheckConstraint("(origin = 'MANUAL') = (edited_by IS NOT NULL)", name=op.f("expected_values_edited_check")),
        sa.CheckConstraint("NOT locked OR origin = 'MANUAL'", name=op.f("expected_values_locked_check")),
        sa.CheckConstraint(
            "origin <> 'EMPTY' OR (text IS NULL AND value IS NULL)", name=op.f("expected_values_empty_check")
        ),
        sa.CheckConstraint("origin IN ('EMPTY', 'AUTO', 'MANUAL')", name=op.f("expected_values_value_origin_check")),
        sa.CheckConstraint("text IS NULL OR field = ''", name=op.f("expected_values_text_check")),
        sa.CheckConstraint("value IS NULL OR field <> ''", name=op.f("expected_values_value_check")),
        sa.ForeignKeyConstraint(
            ["row_pk"], ["benchmark_rows.id"], name=op.f("expected_values_row_pk_fkey"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["source_track_pk"], ["tracks.id"], name=op.f("expected_values_source_track_pk_fkey"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("row_pk", "field", name=op.f("expected_values_pkey")),
    )
    op.create_index(op.f("expected_values_source_track_pk_idx"), "expected_values", ["source_track_pk"], unique=False)
    op.create_table(
        "row_files",
        sa.Column("row_pk", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["row_pk"], ["benchmark_rows.id"], name=op.f("row_files_row_pk_fkey"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["sha256"], ["files.sha256"], name=op.f("row_files_sha256_fkey")),
        sa.PrimaryKeyConstraint("row_pk", "position", name=op.f("row_files_pkey")),
    )
    op.create_index(op.f("row_files_sha256_idx"), "row_files", ["sha256"], unique=False)
    op.create_table(
        "idempotency_keys",
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("input_sha256", sa.String(), nullable=False),
        sa.Column("answer", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("input_sha256 ~ '^[0-9a-f]{64}$'", name=op.f("idempotency_keys_input_sha256_check")),
        sa.PrimaryKeyConstraint("scope", "key", name=op.f("idempotency_keys_pkey")),
    )
    op.create_foreign_key(
        "benchmarks_source_track_fkey",
        "benchmarks",
        "tracks",
        ["id", "source_track_pk"],
        ["benchmark_pk", "id"],
        deferrable=True,
        initially="DEFERRED",
    )

    op.execute(REFUSE_LOCKED)
    op.execute(
        "CREATE TRIGGER expected_values_locked_update BEFORE UPDATE ON expected_values FOR EACH ROW"
        f" WHEN (OLD.locked AND {CHANGED}) EXECUTE FUNCTION refuse_locked_change()"
    )
    op.execute(
        "CREATE TRIGGER expected_values_locked_delete BEFORE DELETE ON expected_values FOR EACH ROW"
        " WHEN (OLD.locked) EXECUTE FUNCTION refuse_locked_change()"
    )
    op.execute(
        "CREATE TRIGGER expected_revisions_immutable BEFORE UPDATE ON expected_revisions"
        " FOR EACH ROW EXECUTE FUNCTION refuse_change()"
    )
    for event, touched in TOUCHED.items():
        name = f"keep_revisions_on_{event}"
        op.execute(KEEP_REVISIONS.format(name=name, touched=touched))
        op.execute(
            f"CREATE TRIGGER {name} AFTER {event} ON expected_values REFERENCING {TABLES[event]}"
            f" FOR EACH STATEMENT EXECUTE FUNCTION {name}()"
        )


def downgrade() -> None:
    op.drop_constraint("benchmarks_source_track_fkey", "benchmarks", type_="foreignkey")
    op.drop_table("row_files")
    op.drop_table("expected_values")
    op.drop_table("expected_revisions")
    op.drop_table("cells")
    op.drop_table("tracks")
    op.drop_table("benchmark_rows")
    op.drop_table("benchmark_fields")
    op.drop_table("benchmarks")
    op.drop_table("models")
    op.drop_table("idempotency_keys")
    for function in (*(f"keep_revisions_on_{event}" for event in TOUCHED), "refuse_locked_change"):
        op.execute(f"DROP FUNCTION {function}()")
