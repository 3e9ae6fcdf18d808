"""jobs know their use, so that a list is sorted by it

Revision: 4b7e19f0c3d8, after c27d90b4e6a1.
"""

from alembic import op

revision = "4b7e19f0c3d8"
down_revision = "c27d90b4e6a1"
_FILL = """
UPDATE jobs SET gpu_seconds = made.seconds FROM (
    SELECT job_id, sum(slots * greatest(extract(epoch FROM ended_at - started_at), 0)) AS seconds
    FROM job_attempts WHERE ended_at IS NOT NULL GROUP BY job_id
) AS made WHERE made.job_id = jobs.id
"""


def upgrade() -> None:
    op.execute("ALTER TABLE jobs ADD gpu_seconds double precision DEFAULT 0 NOT NULL")
    op.execute(_FILL)


def downgrade() -> None:
    op.drop_column("jobs", "gpu_seconds")
