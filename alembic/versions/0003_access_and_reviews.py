"""Tables of access, of claims in the review queue, and of frozen protocols."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "actions",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("mutation", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("actions_pkey")),
    )
    op.create_index(op.f("actions_at_idx"), "actions", ["at"], unique=False)
    op.create_index(op.f("actions_subject_idx"), "actions", ["subject"], unique=False)
    op.create_table(
        "api_tokens",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column(
            "role",
            sa.Enum(
                "VIEWER",
                "REVIEWER",
                "OPERATOR",
                "ADMIN",
                name="role",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("secret_sha256", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("secret_sha256 ~ '^[0-9a-f]{64}$'", name=op.f("api_tokens_secret_sha256_check")),
        sa.PrimaryKeyConstraint("id", name=op.f("api_tokens_pkey")),
        sa.UniqueConstraint("name", name=op.f("api_tokens_name_key")),
        sa.UniqueConstraint("secret_sha256", name=op.f("api_tokens_secret_sha256_key")),
    )
    op.create_table(
        "discovery_protocols",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("budget_cases", sa.Integer(), nullable=False),
        sa.Column("trials", sa.Integer(), nullable=False),
        sa.Column("frozen_by", sa.String(), nullable=False),
        sa.Column("frozen_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("budget_cases > 0", name=op.f("discovery_protocols_budget_cases_check")),
        sa.CheckConstraint("trials > 0", name=op.f("discovery_protocols_trials_check")),
        sa.PrimaryKeyConstraint("id", name=op.f("discovery_protocols_pkey")),
        sa.UniqueConstraint("name", name=op.f("discovery_protocols_name_key")),
    )
    op.create_table(
        "protocol_agents",
        sa.Column("protocol_pk", sa.BigInteger(), nullable=False),
        sa.Column("agent_pk", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("source_sha256", sa.String(), nullable=False),
        sa.CheckConstraint("source_sha256 ~ '^[0-9a-f]{64}$'", name=op.f("protocol_agents_source_sha256_check")),
        sa.ForeignKeyConstraint(["agent_pk"], ["agents.id"], name=op.f("protocol_agents_agent_pk_fkey")),
        sa.ForeignKeyConstraint(
            ["protocol_pk"], ["discovery_protocols.id"], name=op.f("protocol_agents_protocol_pk_fkey")
        ),
        sa.PrimaryKeyConstraint("protocol_pk", "agent_pk", name=op.f("protocol_agents_pkey")),
    )
    op.create_index(op.f("protocol_agents_agent_pk_idx"), "protocol_agents", ["agent_pk"], unique=False)
    op.create_table(
        "trial_suites",
        sa.Column("suite_pk", sa.BigInteger(), nullable=False),
        sa.Column("protocol_pk", sa.BigInteger(), nullable=False),
        sa.Column("trial", sa.Integer(), nullable=False),
        sa.Column("evaluator", sa.String(), nullable=False),
        sa.Column("added_by", sa.String(), nullable=False),
        sa.Column("added_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("trial > 0", name=op.f("trial_suites_trial_check")),
        sa.ForeignKeyConstraint(
            ["protocol_pk"], ["discovery_protocols.id"], name=op.f("trial_suites_protocol_pk_fkey")
        ),
        sa.ForeignKeyConstraint(["suite_pk"], ["suites.id"], name=op.f("trial_suites_suite_pk_fkey")),
        sa.PrimaryKeyConstraint("suite_pk", name=op.f("trial_suites_pkey")),
        sa.UniqueConstraint(
            "protocol_pk", "evaluator", "trial", name=op.f("trial_suites_protocol_pk_evaluator_trial_key")
        ),
    )
    op.create_table(
        "protocol_defects",
        sa.Column("protocol_pk", sa.BigInteger(), nullable=False),
        sa.Column("defect_pk", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("ground_truth_sha256", sa.String(), nullable=False),
        sa.CheckConstraint(
            "ground_truth_sha256 ~ '^[0-9a-f]{64}$'", name=op.f("protocol_defects_ground_truth_sha256_check")
        ),
        sa.ForeignKeyConstraint(["defect_pk"], ["defects.id"], name=op.f("protocol_defects_defect_pk_fkey")),
        sa.ForeignKeyConstraint(
            ["protocol_pk"], ["discovery_protocols.id"], name=op.f("protocol_defects_protocol_pk_fkey")
        ),
        sa.PrimaryKeyConstraint("protocol_pk", "defect_pk", name=op.f("protocol_defects_pkey")),
    )
    op.create_index(op.f("protocol_defects_defect_pk_idx"), "protocol_defects", ["defect_pk"], unique=False)
    op.create_table(
        "review_claims",
        sa.Column("defect_pk", sa.BigInteger(), nullable=False),
        sa.Column("attempt_pk", sa.BigInteger(), nullable=False),
        sa.Column("claimed_by", sa.String(), nullable=False),
        sa.Column("claimed_until", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["attempt_pk"], ["attempts.id"], name=op.f("review_claims_attempt_pk_fkey"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["defect_pk"], ["defects.id"], name=op.f("review_claims_defect_pk_fkey")),
        sa.PrimaryKeyConstraint("defect_pk", "attempt_pk", name=op.f("review_claims_pkey")),
    )
    op.create_index(op.f("review_claims_attempt_pk_idx"), "review_claims", ["attempt_pk"], unique=False)


def downgrade() -> None:
    for table in (
        "review_claims",
        "protocol_defects",
        "trial_suites",
        "protocol_agents",
        "discovery_protocols",
        "api_tokens",
        "actions",
    ):
        op.drop_table(table)
