"""The source of a benchmark is as wide as the key of the track that it names."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.alter_column("benchmarks", "source_track_pk", type_=sa.BigInteger())


def downgrade() -> None:
    op.alter_column("benchmarks", "source_track_pk", type_=sa.Integer())
