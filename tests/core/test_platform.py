"""Settings, workers, wake messages, transactions, migrations and the operator's command."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from psycopg import sql
from sqlalchemy import inspect, make_url, text
from sqlalchemy.orm import Session

from core.__main__ import main
from core.access import keys
from core.broker import celery_app, wake_worker
from core.db import after_commit, alembic_config, at_head, engine_for, migrate, session_scope
from core.embedded.redis import Redis
from core.errors import NotSignedIn, SettingsError
from core.jobs.queue.workers import online_workers, remove_silent_workers, report_worker, sign_off
from core.models import ApiKey, Base
from core.settings import Settings, get_settings
from tests.core.factories import make_job, running

REPOSITORY = Path(__file__).parents[2]


def test_every_setting_has_a_description() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []


def test_missing_settings_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    get_settings.cache_clear()
    monkeypatch.setenv("REDIS_URL", "redis://x")
    with pytest.raises(SettingsError, match="DATABASE_URL"):
        get_settings()


@pytest.mark.parametrize("given", ["postgres://u@h/d", "postgresql://u@h/d", "postgresql+psycopg://u@h/d"])
def test_any_spelling_of_a_postgres_address_is_understood(given: str) -> None:
    assert Settings(database_url=given, redis_url="redis://x").database_url == "postgresql+psycopg://u@h/d"


@pytest.mark.parametrize("wrong", [{"database_url": "sqlite:///x"}, {"blob_url": "gs://bucket"}, {"lease_seconds": 0}])
def test_settings_that_cannot_work_are_refused(wrong: dict[str, object]) -> None:
    fine = {"database_url": "postgresql://u@h/d", "redis_url": "redis://x"}
    with pytest.raises(ValueError, match="validation error"):
        Settings.model_validate(fine | wrong)


def test_lists_of_folders_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    monkeypatch.setenv("PROXIMAL_LOCAL_MODELS", "/models:/more")
    monkeypatch.setenv("PROXIMAL_BLOB_URL", "file:///some%20where")
    get_settings.cache_clear()
    assert get_settings().local_models == [Path("/models"), Path("/more")]
    assert get_settings().blob_dir == Path("/some where")
    monkeypatch.setenv("PROXIMAL_LOCAL_MODELS", "/models/sets/../more")  # paths of jobs never hold `..`
    get_settings.cache_clear()
    assert get_settings().local_models == [Path("/models/more")]
    monkeypatch.setenv("PROXIMAL_LOCAL_MODELS", "none")
    get_settings.cache_clear()
    assert get_settings().local_models == []


@pytest.mark.parametrize("folders", ["any", "/models:/data/models", "/data", "/blobs/jobs"])
def test_folders_that_jobs_may_not_read_are_no_models(folders: str) -> None:
    """`any` was a value of older releases. The platform's own folders are always refused."""
    fine = {"database_url": "postgresql://u@h/d", "redis_url": "redis://x", "data_dir": "/data"}
    with pytest.raises(ValueError, match=r"`any` is not supported|which jobs may never read"):
        Settings.model_validate(fine | {"blob_url": "file:///blobs", "local_models": folders})


def test_an_empty_number_of_processes_is_none(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    """A container passes on a variable that the operator left empty."""
    monkeypatch.setenv("PROXIMAL_PROCESSES", "")
    get_settings.cache_clear()
    assert get_settings().processes is None


def test_workers_report_sign_off_and_expire(session: Session) -> None:
    report_worker(session, "wrk_1", "host", None)
    report_worker(session, "wrk_2", "host", None)
    report_worker(session, "wrk_1", "host", "job_1")
    session.commit()
    assert [(worker.id, worker.job_id) for worker in online_workers(session)] == [("wrk_1", "job_1"), ("wrk_2", None)]
    sign_off(session, "wrk_1")
    session.execute(text("UPDATE workers SET last_seen_at = now() - interval '1 hour'"))
    assert online_workers(session) == []
    assert remove_silent_workers(session) == ["wrk_2"]


def test_silent_worker_with_a_locked_row_waits_for_a_sweep(session: Session) -> None:
    """A worker that is suspended during its heartbeat keeps the lock of its row."""
    for worker_id in ("wrk_1", "wrk_2"):
        report_worker(session, worker_id, "host", None)
    session.execute(text("UPDATE workers SET last_seen_at = now() - interval '1 hour'"))
    session.commit()
    with engine_for(get_settings().database_url).begin() as suspended:
        suspended.execute(text("SELECT id FROM workers WHERE id = 'wrk_1' FOR UPDATE"))
        session.execute(text("SET LOCAL lock_timeout = '2s'"))
        assert remove_silent_workers(session) == ["wrk_2"]
    assert remove_silent_workers(session) == ["wrk_1"]


def test_session_scope_error_rolls_back_and_skips_after_commit(settings: Settings) -> None:
    called: list[int] = []
    with pytest.raises(ZeroDivisionError), session_scope() as session:
        keys.create_key(session, "x")
        after_commit(session, lambda: called.append(1))
        1 / 0  # noqa: B018
    with session_scope() as session:
        assert session.query(ApiKey).count() == 0
        after_commit(session, lambda: called.append(2))
    assert called == [2]


@pytest.mark.timeout(60)  # a client without time limits would wait for ever
def test_a_broker_that_hangs_costs_a_moment(tmp_path: Path) -> None:
    redis = Redis(tmp_path, tmp_path / "log", durable=False)
    server = redis.start()
    assert wake_worker(redis.url)
    os.kill(server.pid, signal.SIGSTOP)
    try:
        assert not wake_worker(redis.url)
    finally:
        os.kill(server.pid, signal.SIGCONT)
        celery_app(redis.url).close()
        redis.stop(server)


@pytest.mark.timeout(60)
def test_wake_worker_enqueues_and_only_warns_without_a_broker(redis_url: str, caplog: pytest.LogCaptureFixture) -> None:
    assert wake_worker(redis_url)
    with celery_app(redis_url).connection_for_read() as connection:
        queue = connection.SimpleQueue("celery")
        message = queue.get(timeout=2)
        assert message.headers["task"] == "run_next_job"
        queue.close()
    celery_app(redis_url).close()
    assert not wake_worker("redis://127.0.0.1:1/0")
    assert "the sweeper will try again" in caplog.text


def test_the_migrations_make_the_tables_that_the_models_describe(database_url: str) -> None:
    assert at_head(database_url)
    with engine_for(database_url).connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []


def test_migrating_again_changes_nothing(database_url: str) -> None:
    migrate(database_url)
    assert at_head(database_url)


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_of_another_encoding_is_refused(postgres_url: str, encoding: str) -> None:
    here = make_url(postgres_url)
    name = f"{here.database}_{encoding.lower()}"
    made = sql.SQL("CREATE DATABASE {} ENCODING {} LOCALE 'C' TEMPLATE template0")
    with psycopg.connect(postgres_url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(made.format(sql.Identifier(name), sql.Literal(encoding)))
    with pytest.raises(SettingsError, match=f"has the encoding {encoding}.*ENCODING 'UTF8'"):
        migrate(here.set(database=name).render_as_string(hide_password=False))


def test_every_migration_can_be_taken_back(postgres_url: str) -> None:
    here = make_url(postgres_url)
    name = f"{here.database}_taken_back"
    with psycopg.connect(postgres_url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    url = here.set(database=name).render_as_string(hide_password=False)
    config = alembic_config(url)
    migrate(url)
    for revision in ScriptDirectory.from_config(config).walk_revisions():
        command.downgrade(config, str(revision.down_revision or "base"))
        command.upgrade(config, revision.revision)
        command.downgrade(config, str(revision.down_revision or "base"))
    with engine_for(url).connect() as connection:
        assert inspect(connection).get_table_names() == ["alembic_version"]
    engine_for(url).dispose()


def test_the_operator_s_command_works_from_anywhere(settings: Settings, tmp_path: Path) -> None:
    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "core", *arguments]
        return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True, env=os.environ).stdout

    run("migrate")
    plaintext = run("keys", "create", "me").strip()
    with session_scope() as session:
        assert keys.authenticate(session, plaintext).key_name == "me"


def test_keys_are_listed_and_revoked_by_command(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    with session_scope() as session:
        key, plaintext = keys.create_key(session, "me")
    assert main(["keys", "list"]) == 0
    assert plaintext not in capsys.readouterr().out
    assert main(["keys", "revoke", key.id]) == 0
    assert main(["keys", "revoke", "key_nope"]) == 1


def test_keys_made_with_a_revoked_one_are_printed(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    with session_scope() as session:
        leaked, _ = keys.create_key(session, "leaked")
        copy, text = keys.add_key(session, leaked.owner_id, "copy", user_id=str(leaked.user_id), made_by=leaked.id)
    main(["keys", "revoke", leaked.id])
    assert f"{copy.id} (copy) was made with it and stays valid" in capsys.readouterr().out
    main(["keys", "revoke", leaked.id, "--and-made"])
    with session_scope() as session, pytest.raises(NotSignedIn):
        keys.authenticate(session, text)


def test_import_of_core_loads_no_web_framework_and_no_torch() -> None:
    code = "import core.jobs, core.broker, sys; assert not {'torch', 'fastapi', 'transformers'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, check=True)


def test_a_pool_survives_a_lost_connection(session: Session) -> None:
    job = make_job(session)
    running(session, job)
    with session_scope() as other:
        other.execute(text("SELECT 1"))
    # With a timeout, PostgreSQL returns after the processes have ended. Until then, a connection passes the pool's check.
    session.execute(
        text(
            "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND datname = current_database()"
        )
    )
    session.commit()
    with session_scope() as again:
        assert again.execute(text("SELECT 1")).scalar_one() == 1
