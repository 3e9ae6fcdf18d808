"""A backup of a platform with every kind of blob, restored into an empty database and an empty store."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from alembic import command
from psycopg import sql
from sqlalchemy import func, make_url, select, text
from sqlalchemy.exc import DatabaseError
from sqlalchemy.orm import Session

import core.__main__
from core.audit.chain import verify
from core.audit.recording import operator_scope
from core.backup import blob_files, making, restoring, tables
from core.backup.making import back_up
from core.backup.manifest import BackupError, Manifest, read_manifest, sha256_of, write_manifest
from core.backup.restoring import SILENCED, restore
from core.blobs import BlobStore, blob_store
from core.blobs.folder import LocalBlobs
from core.db import UNFINISHED_RESTORE, alembic_config, at_head, engine_for, migrate, session_scope
from core.errors import SettingsError
from core.jobs.checkpoints.checkpoints import CheckpointFile, checkpoint_prefix, record_checkpoint
from core.jobs.lifecycle import attempts
from core.jobs.lifecycle.actors import PLATFORM
from core.jobs.lifecycle.state import Request, request
from core.jobs.queue import workers
from core.models import Checkpoint, Job, JobAttempt, JobEvent, Webhook, WebhookDelivery
from core.models.jobs import JobStatus
from core.settings import Settings
from core.uploads.parts import part_key
from core.webhooks import deliveries, outbox, webhooks
from core.webhooks.event_types import EventType
from tests.core.factories import make_job, make_key, running
from trainer.events import CheckpointSaved

WEIGHTS = b"the weights of a policy" * 1000


def silent(_: str) -> None:
    """No progress."""


@dataclass
class Host:
    """An empty database and an empty store."""

    url: str
    blobs: LocalBlobs
    root: Path

    def counts(self) -> dict[str, int]:
        return counts_of(self.url)


def counts_of(url: str) -> dict[str, int]:
    with engine_for(url).connect() as connection:
        names = connection.scalars(
            text("SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version'")
        ).all()
        return {name: connection.execute(text(f'SELECT count(*) FROM "{name}"')).scalar_one() for name in names}


@pytest.fixture
def host(postgres_url: str, tmp_path: Path) -> Iterator[Host]:
    name = f"{make_url(postgres_url).database}_restored"
    with psycopg.connect(postgres_url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        url = make_url(postgres_url).set(database=name).render_as_string(hide_password=False)
        yield Host(url, LocalBlobs(tmp_path / "other"), tmp_path / "other")
        engine_for(url).dispose()
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture
def blobs(settings: Settings) -> BlobStore:
    return blob_store(settings)


def save(session: Session, blobs: BlobStore, job: Job, attempt: int, number: int, scratch: Path) -> Checkpoint:
    """A checkpoint of one file, stored as a worker stores it."""
    prefix = checkpoint_prefix(job.id, attempt, number, f"ppo/step-{number}")
    (scratch / "weights").write_bytes(WEIGHTS + f"{job.id} {number}".encode())
    content = blobs.put_file(f"{prefix}/model.safetensors", scratch / "weights")
    file = CheckpointFile(path="model.safetensors", bytes=content.bytes, sha256=content.sha256)
    saved = CheckpointSaved(stage="ppo", step=number, path=f"ppo/step-{number}", metrics={}, final=False)
    made = record_checkpoint(session, job.id, attempt, saved, [file], prefix)
    session.commit()
    return made


@pytest.fixture
def source(session: Session, blobs: BlobStore, tmp_path: Path) -> Job:
    """The running job of a platform that has two jobs more, one finished and one queued, an upload and a signed-in browser."""
    owner = make_key(session).owner_id
    finished = make_job(session, owner)
    attempt = running(session, finished)
    save(session, blobs, finished, attempt, 1, tmp_path)
    attempts.finish(session, finished.id, attempt, JobStatus.SUCCEEDED, "done", summary={"reward": 1.0})
    runs = make_job(session, owner)
    attempt = running(session, runs)
    save(session, blobs, runs, attempt, 1, tmp_path)
    make_job(session, owner)
    workers.report_worker(session, "wrk_1", "host", runs.id)
    session.execute(
        text("INSERT INTO browser_sessions SELECT 'x', id, now(), now() + interval '1 day' FROM api_keys LIMIT 1")
    )
    session.execute(
        text(
            "INSERT INTO uploads (id, owner_id, filename, bytes, part_bytes, status, expires_at)"
            " VALUES ('upl_1', :owner, 'a', 4, 4, 'open', now() + interval '1 day')"
        ),
        {"owner": owner},
    )
    session.execute(text("INSERT INTO upload_parts (upload_id, number, bytes) VALUES ('upl_1', 1, 4)"))
    with blobs.draft(part_key("upl_1", 1)) as draft:
        draft.write(b"part")
        draft.keep()
    session.commit()
    return runs


@pytest.fixture
def backup(source: Job, settings: Settings, blobs: BlobStore, tmp_path: Path) -> Path:
    back_up(settings.database_url, blobs, tmp_path / "backup", silent)
    return tmp_path / "backup"


CLEARED = {"workers", "browser_sessions", "sign_in_codes", "worker_tokens"}


def test_restored_rows_and_blobs_are_those_of_the_backup(backup: Path, settings: Settings, host: Host) -> None:
    before = counts_of(settings.database_url)
    manifest, paused = restore(backup, host.url, host.blobs, silent)
    after = host.counts()
    # Two jobs have an event more: that of the pause. A paused job has no line.
    assert after["job_events"] == before["job_events"] + 2 and paused == 2
    same = before.keys() - CLEARED - {"job_events", "queue_lines"}
    assert {name: after[name] for name in same} == {name: before[name] for name in same}
    assert {name: after[name] for name in CLEARED} == dict.fromkeys(CLEARED, 0)
    assert {name: table.rows for name, table in manifest.tables.items()} == before
    for key in manifest.blobs:
        assert sha256_of(host.root / key) == sha256_of(settings.blob_dir / key) == manifest.blobs[key].sha256
    assert len([key for key in manifest.blobs if key.endswith("model.safetensors")]) == 2
    assert part_key("upl_1", 1) in manifest.blobs and at_head(host.url)


def test_restored_running_job_is_paused_and_resumes(backup: Path, source: Job, host: Host) -> None:
    restore(backup, host.url, host.blobs, silent)
    with session_scope(host.url) as session:
        job = session.get_one(Job, source.id)
        assert (job.status, job.worker_id, job.lease_expires_at) == ("paused", None, None)
        event = session.get_one(JobEvent, (job.id, job.last_seq))
        assert event.data["from"] == "running" and event.data["reason"].startswith("Restored from the backup of ")
        assert event.data["actor"] == {"kind": "platform", "id": None, "name": "restore"}
        attempt = session.get_one(JobAttempt, (job.id, 1))
        assert attempt.outcome == "lost" and job.gpu_seconds == pytest.approx(
            (attempt.ended_at - attempt.started_at).total_seconds(), abs=1e-3
        )
        request(session, job, Request.RESUME, PLATFORM)
        session.flush()
        claim = attempts.claim(session, "wrk_new")
        assert claim is not None and (claim.job_id, claim.attempt) == (job.id, 2)


def test_second_backup_reads_only_new_blobs(
    backup: Path,
    source: Job,
    session: Session,
    settings: Settings,
    blobs: BlobStore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = read_manifest(backup)
    save(session, blobs, source, 1, 2, tmp_path)
    copied = []
    whole = blob_files.BlobFiles._copy
    monkeypatch.setattr(
        blob_files.BlobFiles, "_copy", lambda files, store, key: copied.append(key) or whole(files, store, key)
    )
    second = back_up(settings.database_url, blobs, backup, silent)
    assert copied == [checkpoint_prefix(source.id, 1, 2, "ppo/step-2") + "/model.safetensors"]
    assert second.blobs.keys() == first.blobs.keys() | set(copied) and second.faults == []
    assert [path.name for path in (backup / "tables").iterdir()] == [Path(second.tables["jobs"].file).parent.name]


def test_backup_drops_the_files_of_deleted_blobs(
    backup: Path, session: Session, settings: Settings, blobs: BlobStore
) -> None:
    gone = session.execute(text("DELETE FROM checkpoints RETURNING blob_prefix")).scalars().all()
    session.commit()
    for prefix in gone:
        blobs.delete_prefix(prefix)
    made = back_up(settings.database_url, blobs, backup, silent)
    files = {path.relative_to(backup).as_posix() for path in (backup / "blobs").rglob("*") if path.is_file()}
    assert files == {blob.file for blob in made.blobs.values()} and made.faults == []


def test_blob_deleted_during_the_backup_is_not_named(
    source: Job, session: Session, settings: Settings, blobs: BlobStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its row goes between the snapshot and the copy, so that a second snapshot is taken."""
    whole, passes = tables.write_tables, []

    def then_delete(*arguments: Any) -> Any:
        written = whole(*arguments)
        if not passes:
            prefix = session.execute(
                text("DELETE FROM checkpoints WHERE job_id = :job RETURNING blob_prefix"), {"job": source.id}
            ).scalar_one()
            session.commit()
            blobs.delete_prefix(prefix)
        passes.append(len(passes))
        return written

    monkeypatch.setattr(making, "write_tables", then_delete)
    made = back_up(settings.database_url, blobs, tmp_path / "backup", silent)
    assert passes == [0, 1] and made.faults == [] and made.tables["checkpoints"].rows == 1


def test_missing_and_changed_blobs_are_named(
    source: Job, settings: Settings, blobs: BlobStore, session: Session, tmp_path: Path
) -> None:
    keys = [f"{prefix}/model.safetensors" for prefix in session.scalars(text("SELECT blob_prefix FROM checkpoints"))]
    blobs.delete(keys[0])
    (settings.blob_dir / keys[1]).write_bytes(b"other bytes")
    made = back_up(settings.database_url, blobs, tmp_path / "backup", silent)
    assert made.faults == [f"{keys[0]} is missing in the blob store", f"{keys[1]} differs from what was stored"]


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def flip_a_blob(folder: Path, manifest: Manifest) -> str:
    key = next(key for key in manifest.blobs if key.endswith("model.safetensors"))
    flip(folder / manifest.blobs[key].file)
    return f"blob {key} has another SHA-256 than the manifest"


def remove_a_blob(folder: Path, manifest: Manifest) -> str:
    key = next(iter(manifest.blobs))
    (folder / manifest.blobs[key].file).unlink()
    return f"blob {key} is missing"


def truncate_a_table(folder: Path, manifest: Manifest) -> str:
    path = folder / manifest.tables["jobs"].file
    path.write_bytes(path.read_bytes()[:-7])
    return f"table jobs has {path.stat().st_size} bytes instead of {manifest.tables['jobs'].bytes}"


def flip_a_table(folder: Path, manifest: Manifest) -> str:
    flip(folder / manifest.tables["job_events"].file)
    return "table job_events has another SHA-256 than the manifest"


def remove_the_manifest(folder: Path, _: Manifest) -> str:
    (folder / "manifest.json").unlink()
    return "has no manifest.json: it is no backup, or one that was not finished"


def cut_the_manifest(folder: Path, _: Manifest) -> str:
    path = folder / "manifest.json"
    path.write_bytes(path.read_bytes()[:-20])
    return "manifest.json is damaged"


def change_the_manifest(folder: Path, manifest: Manifest) -> str:
    path = folder / "manifest.json"
    content = json.loads(path.read_text())
    content["tables"]["jobs"]["rows"] += 1
    path.write_text(json.dumps(content))
    return "manifest.json is damaged: its content does not have the SHA-256 that it names"


def name_a_newer_schema(folder: Path, manifest: Manifest) -> str:
    write_manifest(folder, manifest.model_copy(update={"revision": "fffff0000000", "version": "9.0"}))
    return "A newer version of the platform made it (9.0)"


@pytest.mark.parametrize(
    "damage",
    [
        flip_a_blob,
        remove_a_blob,
        truncate_a_table,
        flip_a_table,
        remove_the_manifest,
        cut_the_manifest,
        change_the_manifest,
        name_a_newer_schema,
    ],
)
def test_damaged_backup_is_refused_by_name(backup: Path, host: Host, damage: Callable[[Path, Manifest], str]) -> None:
    said = damage(backup, read_manifest(backup))
    with pytest.raises(BackupError) as error:
        restore(backup, host.url, host.blobs, silent)
    assert said in error.value.detail
    assert host.counts() == {} and host.blobs.is_empty()


def test_restore_needs_an_empty_database_and_store(
    backup: Path, settings: Settings, blobs: BlobStore, host: Host
) -> None:
    with pytest.raises(BackupError, match="The database is not empty: it has the table"):
        restore(backup, settings.database_url, host.blobs, silent)
    with pytest.raises(BackupError, match="The blob store is not empty"):
        restore(backup, host.url, blobs, silent)
    assert host.counts() == {} and host.blobs.is_empty()


@pytest.mark.parametrize("step", ["upgrade", "read_tables", "_settle"])
def test_half_finished_restore_starts_no_platform(
    backup: Path, host: Host, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("killed")

    monkeypatch.setattr(restoring, step, fails)
    with pytest.raises(RuntimeError, match="killed"):
        restore(backup, host.url, host.blobs, silent)
    with pytest.raises(SettingsError, match="a restore that was not finished"):
        migrate(host.url)
    monkeypatch.undo()
    with pytest.raises(BackupError, match="holds a restore that was not finished"):
        restore(backup, host.url, host.blobs, silent)


def test_finished_restore_has_no_mark(backup: Path, host: Host) -> None:
    restore(backup, host.url, host.blobs, silent)
    assert UNFINISHED_RESTORE not in host.counts()
    migrate(host.url)


def test_backup_is_one_snapshot(
    source: Job, settings: Settings, blobs: BlobStore, host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another transaction adds a job with its events between two tables of the backup."""
    whole = tables.snapshot

    @contextmanager
    def disturbed(url: str) -> Iterator[psycopg.Connection]:
        with whole(url) as connection:
            connection.execute("SELECT 1")  # takes the snapshot
            with session_scope(settings.database_url) as other:
                make_job(other, source.owner_id)
            yield connection

    monkeypatch.setattr(making, "snapshot", disturbed)
    made = back_up(settings.database_url, blobs, tmp_path / "backup", silent)
    assert (made.tables["jobs"].rows, counts_of(settings.database_url)["jobs"]) == (4, 5)
    monkeypatch.undo()
    restore(tmp_path / "backup", host.url, host.blobs, silent)
    assert host.counts()["jobs"] == 4


def test_backup_of_an_older_schema_is_migrated(backup: Path, settings: Settings, host: Host) -> None:
    """The newest migration only adds tables or columns, so that an older backup is one without them."""
    restore(backup, host.url, host.blobs, silent)
    engine_for(host.url).dispose()
    command.downgrade(alembic_config(host.url), "-1")
    made = back_up(host.url, host.blobs, backup.parent / "older", silent)
    with psycopg.connect(host.url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    engine_for(host.url).dispose()
    empty = LocalBlobs(backup.parent / "third")
    restore(backup.parent / "older", host.url, empty, silent)
    assert at_head(host.url) and not at_older(made, settings)
    assert host.counts()["jobs"] == 3


def at_older(made: Manifest, settings: Settings) -> bool:
    with engine_for(settings.database_url).connect() as connection:
        return made.revision == connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one()


def test_python_m_core_backs_up_and_verifies(source: Job, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "backup"
    assert core.__main__.main(["backup", str(folder)]) == 0
    manifest = read_manifest(folder)
    whole = f"{manifest.rows} rows of {len(manifest.tables)} tables and {len(manifest.blobs)} blobs are backed up."
    assert whole in capsys.readouterr().out
    assert core.__main__.main(["backup", "--check", str(folder)]) == 0
    flip_a_blob(folder, manifest)
    assert core.__main__.main(["backup", "--check", str(folder)]) == 1
    assert "has another SHA-256 than the manifest" in capsys.readouterr().err
    assert core.__main__.main(["restore", str(folder)]) == 1
    assert "The database is not empty" in capsys.readouterr().err


def test_folder_with_other_files_is_refused(source: Job, settings: Settings, blobs: BlobStore, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    with pytest.raises(BackupError, match=r"holds other files, such as thesis\.tex"):
        back_up(settings.database_url, blobs, tmp_path / "mine", silent)
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.tex"]


def test_interrupted_backup_is_continued(
    source: Job, settings: Settings, blobs: BlobStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("killed")

    monkeypatch.setattr(making, "write_tables", fails)
    with pytest.raises(RuntimeError, match="killed"):
        back_up(settings.database_url, blobs, tmp_path / "backup", silent)
    with pytest.raises(BackupError, match="was not finished"):
        read_manifest(tmp_path / "backup")
    monkeypatch.undo()
    with (tmp_path / "backup" / "known.jsonl").open("a") as journal:
        journal.write('{"key": "uplo')  # the line that was being written
    copied = []
    monkeypatch.setattr(blob_files.BlobFiles, "_copy", lambda files, store, key: copied.append(key))
    made = back_up(settings.database_url, blobs, tmp_path / "backup", silent)
    assert copied == [] and made.faults == []


def test_restored_deliveries_keep_their_order(
    source: Job, session: Session, settings: Settings, blobs: BlobStore, tmp_path: Path, host: Host
) -> None:
    """The numbers of new deliveries follow those of the restored ones."""
    webhook = webhooks.create(session, settings, source.owner_id, "https://93.184.215.14/", [EventType.JOB_QUEUED])
    for _ in range(3):
        outbox.record(session, source.owner_id, EventType.JOB_QUEUED, source.id, lambda: {"object": "job"})
    session.commit()
    largest = session.scalars(select(func.max(WebhookDelivery.number))).one()
    back_up(settings.database_url, blobs, tmp_path / "backup", silent)
    restore(tmp_path / "backup", host.url, host.blobs, silent)
    with session_scope(host.url) as restored:
        outbox.send_test(restored, restored.get_one(Webhook, webhook.id))
        assert restored.scalars(select(func.max(WebhookDelivery.number))).one() == largest + 1


def test_restored_webhooks_are_silent_until_enabled(
    source: Job, session: Session, settings: Settings, blobs: BlobStore, tmp_path: Path, host: Host
) -> None:
    """The platform that was backed up may still run, and send the same events."""
    events = [EventType.JOB_QUEUED, EventType.JOB_PAUSED]
    webhook = webhooks.create(session, settings, source.owner_id, "https://93.184.215.14/", events)
    outbox.record(session, source.owner_id, EventType.JOB_QUEUED, source.id, lambda: {"object": "job"})
    session.commit()
    back_up(settings.database_url, blobs, tmp_path / "backup", silent)
    restore(tmp_path / "backup", host.url, host.blobs, silent)
    with session_scope(host.url) as restored:
        found = restored.get_one(Webhook, webhook.id)
        assert (found.enabled, found.disabled_reason) == (False, SILENCED)
        assert deliveries.claim(restored, settings, 5) == []
        assert restored.scalars(select(WebhookDelivery.event_type)).all() == [EventType.JOB_QUEUED]


def test_audit_log_is_whole_after_a_restore(
    source: Job, session: Session, settings: Settings, blobs: BlobStore, tmp_path: Path, host: Host
) -> None:
    with operator_scope("rename") as changing:
        changing.get_one(Job, source.id).name = "renamed"
    back_up(settings.database_url, blobs, tmp_path / "backup", silent)
    restore(tmp_path / "backup", host.url, host.blobs, silent)
    with session_scope(host.url) as restored:
        found = verify(restored.connection(), source.owner_id)
        assert (found.broken, found.rows) == (None, 1)
        with pytest.raises(DatabaseError, match="audit"):
            restored.execute(text("UPDATE audit_rows SET action = 'x'"))
        restored.rollback()
