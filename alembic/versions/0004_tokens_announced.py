"""Tokens tell every process when they change, and never go: the door stays shut once one was made."""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

ANNOUNCE = """
CREATE FUNCTION announce_tokens() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('assay_tokens', '');
    RETURN NULL;
END $$
"""

# Not of last_used_at, which changes all the time and decides nothing.
ANNOUNCED = """
CREATE TRIGGER api_tokens_announced
AFTER INSERT OR UPDATE OF name, role, secret_sha256, expires_at, revoked_at ON api_tokens
FOR EACH STATEMENT EXECUTE FUNCTION announce_tokens()
"""

KEPT = """
CREATE TRIGGER api_tokens_kept BEFORE DELETE ON api_tokens FOR EACH ROW EXECUTE FUNCTION refuse_change()
"""


def upgrade() -> None:
    for statement in (ANNOUNCE, ANNOUNCED, KEPT):
        op.execute(statement)


def downgrade() -> None:
    op.execute("DROP TRIGGER api_tokens_kept ON api_tokens")
    op.execute("DROP TRIGGER api_tokens_announced ON api_tokens")
    op.execute("DROP FUNCTION announce_tokens()")
