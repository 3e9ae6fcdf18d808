"""Makes a platform from a backup."""

from datetime import datetime
from pathlib import Path

from psycopg import sql
from sqlalchemy import delete, func, select, text, update
from sqlalchemy.orm import Session

from core.backup.manifest import BackupError, Manifest, Note, read_manifest, verify
from core.backup.tables import connected, read_tables, tables_of
from core.blobs import BlobStore
from core.db import UNFINISHED_RESTORE, engine_for, knows_revision, session_scope, upgrade
from core.jobs.lifecycle.actors import Actor
from core.jobs.lifecycle.state import change_status
from core.models import BrowserSession, DataTask, Job, JobAttempt, Project, SignInCode, Webhook, Worker, WorkerToken
from core.models.jobs import ACTIVE, JobStatus, Outcome
from core.models.tasks import TaskStatus
from core.scheduling.lines import repair_lines

RESTORE = Actor("platform", name="restore")
_AT_A_TIME = 500
SILENCED = (
    "It was restored from a backup. The other platform may still send, so enable it here once that one has stopped."
)


def restore(folder: Path, database_url: str, blobs: BlobStore, note: Note) -> tuple[Manifest, int]:
    """Restore a backup into an empty database and an empty blob store. Returns its manifest and the number of paused jobs.

    Everything is verified before anything is written. Until the end, a table in the database marks it as unfinished, and no
    platform starts on it. Raises BackupError.
    """
    manifest = read_manifest(folder)
    if not knows_revision(manifest.revision):
        raise BackupError(
            f"A newer version of the platform made it ({manifest.version}): use that version or a later one."
        )
    _require_empty(database_url, blobs)
    verify(folder, manifest, note)
    with connected(database_url) as connection:
        connection.execute(sql.SQL("CREATE TABLE {} ()").format(sql.Identifier(UNFINISHED_RESTORE)))
    for key, blob in manifest.blobs.items():
        if blobs.put_file(key, folder / blob.file).sha256 != blob.sha256:
            raise BackupError(f"{key} changed while it was copied into the blob store.")
    note(f"{len(manifest.blobs)} blobs are in the store, with the hashes of the manifest")
    upgrade(database_url, manifest.revision)
    with connected(database_url) as connection:
        read_tables(connection, folder, manifest.tables)
        connection.execute("ANALYZE")  # the planner has no figures of new tables
    note(f"{manifest.rows} rows are in {len(manifest.tables)} tables, as many as in the manifest")
    upgrade(database_url, "head")
    paused = _settle(database_url, datetime.fromisoformat(manifest.created_at))
    engine_for(database_url).dispose()
    return manifest, paused


def _require_empty(database_url: str, blobs: BlobStore) -> None:
    with connected(database_url) as connection:
        unfinished = connection.execute("SELECT to_regclass(%s)", [UNFINISHED_RESTORE]).fetchone()
        tables = tables_of(connection)
    if unfinished and unfinished[0]:
        raise BackupError(
            "The database holds a restore that was not finished. Create a new database, empty the blob store, and begin again."
        )
    if tables:
        raise BackupError(f"The database is not empty: it has the table {min(tables)}. Restore into a new database.")
    if not blobs.is_empty():
        raise BackupError("The blob store is not empty. Restore into an empty folder, or an empty prefix of a bucket.")


def _settle(database_url: str, at: datetime) -> int:
    """Pause every job that ran or waited, disable the webhooks, and remove what belonged to processes and browsers of the other host.

    Returns the number of jobs. `at`: the time of the backup, until which their attempts count.
    """
    with session_scope(database_url) as session:
        for gone in (Worker, BrowserSession, SignInCode, WorkerToken):
            session.execute(delete(gone))
        session.execute(update(Webhook).where(Webhook.enabled).values(enabled=False, disabled_reason=SILENCED))
        _end_attempts(session, at)
        requeued = {"status": TaskStatus.QUEUED.value, "worker_id": None, "lease_expires_at": None}
        session.execute(update(DataTask).where(DataTask.status == TaskStatus.RUNNING.value).values(**requeued))
        paused = _pause_jobs(session, at)
        repair_lines(session)
        session.execute(text(f"DROP TABLE {UNFINISHED_RESTORE}"))
    return paused


def _end_attempts(session: Session, at: datetime) -> None:
    """End the open attempts as lost at the time of the backup: the hours until the restore do not count as use."""
    use = JobAttempt.slots * func.greatest(func.extract("epoch", at - JobAttempt.started_at), 0)
    open_attempt = JobAttempt.ended_at.is_(None)
    used = select(func.sum(use)).where(JobAttempt.job_id == Job.id, open_attempt).scalar_subquery()
    session.execute(
        update(Job).where(Job.status.in_(ACTIVE)).values(gpu_seconds=Job.gpu_seconds + func.coalesce(used, 0))
    )
    session.execute(update(JobAttempt).where(open_attempt).values(ended_at=at, outcome=Outcome.LOST.value))
    session.execute(update(Project).values(running_jobs=0, slots_in_use=0))


def _pause_jobs(session: Session, at: datetime) -> int:
    reason = f"Restored from the backup of {at:%Y-%m-%d %H:%M:%S} UTC, and paused. Resume it to go on."
    unfinished = (*ACTIVE, JobStatus.QUEUED)
    count = 0
    while jobs := session.scalars(
        select(Job).where(Job.status.in_(unfinished)).order_by(Job.id).limit(_AT_A_TIME)
    ).all():
        for job in jobs:
            to = JobStatus.CANCELLED if job.status == JobStatus.CANCELLING else JobStatus.PAUSED
            change_status(session, job, to, reason, RESTORE)
            count += to is JobStatus.PAUSED
        session.flush()
        session.expunge_all()
    return count
