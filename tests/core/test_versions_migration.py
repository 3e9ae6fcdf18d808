"""Databases of older releases: the migration that gives datasets versions, in both directions, and all migrations to head."""

from collections.abc import Iterator
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Engine, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from core.datasets import versions
from core.db import at_head, engine_for, migrate
from core.jobs.run.events import events_after
from core.jobs.run.metrics import MetricQuery, series
from core.models import ApiKey, Job, Project
from tests.core.old_databases import database_at

BEFORE, AFTER = "c47d0be9a815", "d1a7e5c0b301"
ROWS = """
    INSERT INTO api_keys (id, name, prefix, sha256) VALUES ('key_1', 'k', 'p', 's');
    INSERT INTO datasets (id, owner_id, name, kind, rows, bytes, sha256, blob_key) VALUES
        ('ds_one', 'key_1', 'one', 'preferences', 3, 30, 'aa', 'datasets/ds_one.jsonl'),
        ('ds_two', 'key_1', 'two', 'sft', 4, 40, 'bb', 'datasets/ds_two.jsonl');
    INSERT INTO jobs (id, owner_id, name, spec, priority, status, status_reason, attempt, last_seq)
        VALUES ('job_1', 'key_1', 'j', '{"data": {"preferences": "ds_one", "sft": null}}', 0, 'queued', '', 0, 0);
    INSERT INTO job_datasets (job_id, role, dataset_id) VALUES ('job_1', 'preferences', 'ds_one');
"""
RUN = """
    UPDATE jobs SET last_seq = 2;
    INSERT INTO job_attempts (job_id, number, worker_id) VALUES ('job_1', 1, 'wrk_1');
    INSERT INTO job_events (job_id, seq, attempt, type, created_at, stage, step, data) VALUES
        ('job_1', 1, 1, 'run_started', now(), NULL, NULL, '{"threads": 2}'),
        ('job_1', 2, 1, 'metrics', now(), 'ppo', 1, '{"values": {"objective/kl": 0.5}}');
    INSERT INTO job_metrics (job_id, stage, step, attempt, at, values)
        VALUES ('job_1', 'ppo', 1, 1, now(), '{"objective/kl": 0.5}');
"""
SAME_ROWS = """
    INSERT INTO datasets (id, owner_id, name, kind, rows, bytes, sha256, blob_key)
        VALUES ('ds_again', 'key_1', 'again', 'preferences', 3, 30, 'aa', 'datasets/ds_again.jsonl');
"""


@pytest.fixture
def config(postgres_url: str) -> Iterator[Config]:
    """A separate database with the schema of BEFORE."""
    with database_at(postgres_url, BEFORE, "versions") as made:
        yield made


@pytest.fixture
def engine(config: Config) -> Engine:
    return engine_for(config.attributes["database_url"])


def execute(engine: Engine, statements: str) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql(statements)


def rows(engine: Engine, query: str) -> list[tuple[Any, ...]]:
    with engine.begin() as connection:
        return [tuple(row) for row in connection.execute(text(query))]


def test_migration_makes_every_dataset_its_version_1(config: Config, engine: Engine) -> None:
    execute(engine, ROWS)
    command.upgrade(config, AFTER)
    versions = "SELECT id, dataset_id, number, status, origin->>'filename', sha256 FROM dataset_versions ORDER BY id"
    assert rows(engine, versions) == [
        ("dv_one", "ds_one", 1, "ready", "one", "aa"),
        ("dv_two", "ds_two", 1, "ready", "two", "bb"),
    ]
    assert rows(engine, "SELECT sha256, rows, bytes, blob_key FROM dataset_contents ORDER BY sha256") == [
        ("aa", 3, 30, "datasets/ds_one.jsonl"),
        ("bb", 4, 40, "datasets/ds_two.jsonl"),
    ]
    assert rows(engine, "SELECT version_id FROM job_datasets") == [("dv_one",)]
    tasks = "SELECT kind, status, args->>'dataset', args->>'sha256' FROM data_tasks ORDER BY id"
    assert rows(engine, tasks) == [("index", "queued", "ds_one", "aa"), ("index", "queued", "ds_two", "bb")]


def test_migrate_old_database_to_head_keeps_all_rows(config: Config, engine: Engine) -> None:
    execute(engine, ROWS + RUN)
    url = config.attributes["database_url"]
    migrate(url)
    assert at_head(url)
    with Session(engine) as session:
        job = session.get_one(Job, "job_1")
        assert (job.status, job.attempt, job.seeds_done) == ("queued", 0, 0)
        assert [event.type for event in events_after(session, job.id, 0, 10)] == ["run_started", "metrics"]
        (found,), last_seq = series(session, job.id, MetricQuery())
        assert (found.name, found.steps, found.last, last_seq) == ("objective/kl", [1], [0.5], 2)
        assert session.get_one(ApiKey, "key_1").owner_id == session.get_one(Project, job.owner_id).id == "key_1"
        version = versions.usable(session, "key_1", "ds_one")
        assert version.content is not None and version.content.blob_key == "datasets/ds_one.jsonl"


def test_datasets_with_the_same_rows_share_them(config: Config, engine: Engine) -> None:
    execute(engine, ROWS + SAME_ROWS)
    command.upgrade(config, AFTER)
    assert rows(engine, "SELECT count(*) FROM dataset_contents WHERE sha256 = 'aa'") == [(1,)]
    assert rows(engine, "SELECT count(*) FROM dataset_versions WHERE sha256 = 'aa'") == [(2,)]
    with pytest.raises(IntegrityError, match="blob_key"):
        command.downgrade(config, BEFORE)


def test_back_again_the_newest_ready_version_is_the_dataset(config: Config, engine: Engine) -> None:
    execute(engine, ROWS)
    command.upgrade(config, AFTER)
    execute(
        engine,
        """
        INSERT INTO dataset_contents (sha256, rows, bytes, blob_key) VALUES ('cc', 2, 20, 'contents/cc/rows.jsonl');
        INSERT INTO dataset_versions (id, dataset_id, number, status, origin, sha256, findings, ready_at)
            VALUES ('dv_new', 'ds_one', 2, 'ready', '{}', 'cc', '[]', now());
        INSERT INTO dataset_versions (id, dataset_id, number, status, origin, findings)
            VALUES ('dv_half', 'ds_one', 3, 'importing', '{}', '[]');
        UPDATE jobs SET spec = jsonb_set(spec, '{data,preferences}', '"ds_one@sha256:aa"');
        """,
    )
    command.downgrade(config, BEFORE)
    assert rows(engine, "SELECT id, rows, bytes, sha256, blob_key FROM datasets ORDER BY id") == [
        ("ds_one", 2, 20, "cc", "contents/cc/rows.jsonl"),
        ("ds_two", 4, 40, "bb", "datasets/ds_two.jsonl"),
    ]
    assert rows(engine, "SELECT dataset_id FROM job_datasets") == [("ds_one",)]
    assert rows(engine, "SELECT spec->'data' FROM jobs") == [({"preferences": "ds_one", "sft": None},)]
