"""The migration that makes stored jobs searchable."""

from alembic import command
from sqlalchemy import text

from core.db import engine_for
from tests.core.old_databases import database_at

BEFORE, AFTER = "d9a4c7e1b250", "e7b2c9d4f618"
JOBS = """
    INSERT INTO owners (id, name) VALUES ('own_1', 'k');
    INSERT INTO jobs (id, owner_id, name, spec, priority, status, status_reason, attempt, last_seq)
        VALUES ('job_1', 'own_1', 'KL sweep', '{"model": {"path": "some/model"}}', 0, 'queued', '', 0, 1),
               ('job_2', 'own_1', '', '{"model": "an/old/spec"}', 0, 'queued', '', 0, 1);
"""
FOUND = "SELECT id, tags, notes, metadata, model FROM jobs WHERE search_vector @@ to_tsquery('simple', 'sweep')"


def test_stored_jobs_are_searchable_after_the_migration(postgres_url: str) -> None:
    with database_at(postgres_url, BEFORE, "descriptions") as config:
        engine = engine_for(config.attributes["database_url"])
        with engine.begin() as connection:
            connection.exec_driver_sql(JOBS)
        command.upgrade(config, AFTER)
        with engine.begin() as connection:
            assert connection.execute(text(FOUND)).all() == [("job_1", [], "", {}, "some/model")]
            assert connection.scalar(text("SELECT model FROM jobs WHERE id = 'job_2'")) is None
        command.downgrade(config, BEFORE)
