"""checkpoints know their folder, their seed, and the best

Revision: 6b2e81d57f93, after 1f6a9c04be27.
"""

import sqlalchemy as sa
from alembic import op

revision = "6b2e81d57f93"
down_revision = "1f6a9c04be27"

_OLD_KEY, _NEW_KEY = "uq_checkpoints_job_id_stage_step_final", "uq_checkpoints_job_id_path"


def upgrade() -> None:
    op.add_column("checkpoints", sa.Column("path", sa.Text(), nullable=True))
    op.add_column("checkpoints", sa.Column("best", sa.Boolean(), server_default=sa.text("false"), nullable=False))
    op.add_column("checkpoints", sa.Column("seed", sa.BigInteger(), nullable=True))
    # So far a prefix ended with the folder's name: jobs/JOB/checkpoints/ATTEMPT/NAME.
    op.execute("UPDATE checkpoints SET path = 'checkpoints/' || split_part(blob_prefix, '/', 5)")
    op.drop_constraint(op.f(_OLD_KEY), "checkpoints", type_="unique")
    op.create_unique_constraint(op.f(_NEW_KEY), "checkpoints", ["job_id", "path"])


def downgrade() -> None:
    """Refused by the database while two checkpoints differ in nothing but what the older schema cannot say."""
    op.drop_constraint(op.f(_NEW_KEY), "checkpoints", type_="unique")
    op.create_unique_constraint(op.f(_OLD_KEY), "checkpoints", ["job_id", "stage", "step", "final"])
    for name in ("seed", "best", "path"):
        op.drop_column("checkpoints", name)
