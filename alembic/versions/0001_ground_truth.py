"""Tables of ground truth: trees, agents, defects, Suites, assessments."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

REASONS = (
    "REGISTRY_INVALID",
    "DUPLICATE_AGENT",
    "PATH_ESCAPE",
    "AGENT_TOML_INVALID",
    "AGENT_IDENTITY_MISMATCH",
    "UNSUPPORTED_SCHEMA",
    "DUPLICATE_DEFECT",
    "DUPLICATE_OBSERVATION",
    "OBSERVATION_CASE_MISMATCH",
    "DUPLICATE_EVIDENCE",
    "EVIDENCE_DIGEST_MISMATCH",
    "TOO_FEW_OBSERVATIONS",
    "FILE_UNAVAILABLE",
    "FILE_TOO_LARGE",
    "NOT_A_REGULAR_FILE",
    "INVALID_JSON",
    "INVALID_FIELD",
    "SUITE_IDENTITY_MISMATCH",
    "UNAVAILABLE_SUITE",
    "AMBIGUOUS_SUITE",
    "UNKNOWN_DEFECT",
    "UNKNOWN_AGENT",
    "UNKNOWN_CASE_SLOT",
    "UNKNOWN_ATTEMPT",
    "STALE_REVISION",
    "INVALID_DECISION",
    "NO_PROVENANCE",
    "SOURCE_MISMATCH",
    "CASE_DIGEST_MISMATCH",
    "CASE_ARTIFACT_MISMATCH",
    "RESULT_DIGEST_MISMATCH",
    "EXECUTION_ERROR",
    "EXECUTION_INCOMPLETE",
    "EVIDENCE_REJECTED",
    "EVIDENCE_INVALID",
    "REPORT_MISSING",
    "CONFLICTING_ASSESSMENTS",
    "TREE_OWNED",
    "API_OWNED",
    "UNKNOWN_SUITE",
    "ARCHIVE_INVALID",
    "TOO_MANY_FILES",
    "REVIEW_CLAIMED",
    "SUITE_BEFORE_FREEZE",
    "SUITE_USED",
    "EVALUATOR_UNSUITABLE",
)


def upgrade() -> None:
    op.create_table(
        "files",
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("media_type", sa.String(), nullable=True),
        sa.Column("stored_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("sha256 ~ '^[0-9a-f]{64}$'", name=op.f("files_sha256_check")),
        sa.PrimaryKeyConstraint("sha256", name=op.f("files_pkey")),
    )
    op.create_table(
        "trees",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("root", sa.String(), nullable=False),
        sa.Column("registry_valid", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("trees_pkey")),
        sa.UniqueConstraint("name", name=op.f("trees_name_key")),
    )
    op.create_table(
        "agents",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("agent_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("framework", sa.String(), nullable=True),
        sa.Column("source_sha256", sa.String(), nullable=True),
        sa.Column(
            "keeper",
            sa.Enum("API", "TREE", name="keeper", native_enum=False, create_constraint=True, length=32),
            nullable=False,
        ),
        sa.Column("tree_id", sa.BigInteger(), nullable=True),
        sa.Column("unit_path", sa.String(), nullable=True),
        sa.Column(
            "manifest_state",
            sa.Enum(
                "MISSING",
                "VALID",
                "INVALID",
                name="manifest_state",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("manifest_head", sa.JSON(), nullable=True),
        sa.Column("manifest_sha256", sa.String(), nullable=True),
        sa.Column("listed", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("retired_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("(keeper = 'TREE') = (tree_id IS NOT NULL)", name=op.f("agents_keeper_tree_check")),
        sa.CheckConstraint("source_sha256 ~ '^[0-9a-f]{64}$'", name=op.f("agents_source_sha256_check")),
        sa.ForeignKeyConstraint(["manifest_sha256"], ["files.sha256"], name=op.f("agents_manifest_sha256_fkey")),
        sa.ForeignKeyConstraint(["tree_id"], ["trees.id"], name=op.f("agents_tree_id_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("agents_pkey")),
        sa.UniqueConstraint("agent_id", name=op.f("agents_agent_id_key")),
    )
    op.create_index(op.f("agents_created_at_idx"), "agents", ["created_at"], unique=False)
    op.create_index(op.f("agents_manifest_sha256_idx"), "agents", ["manifest_sha256"], unique=False)
    op.create_index(op.f("agents_tree_id_idx"), "agents", ["tree_id"], unique=False)
    op.create_index(op.f("agents_updated_at_idx"), "agents", ["updated_at"], unique=False)
    op.create_table(
        "import_warnings",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("tree_id", sa.BigInteger(), nullable=False),
        sa.Column(
            "code", sa.Enum(*REASONS, name="code", native_enum=False, create_constraint=True, length=32), nullable=False
        ),
        sa.Column("message", sa.String(), nullable=False),
        sa.Column("agent_id", sa.String(), nullable=True),
        sa.Column("suite_id", sa.String(), nullable=True),
        sa.Column("assessment_index", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["tree_id"], ["trees.id"], name=op.f("import_warnings_tree_id_fkey"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("import_warnings_pkey")),
    )
    op.create_index(op.f("import_warnings_tree_id_idx"), "import_warnings", ["tree_id"], unique=False)
    op.create_table(
        "suites",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("suite_id", sa.String(), nullable=False),
        sa.Column(
            "state",
            sa.Enum(
                "PLANNED",
                "RUNNING",
                "COMPLETE",
                "INTERRUPTED",
                name="state",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column(
            "provenance",
            sa.Enum("CANONICAL", "LEGACY", name="provenance", native_enum=False, create_constraint=True, length=32),
            nullable=False,
        ),
        sa.Column("provenance_sha256", sa.String(), nullable=True),
        sa.Column("origin_suite_id", sa.String(), nullable=True),
        sa.Column(
            "source_status",
            sa.Enum(
                "RECORDED",
                "PARTIAL",
                "MIXED",
                "NOT_RECORDED",
                name="source_status",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("sdk", sa.String(), nullable=True),
        sa.Column("sdks", sa.ARRAY(sa.Text()), nullable=False),
        sa.Column("configured_sdk", sa.String(), nullable=True),
        sa.Column("provider_modes", sa.ARRAY(sa.Text()), nullable=False),
        sa.Column(
            "evidence",
            sa.Enum(
                "PLAN",
                "RESULTS",
                "PLAN_AND_RESULTS",
                "NONE",
                name="evidence",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("evaluator", sa.String(), nullable=False),
        sa.Column(
            "keeper",
            sa.Enum("API", "TREE", name="keeper", native_enum=False, create_constraint=True, length=32),
            nullable=False,
        ),
        sa.Column("tree_id", sa.BigInteger(), nullable=True),
        sa.Column("directory", sa.String(), nullable=True),
        sa.Column("content_sha256", sa.String(), nullable=False),
        sa.Column(
            "fault",
            sa.Enum(*REASONS, name="fault", native_enum=False, create_constraint=True, length=32),
            nullable=True,
        ),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("imported_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("retired_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("(keeper = 'TREE') = (tree_id IS NOT NULL)", name=op.f("suites_keeper_tree_check")),
        sa.CheckConstraint(
            "(provenance = 'CANONICAL') = (provenance_sha256 IS NOT NULL)", name=op.f("suites_provenance_digest_check")
        ),
        sa.CheckConstraint("content_sha256 ~ '^[0-9a-f]{64}$'", name=op.f("suites_content_sha256_check")),
        sa.CheckConstraint("provenance_sha256 ~ '^[0-9a-f]{64}$'", name=op.f("suites_provenance_sha256_check")),
        sa.ForeignKeyConstraint(["tree_id"], ["trees.id"], name=op.f("suites_tree_id_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("suites_pkey")),
        sa.UniqueConstraint("suite_id", name=op.f("suites_suite_id_key")),
    )
    op.create_index(op.f("suites_created_at_idx"), "suites", ["created_at"], unique=False)
    op.create_index(op.f("suites_evaluator_idx"), "suites", ["evaluator"], unique=False)
    op.create_index(op.f("suites_imported_at_idx"), "suites", ["imported_at"], unique=False)
    op.create_index(op.f("suites_tree_id_idx"), "suites", ["tree_id"], unique=False)
    op.create_table(
        "tree_files",
        sa.Column("tree_id", sa.BigInteger(), nullable=False),
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["sha256"], ["files.sha256"], name=op.f("tree_files_sha256_fkey")),
        sa.ForeignKeyConstraint(["tree_id"], ["trees.id"], name=op.f("tree_files_tree_id_fkey"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tree_id", "path", name=op.f("tree_files_pkey")),
    )
    op.create_index(op.f("tree_files_sha256_idx"), "tree_files", ["sha256"], unique=False)
    op.create_table(
        "cases",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("suite_pk", sa.BigInteger(), nullable=False),
        sa.Column("agent_id", sa.String(), nullable=False),
        sa.Column("case_index", sa.Integer(), nullable=False),
        sa.Column("case_id", sa.String(), nullable=True),
        sa.Column("artifact_path", sa.String(), nullable=True),
        sa.Column("artifact_sha256", sa.String(), nullable=True),
        sa.Column(
            "artifact_fault",
            sa.Enum(*REASONS, name="artifact_fault", native_enum=False, create_constraint=True, length=32),
            nullable=True,
        ),
        sa.Column("artifact_file", sa.String(), nullable=True),
        sa.Column("execution_status", sa.String(), nullable=False),
        sa.Column("origin", sa.JSON(), nullable=True),
        sa.CheckConstraint("artifact_sha256 ~ '^[0-9a-f]{64}$'", name=op.f("cases_artifact_sha256_check")),
        sa.CheckConstraint("case_index >= 0", name=op.f("cases_case_index_check")),
        sa.ForeignKeyConstraint(["artifact_file"], ["files.sha256"], name=op.f("cases_artifact_file_fkey")),
        sa.ForeignKeyConstraint(["suite_pk"], ["suites.id"], name=op.f("cases_suite_pk_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("cases_pkey")),
        sa.UniqueConstraint("suite_pk", "agent_id", "case_index", name=op.f("cases_suite_pk_agent_id_case_index_key")),
    )
    op.create_index(op.f("cases_agent_id_idx"), "cases", ["agent_id"], unique=False)
    op.create_index(op.f("cases_artifact_file_idx"), "cases", ["artifact_file"], unique=False)
    op.create_table(
        "defects",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("agent_pk", sa.BigInteger(), nullable=False),
        sa.Column("defect_id", sa.String(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("expected_behavior", sa.String(), nullable=False),
        sa.Column("observed_behavior", sa.String(), nullable=False),
        sa.Column("confirmed_by", sa.String(), nullable=False),
        sa.Column("confirmed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("source_sha256", sa.String(), nullable=False),
        sa.Column("case_sha256", sa.String(), nullable=False),
        sa.Column("ground_truth_sha256", sa.String(), nullable=False),
        sa.Column("extra", sa.JSON(), nullable=True),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column(
            "keeper",
            sa.Enum("API", "TREE", name="keeper", native_enum=False, create_constraint=True, length=32),
            nullable=False,
        ),
        sa.Column("tree_id", sa.BigInteger(), nullable=True),
        sa.Column("retired_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("(keeper = 'TREE') = (tree_id IS NOT NULL)", name=op.f("defects_keeper_tree_check")),
        sa.CheckConstraint("case_sha256 ~ '^[0-9a-f]{64}$'", name=op.f("defects_case_sha256_check")),
        sa.CheckConstraint(
            "defect_id ~ '[^[:space:]]' AND title ~ '[^[:space:]]' AND expected_behavior ~ '[^[:space:]]' AND observed_behavior ~ '[^[:space:]]' AND confirmed_by ~ '[^[:space:]]'",
            name=op.f("defects_texts_check"),
        ),
        sa.CheckConstraint("ground_truth_sha256 ~ '^[0-9a-f]{64}$'", name=op.f("defects_ground_truth_sha256_check")),
        sa.CheckConstraint("source_sha256 ~ '^[0-9a-f]{64}$'", name=op.f("defects_source_sha256_check")),
        sa.ForeignKeyConstraint(["agent_pk"], ["agents.id"], name=op.f("defects_agent_pk_fkey")),
        sa.ForeignKeyConstraint(["tree_id"], ["trees.id"], name=op.f("defects_tree_id_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("defects_pkey")),
        sa.UniqueConstraint("agent_pk", "defect_id", name=op.f("defects_agent_pk_defect_id_key")),
    )
    op.create_index(op.f("defects_case_sha256_idx"), "defects", ["case_sha256"], unique=False)
    op.create_index(op.f("defects_confirmed_at_idx"), "defects", ["confirmed_at"], unique=False)
    op.create_index(op.f("defects_defect_id_idx"), "defects", ["defect_id"], unique=False)
    op.create_index(op.f("defects_ground_truth_sha256_idx"), "defects", ["ground_truth_sha256"], unique=False)
    op.create_index(op.f("defects_source_sha256_idx"), "defects", ["source_sha256"], unique=False)
    op.create_index(op.f("defects_tree_id_idx"), "defects", ["tree_id"], unique=False)
    op.create_table(
        "suite_agents",
        sa.Column("suite_pk", sa.BigInteger(), nullable=False),
        sa.Column("agent_id", sa.String(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("source_sha256", sa.String(), nullable=True),
        sa.Column("case_count", sa.Integer(), nullable=False),
        sa.Column("completed_case_count", sa.Integer(), nullable=False),
        sa.CheckConstraint("source_sha256 ~ '^[0-9a-f]{64}$'", name=op.f("suite_agents_source_sha256_check")),
        sa.CheckConstraint(
            "0 <= completed_case_count AND completed_case_count <= case_count", name=op.f("suite_agents_counts_check")
        ),
        sa.ForeignKeyConstraint(["suite_pk"], ["suites.id"], name=op.f("suite_agents_suite_pk_fkey")),
        sa.PrimaryKeyConstraint("suite_pk", "agent_id", name=op.f("suite_agents_pkey")),
    )
    op.create_index(op.f("suite_agents_agent_id_idx"), "suite_agents", ["agent_id"], unique=False)
    op.create_table(
        "attempts",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("case_pk", sa.BigInteger(), nullable=False),
        sa.Column("attempt_id", sa.String(), nullable=False),
        sa.Column("attempt_number", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("execution_status", sa.String(), nullable=False),
        sa.Column("judge_status", sa.String(), nullable=True),
        sa.Column("report", sa.JSON(), nullable=True),
        sa.Column("has_report", sa.Boolean(), nullable=False),
        sa.Column("result", sa.JSON(), nullable=True),
        sa.Column("result_sha256", sa.String(), nullable=True),
        sa.Column("host_acceptance", sa.String(), nullable=True),
        sa.Column("evidence_status", sa.String(), nullable=True),
        sa.Column("host_trace_validation", sa.String(), nullable=True),
        sa.Column("error", sa.JSON(), nullable=True),
        sa.Column(
            "refusal",
            sa.Enum(*REASONS, name="refusal", native_enum=False, create_constraint=True, length=32),
            nullable=True,
        ),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("result_sha256 ~ '^[0-9a-f]{64}$'", name=op.f("attempts_result_sha256_check")),
        sa.ForeignKeyConstraint(["case_pk"], ["cases.id"], name=op.f("attempts_case_pk_fkey"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("attempts_pkey")),
        sa.UniqueConstraint("case_pk", "attempt_id", name=op.f("attempts_case_pk_attempt_id_key")),
    )
    op.create_index(op.f("attempts_finished_at_idx"), "attempts", ["finished_at"], unique=False)
    op.create_index(op.f("attempts_result_sha256_idx"), "attempts", ["result_sha256"], unique=False)
    op.create_index(op.f("attempts_started_at_idx"), "attempts", ["started_at"], unique=False)
    op.create_table(
        "defect_revisions",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("defect_pk", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("ground_truth_sha256", sa.String(), nullable=False),
        sa.Column("record", sa.JSON(), nullable=False),
        sa.Column("recorded_by", sa.String(), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "ground_truth_sha256 ~ '^[0-9a-f]{64}$'", name=op.f("defect_revisions_ground_truth_sha256_check")
        ),
        sa.CheckConstraint("revision > 0", name=op.f("defect_revisions_revision_check")),
        sa.ForeignKeyConstraint(["defect_pk"], ["defects.id"], name=op.f("defect_revisions_defect_pk_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("defect_revisions_pkey")),
        sa.UniqueConstraint(
            "defect_pk",
            "revision",
            "ground_truth_sha256",
            name=op.f("defect_revisions_defect_pk_revision_ground_truth_sha256_key"),
        ),
        sa.UniqueConstraint("defect_pk", "revision", name=op.f("defect_revisions_defect_pk_revision_key")),
    )
    op.create_table(
        "defect_suites",
        sa.Column("defect_pk", sa.BigInteger(), nullable=False),
        sa.Column("suite_pk", sa.BigInteger(), nullable=False),
        sa.Column("accepted", sa.Integer(), nullable=False),
        sa.Column("complete", sa.Integer(), nullable=False),
        sa.Column("reproduced", sa.Integer(), nullable=False),
        sa.Column("not_reproduced", sa.Integer(), nullable=False),
        sa.Column("detected", sa.Integer(), nullable=False),
        sa.Column("not_detected", sa.Integer(), nullable=False),
        sa.Column("judged", sa.Integer(), nullable=False),
        sa.Column("recalled", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["defect_pk"], ["defects.id"], name=op.f("defect_suites_defect_pk_fkey")),
        sa.ForeignKeyConstraint(["suite_pk"], ["suites.id"], name=op.f("defect_suites_suite_pk_fkey")),
        sa.PrimaryKeyConstraint("defect_pk", "suite_pk", name=op.f("defect_suites_pkey")),
    )
    op.create_index(op.f("defect_suites_suite_pk_idx"), "defect_suites", ["suite_pk"], unique=False)
    op.create_table(
        "assessments",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("suite_pk", sa.BigInteger(), nullable=False),
        sa.Column("agent_id", sa.String(), nullable=False),
        sa.Column("case_index", sa.Integer(), nullable=False),
        sa.Column("attempt_id", sa.String(), nullable=False),
        sa.Column("defect_id", sa.String(), nullable=False),
        sa.Column("defect_pk", sa.BigInteger(), nullable=True),
        sa.Column("attempt_pk", sa.BigInteger(), nullable=True),
        sa.Column("ground_truth_sha256", sa.String(), nullable=True),
        sa.Column("case_sha256", sa.String(), nullable=True),
        sa.Column("result_sha256", sa.String(), nullable=True),
        sa.Column("case_reproduced", sa.Boolean(), nullable=True),
        sa.Column("judge_detected", sa.Boolean(), nullable=True),
        sa.Column("reviewed_by", sa.String(), nullable=True),
        sa.Column("reviewed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("rationale", sa.String(), nullable=True),
        sa.Column(
            "status",
            sa.Enum(
                "ACCEPTED", "REFUSED", "WITHDRAWN", name="status", native_enum=False, create_constraint=True, length=32
            ),
            nullable=False,
        ),
        sa.Column(
            "reason",
            sa.Enum(*REASONS, name="reason", native_enum=False, create_constraint=True, length=32),
            nullable=True,
        ),
        sa.Column("echo", sa.Boolean(), nullable=False),
        sa.Column("trial", sa.Boolean(), nullable=False),
        sa.Column(
            "keeper",
            sa.Enum("API", "TREE", name="keeper", native_enum=False, create_constraint=True, length=32),
            nullable=False,
        ),
        sa.Column("tree_id", sa.BigInteger(), nullable=True),
        sa.Column("record", sa.JSON(), nullable=True),
        sa.Column("record_sha256", sa.String(), nullable=True),
        sa.Column("sidecar_index", sa.Integer(), nullable=True),
        sa.Column("fault_step", sa.Integer(), nullable=True),
        sa.Column(
            "fault_code",
            sa.Enum(*REASONS, name="fault_code", native_enum=False, create_constraint=True, length=32),
            nullable=True,
        ),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("recorded_by", sa.String(), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "(keeper = 'TREE') = (record_sha256 IS NOT NULL)", name=op.f("assessments_keeper_record_check")
        ),
        sa.CheckConstraint("(keeper = 'TREE') = (tree_id IS NOT NULL)", name=op.f("assessments_keeper_tree_check")),
        sa.CheckConstraint(
            "(status = 'REFUSED' AND NOT echo) = (reason IS NOT NULL)", name=op.f("assessments_reason_given_check")
        ),
        sa.CheckConstraint("NOT echo OR status = 'REFUSED'", name=op.f("assessments_echo_check")),
        sa.CheckConstraint("case_sha256 ~ '^[0-9a-f]{64}$'", name=op.f("assessments_case_sha256_check")),
        sa.CheckConstraint(
            "fault_code IS NULL OR status <> 'ACCEPTED'", name=op.f("assessments_faulty_never_accepted_check")
        ),
        sa.CheckConstraint(
            "ground_truth_sha256 ~ '^[0-9a-f]{64}$'", name=op.f("assessments_ground_truth_sha256_check")
        ),
        sa.CheckConstraint("record_sha256 ~ '^[0-9a-f]{64}$'", name=op.f("assessments_record_sha256_check")),
        sa.CheckConstraint("result_sha256 ~ '^[0-9a-f]{64}$'", name=op.f("assessments_result_sha256_check")),
        sa.CheckConstraint(
            "status <> 'ACCEPTED' OR (defect_pk IS NOT NULL AND attempt_pk IS NOT NULL)",
            name=op.f("assessments_accepted_ground_check"),
        ),
        sa.CheckConstraint("(fault_code IS NULL) = (fault_step IS NULL)", name=op.f("assessments_fault_whole_check")),
        sa.CheckConstraint(
            "fault_code IS NOT NULL OR judge_detected IS NOT TRUE OR case_reproduced IS TRUE",
            name=op.f("assessments_decision_check"),
        ),
        sa.CheckConstraint(
            "fault_code IS NOT NULL OR num_nulls(ground_truth_sha256, case_sha256, result_sha256, reviewed_by, reviewed_at, rationale) = 0",
            name=op.f("assessments_form_check"),
        ),
        sa.CheckConstraint("version > 0", name=op.f("assessments_version_check")),
        sa.ForeignKeyConstraint(
            ["attempt_pk"], ["attempts.id"], name=op.f("assessments_attempt_pk_fkey"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(["defect_pk"], ["defects.id"], name=op.f("assessments_defect_pk_fkey")),
        sa.ForeignKeyConstraint(["suite_pk"], ["suites.id"], name=op.f("assessments_suite_pk_fkey")),
        sa.ForeignKeyConstraint(["tree_id"], ["trees.id"], name=op.f("assessments_tree_id_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("assessments_pkey")),
    )
    op.create_index(op.f("assessments_agent_id_defect_id_idx"), "assessments", ["agent_id", "defect_id"], unique=False)
    op.create_index(
        "assessments_api_key",
        "assessments",
        ["suite_pk", "agent_id", "case_index", "attempt_id", "defect_id"],
        unique=True,
        postgresql_where=sa.text("keeper = 'API' AND NOT trial"),
    )
    op.create_index(
        "assessments_trial_key",
        "assessments",
        ["suite_pk", "agent_id", "case_index", "attempt_id", "defect_id", "ground_truth_sha256"],
        unique=True,
        postgresql_where=sa.text("keeper = 'API' AND trial"),
    )
    op.create_index(op.f("assessments_attempt_pk_idx"), "assessments", ["attempt_pk"], unique=False)
    op.create_index(
        op.f("assessments_defect_pk_reviewed_at_idx"), "assessments", ["defect_pk", "reviewed_at"], unique=False
    )
    op.create_index(op.f("assessments_recorded_at_idx"), "assessments", ["recorded_at"], unique=False)
    op.create_index(
        "assessments_refused_idx",
        "assessments",
        ["suite_pk", "sidecar_index"],
        unique=False,
        postgresql_where=sa.text("status = 'REFUSED'"),
    )
    op.create_index(op.f("assessments_reviewed_at_idx"), "assessments", ["reviewed_at"], unique=False)
    op.create_index(
        "assessments_standing_key",
        "assessments",
        ["suite_pk", "agent_id", "case_index", "attempt_id", "defect_id"],
        unique=True,
        postgresql_where=sa.text("status = 'ACCEPTED'"),
    )
    op.create_index(op.f("assessments_tree_id_idx"), "assessments", ["tree_id"], unique=False)
    op.create_index(
        "assessments_tree_key",
        "assessments",
        ["suite_pk", "agent_id", "case_index", "attempt_id", "defect_id", "record_sha256"],
        unique=True,
        postgresql_where=sa.text("keeper = 'TREE' AND status <> 'WITHDRAWN'"),
    )
    op.create_table(
        "observations",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("revision_pk", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("observation_id", sa.String(), nullable=False),
        sa.Column("case_sha256", sa.String(), nullable=False),
        sa.Column("evidence_path", sa.String(), nullable=False),
        sa.Column("evidence_sha256", sa.String(), nullable=False),
        sa.CheckConstraint("case_sha256 ~ '^[0-9a-f]{64}$'", name=op.f("observations_case_sha256_check")),
        sa.ForeignKeyConstraint(["evidence_sha256"], ["files.sha256"], name=op.f("observations_evidence_sha256_fkey")),
        sa.ForeignKeyConstraint(["revision_pk"], ["defect_revisions.id"], name=op.f("observations_revision_pk_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("observations_pkey")),
    )
    op.create_index("observations_id_key", "observations", ["revision_pk", sa.text("md5(observation_id)")], unique=True)
    op.create_index(
        "observations_path_key", "observations", ["revision_pk", sa.text("md5(evidence_path)")], unique=True
    )
    op.create_index(op.f("observations_evidence_sha256_idx"), "observations", ["evidence_sha256"], unique=False)
    op.create_table(
        "assessment_changes",
        sa.Column("assessment_pk", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("ground_truth_sha256", sa.String(), nullable=False),
        sa.Column("case_sha256", sa.String(), nullable=False),
        sa.Column("result_sha256", sa.String(), nullable=False),
        sa.Column("case_reproduced", sa.Boolean(), nullable=True),
        sa.Column("judge_detected", sa.Boolean(), nullable=True),
        sa.Column("reviewed_by", sa.String(), nullable=False),
        sa.Column("reviewed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("rationale", sa.String(), nullable=False),
        sa.Column("changed_by", sa.String(), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("withdrawn", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["assessment_pk"], ["assessments.id"], name=op.f("assessment_changes_assessment_pk_fkey")
        ),
        sa.PrimaryKeyConstraint("assessment_pk", "version", name=op.f("assessment_changes_pkey")),
    )
    op.create_foreign_key(
        "defects_revision_fkey",
        "defects",
        "defect_revisions",
        ["id", "revision", "ground_truth_sha256"],
        ["defect_pk", "revision", "ground_truth_sha256"],
        deferrable=True,
        initially="DEFERRED",
    )


def downgrade() -> None:
    op.drop_constraint("defects_revision_fkey", "defects", type_="foreignkey")
    op.drop_table("assessment_changes")
    op.drop_table("observations")
    op.drop_table("assessments")
    op.drop_table("defect_suites")
    op.drop_table("defect_revisions")
    op.drop_table("attempts")
    op.drop_table("suite_agents")
    op.drop_table("defects")
    op.drop_table("cases")
    op.drop_table("tree_files")
    op.drop_table("suites")
    op.drop_table("import_warnings")
    op.drop_table("agents")
    op.drop_table("trees")
    op.drop_table("files")
