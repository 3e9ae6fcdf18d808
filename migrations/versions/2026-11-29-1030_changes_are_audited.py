"""changes are audited

Revision: 8e2f61b0c7d4, after c41f7a9e26d3.

The database itself refuses to change the log. Only a transaction that sets `proximal.audit_retention` may delete rows.
"""

import sqlalchemy as sa
from alembic import op

revision = "8e2f61b0c7d4"
down_revision = "c41f7a9e26d3"

REFUSE = """
CREATE FUNCTION audit_rows_stay() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('proximal.audit_retention', true) = 'on' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'the audit log is append-only' USING ERRCODE = 'insufficient_privilege';
END $$
"""


def upgrade() -> None:
    op.create_table(
        "audit_rows",
        sa.Column("project_id", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=True),
        sa.Column("user_name", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=True),
        sa.Column("key_id", sa.Text(), nullable=True),
        sa.Column("address", sa.Text(), nullable=True),
        sa.Column("object_kind", sa.Text(), nullable=False),
        sa.Column("object_id", sa.Text(), nullable=True),
        sa.Column("request_id", sa.Text(), nullable=True),
        sa.Column("status", sa.BigInteger(), nullable=True),
        sa.Column("changes", sa.JSON(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "number", name=op.f("pk_audit_rows")),
    )
    for column in ("object_id", "user_id", "at"):
        op.create_index(op.f(f"ix_audit_rows_project_id_{column}"), "audit_rows", ["project_id", column])
    op.create_table(
        "audit_chains",
        sa.Column("project_id", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("hash", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("anchor_number", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("anchor_hash", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.PrimaryKeyConstraint("project_id", name=op.f("pk_audit_chains")),
    )
    op.execute(REFUSE)
    for name, when in (("row", "UPDATE OR DELETE ON audit_rows FOR EACH ROW"), ("table", "TRUNCATE ON audit_rows")):
        op.execute(f"CREATE TRIGGER audit_{name}_stays BEFORE {when} EXECUTE FUNCTION audit_rows_stay()")


def downgrade() -> None:
    op.drop_table("audit_chains")
    op.drop_table("audit_rows")
    op.execute("DROP FUNCTION audit_rows_stay()")
