"""Removes the folders that jobs have left on this machine: run folders, and files of TensorBoard."""

import logging
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import ColumnElement, and_, func, or_, select
from sqlalchemy.orm import Session

from core.db import session_scope
from core.models import Job
from core.models.jobs import JobStatus
from core.settings import Settings
from worker.process import DATABASE_UNAVAILABLE, PeriodicThread

_SECONDS = 60.0
_AT_A_TIME = 100
"""Most folders of one call, since each keeps a row locked until its end."""
log = logging.getLogger(__name__)


@contextmanager
def removing_old_folders(settings: Settings) -> Iterator[None]:
    """While inside, a thread calls `remove_old_folders` every minute. The sweeper may have another disk."""

    def remove() -> bool:
        try:
            with session_scope(settings.database_url) as session:
                remove_old_folders(session, settings)
        except DATABASE_UNAVAILABLE as error:
            log.warning("could not look for old folders: %s", error)
        return True

    thread = PeriodicThread("old folders", _SECONDS, remove)
    thread.start()
    try:
        yield
    finally:
        thread.stop()


def remove_old_folders(session: Session, settings: Settings) -> None:
    """Remove the folders of deleted jobs, and run folders that are no longer needed.

    A job that succeeded or was cancelled needs none: it ended while another worker had it, or its worker was killed. The
    folder of a failed job is kept for `run_folder_days`. Rows are locked, so that the folder of a job that is retried
    meanwhile is kept.
    """
    runs, boards = (settings.data_dir / name for name in ("runs", "tensorboard"))
    names = sorted({folder.name for place in (runs, boards) for folder in place.glob("job_*")})
    if not names:
        return
    known = set(session.scalars(select(Job.id).where(Job.id.in_(names))))
    deleted = [name for name in names if name not in known]
    for folder in [place / name for name in deleted for place in (runs, boards)]:
        shutil.rmtree(folder, ignore_errors=True)
    left = [name for name in names if name in known and (runs / name).exists()]
    query = select(Job.id).where(Job.id.in_(left), _needs_no_folder(settings.run_folder_days)).limit(_AT_A_TIME)
    ended = session.scalars(query.with_for_update(skip_locked=True)).all()
    for name in ended:
        shutil.rmtree(runs / name, ignore_errors=True)
    if deleted or ended:
        log.info("removed the folders of %d deleted and %d ended jobs", len(deleted), len(ended))


def _needs_no_folder(days: float | None) -> ColumnElement[bool]:
    done = Job.status.in_((JobStatus.SUCCEEDED, JobStatus.CANCELLED))
    if days is None:
        return done
    past = func.clock_timestamp() - func.make_interval(0, 0, 0, 0, 0, 0, days * 86400)
    return or_(done, and_(Job.status == JobStatus.FAILED, Job.finished_at < past))
