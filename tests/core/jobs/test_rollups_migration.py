"""The migration that fills the roll-ups, the sparkline and the latest metrics of existing jobs."""

import pytest
from alembic import command
from sqlalchemy import select, text
from sqlalchemy.orm import Session

from core.db import engine_for
from core.jobs.run import rollups
from core.jobs.run.metrics import MetricQuery, series
from core.jobs.run.sparkline import Sparkline, means
from core.models import Job, JobMetricChunk
from tests.core.old_databases import database_at

BEFORE = "b3d8f1a6c720"
STEPS = 3000
JOBS = f"""
    INSERT INTO owners (id, name) VALUES ('key_1', 'k');
    INSERT INTO api_keys (id, owner_id, name, prefix, sha256) VALUES ('key_1', 'key_1', 'k', 'p', 's');
    INSERT INTO jobs (id, owner_id, name, spec, priority, status, status_reason, attempt, last_seq, stage, step)
        VALUES ('job_long', 'key_1', 'j', '{{}}', 0, 'queued', '', 1, 9, 'ppo', {STEPS}),
               ('job_new', 'key_1', 'j', '{{}}', 0, 'queued', '', 0, 1, NULL, NULL);
    INSERT INTO job_metrics (job_id, stage, step, attempt, at, values)
        SELECT 'job_long', 'ppo', n, 1, now(), jsonb_build_object('objective/scores', n / 8.0, 'objective/kl', 1)
               || CASE WHEN mod(n, 10) = 0 THEN jsonb_build_object('eval/win_rate', n) ELSE '{{}}' END
        FROM generate_series(1, {STEPS}) AS n;
    INSERT INTO job_metrics (job_id, stage, step, attempt, at, values)
        SELECT 'job_long', 'sft', n * 100000, 1, now(), '{{"loss": 2.5}}' FROM generate_series(1, 20) AS n;
"""


def chunks(session: Session) -> list[tuple[object, ...]]:
    """Every chunk with its columns, in the order of the key."""
    columns = JobMetricChunk.__table__.columns
    return [tuple(row) for row in session.execute(select(*columns).order_by(*columns[:6]))]


@pytest.mark.slow
def test_migration_fills_what_the_worker_would_have_written(postgres_url: str) -> None:
    with database_at(postgres_url, BEFORE, "rollups") as config:
        engine = engine_for(config.attributes["database_url"])
        with engine.begin() as connection:
            connection.exec_driver_sql(JOBS)
        command.upgrade(config, "head")
        with Session(engine) as session:
            filled = chunks(session)
            session.execute(text("DELETE FROM job_metric_chunks"))
            rollups.roll_up(session, "job_long", "ppo", 1, STEPS)
            rollups.roll_up(session, "job_long", "sft", 100_000, 2_000_000)
            assert filled == chunks(session) and len(filled) > 60
            figures = select(Job.latest_metrics, Job.reward_line).order_by(Job.id)  # later releases add other columns
            long, new = session.execute(figures).all()
            assert long.latest_metrics == {"objective/scores": STEPS / 8, "objective/kl": 1, "eval/win_rate": STEPS}
            line = Sparkline(0, [])
            for step in range(1, STEPS + 1):
                line.add(step, step / 8)
            assert means(long.reward_line) == pytest.approx(means(line.as_column()))
            assert (new.latest_metrics, new.reward_line) == ({}, None)
            (loss,) = series(session, "job_long", MetricQuery("sft"))[0]
            assert (len(loss.steps), set(loss.last)) == (20, {2.5})
        command.downgrade(config, BEFORE)
