"""Migrations that give metrics and events their seed, and jobs their use, with jobs from before."""

from alembic import command
from sqlalchemy import text
from sqlalchemy.orm import Session

from core.db import engine_for
from core.jobs.run import seeds
from core.jobs.run.metrics import MetricQuery, series
from core.models import Job
from tests.core.old_databases import database_at

BEFORE = "6f0d3a81c7b2"
JOBS = """
    INSERT INTO owners (id, name) VALUES ('key_1', 'k');
    INSERT INTO jobs (id, owner_id, name, spec, status, status_reason, attempt, last_seq, seeds_done, finished_at,
                      summary, reward_line)
        VALUES ('job_two', 'key_1', 'j', '{"seed": 7, "seeds": 2}', 'succeeded', '', 1, 3, 2, now(),
                '{"win_rate": 0.5, "best_step": 4.5}', '{"bits": 0, "buckets": [[1, 0.25, 1]]}'),
               ('job_one', 'key_1', 'j', '{"seed": 7, "seeds": 1}', 'succeeded', '', 1, 0, 0, now(),
                '{"best_step": 6}', NULL);
    INSERT INTO job_metrics (job_id, stage, step, attempt, at, values)
        VALUES ('job_two', 'ppo', 1, 1, now(), '{"objective/scores": 0.25}');
    INSERT INTO job_events (job_id, seq, attempt, type, created_at, data) VALUES
        ('job_two', 1, 1, 'seed_finished', now(), '{"seed": 7, "seconds": 3, "summary": {"best_step": 6}, "why": null}'),
        ('job_two', 2, 1, 'seed_finished', now(), '{"seed": 8, "seconds": 1, "summary": {}, "why": "It diverged."}'),
        ('job_two', 3, 1, 'checkpoint_saved', now(), '{"seed": null, "path": "checkpoints/ppo"}');
    INSERT INTO job_attempts (job_id, number, worker_id, slots, started_at, ended_at, outcome) VALUES
        ('job_one', 1, 'wrk_1', 1, now() - interval '3 h', now() - interval '2 h', 'released'),
        ('job_one', 2, 'wrk_1', 2, now() - interval '90 min', now(), 'finished');
"""


def test_migration_keeps_seeds_of_older_jobs(postgres_url: str) -> None:
    with database_at(postgres_url, BEFORE, "seeds") as config:
        engine = engine_for(config.attributes["database_url"])
        with engine.begin() as connection:
            connection.exec_driver_sql(JOBS)
        command.upgrade(config, "head")
        with Session(engine) as session:
            two, one = session.get_one(Job, "job_two"), session.get_one(Job, "job_one")
            assert (two.gpu_seconds, one.gpu_seconds) == (0, 3600 + 2 * 5400)
            assert (two.summary, one.summary) == ({"win_rate": 0.5}, {"best_step": 6})
            found, _ = seeds.results(session, two)
            assert [(r.seed, r.status, r.summary, r.why) for r in found] == [
                (7, "finished", {"best_step": 6}, None), (8, "collapsed", {}, "It diverged."),
            ]  # fmt: skip
            (scores,), _ = series(session, "job_two", MetricQuery(seeds=(0, 1)))
            assert (scores.seed_index, scores.last) == (0, [0.25])
            assert session.scalars(text("SELECT seed FROM job_events ORDER BY seq")).all() == [7, 8, None]
        command.downgrade(config, BEFORE)
