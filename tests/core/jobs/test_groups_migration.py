"""The migration that keeps the last metrics of the earlier stages of stored jobs."""

from alembic import command
from sqlalchemy.orm import Session

from core.db import engine_for
from core.models import Job, JobGroup, JobSeed
from tests.core.old_databases import database_at

BEFORE = "3c7f5e0d91ab"
JOBS = """
    INSERT INTO owners (id, name) VALUES ('key_1', 'k');
    INSERT INTO job_groups (id, owner_id, name, metric) VALUES ('grp_1', 'key_1', 'g', 'kl');
    INSERT INTO jobs (id, owner_id, name, spec, status, status_reason, attempt, last_seq, seeds_done, stage, latest_metrics)
        VALUES ('job_one', 'key_1', 'j', '{"seed": 7, "seeds": 1}', 'queued', '', 0, 0, 0, 'evaluation', '{"kl": 9}'),
               ('job_two', 'key_1', 'j', '{"seed": 7, "seeds": 2}', 'queued', '', 0, 0, 0, 'evaluation', '{}'),
               ('job_new', 'key_1', 'j', '{"seed": 0}', 'queued', '', 0, 0, 0, NULL, '{}');
    INSERT INTO job_seeds (job_id, seed, stage, summary)
        VALUES ('job_two', 7, 'evaluation', '{"win_rate": 1}'), ('job_two', 8, 'evaluation', '{"win_rate": 1}');
    INSERT INTO job_metrics (job_id, seed_index, stage, step, attempt, at, values) VALUES
        ('job_one', 0, 'sft', 1, 1, now(), '{"lr": 1, "loss": 5}'),
        ('job_one', 0, 'ppo', 1, 1, now(), '{"lr": 2, "reward/length": 3}'),
        ('job_one', 0, 'ppo', 2, 1, now(), '{"lr": 2, "reward/length": 4}'),
        ('job_one', 0, 'evaluation', 1, 1, now(), '{"kl": 9}'),
        ('job_two', 0, 'ppo', 1, 1, now(), '{"reward/length": 1, "win_rate_low": 1}'),
        ('job_two', 1, 'ppo', 1, 1, now(), '{"reward/length": 2}');
"""


def test_migration_keeps_metrics_of_earlier_stages(postgres_url: str) -> None:
    with database_at(postgres_url, BEFORE, "groups") as config:
        engine = engine_for(config.attributes["database_url"])
        with engine.begin() as connection:
            connection.exec_driver_sql(JOBS)
        command.upgrade(config, "head")
        with Session(engine) as session:
            found = [session.get_one(Job, f"job_{name}").earlier_metrics for name in ("one", "two", "new")]
            assert found == [{"lr": 2, "loss": 5, "reward/length": 4}, {"reward/length": 1.5}, {}]
            assert session.get_one(JobSeed, ("job_two", 8)).earlier_metrics == {"reward/length": 2}
            assert session.get_one(JobGroup, "grp_1").goal == "maximize"
        command.downgrade(config, BEFORE)
