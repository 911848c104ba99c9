"""The documents of what the API keeps, as they came, so that an export can write them again."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "suite_files",
        sa.Column("suite_pk", sa.BigInteger(), nullable=False),
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["sha256"], ["files.sha256"], name=op.f("suite_files_sha256_fkey")),
        sa.ForeignKeyConstraint(["suite_pk"], ["suites.id"], name=op.f("suite_files_suite_pk_fkey")),
        sa.PrimaryKeyConstraint("suite_pk", "path", name=op.f("suite_files_pkey")),
    )
    op.create_index(op.f("suite_files_sha256_idx"), "suite_files", ["sha256"], unique=False)
    op.add_column("agents", sa.Column("description_sha256", sa.String(), nullable=True))
    op.create_foreign_key(op.f("agents_description_sha256_fkey"), "agents", "files", ["description_sha256"], ["sha256"])
    op.create_index(op.f("agents_description_sha256_idx"), "agents", ["description_sha256"], unique=False)


def downgrade() -> None:
    op.drop_column("agents", "description_sha256")
    op.drop_table("suite_files")
