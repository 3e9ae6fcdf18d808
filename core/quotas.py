"""The amount that one owner may have on the platform: unfinished jobs, and stored bytes.

A check locks the owner's row until the commit, so that concurrent requests of one owner cannot pass the limit together.
"""

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from core.errors import QuotaExceeded
from core.models import Checkpoint, Dataset, DatasetContent, DatasetVersion, Job, Owner, Upload, UploadPart
from core.models.jobs import TERMINAL
from core.models.uploads import UploadStatus
from core.settings import Settings


def check_open_jobs(session: Session, owner_id: str, settings: Settings) -> None:
    """Raise QuotaExceeded if the owner has as many unfinished jobs as allowed."""
    _lock(session, owner_id)
    query = select(func.count()).select_from(Job).where(Job.owner_id == owner_id, Job.status.not_in(TERMINAL))
    found, allowed = session.scalars(query).one(), settings.max_open_jobs
    if found >= allowed:
        raise QuotaExceeded(
            f"You have {found} unfinished jobs. This platform allows {allowed} (PROXIMAL_MAX_OPEN_JOBS). "
            "Wait until some have ended, or cancel them.",
            setting="PROXIMAL_MAX_OPEN_JOBS",
            limit=allowed,
            value=found,
        )


def check_storage(session: Session, owner_id: str, settings: Settings, more: int = 0) -> None:
    """Raise QuotaExceeded if the owner's bytes and `more` new ones exceed the limit."""
    _lock(session, owner_id)
    wanted, allowed = stored_bytes(session, owner_id) + more, settings.max_owner_bytes
    if wanted > allowed:
        raise QuotaExceeded(
            f"Your uploads, datasets and checkpoints would take {wanted} bytes. This platform allows {allowed} "
            "(PROXIMAL_MAX_OWNER_BYTES). Delete uploads or datasets that you no longer need.",
            setting="PROXIMAL_MAX_OWNER_BYTES",
            limit=allowed,
            value=wanted,
        )


def stored_bytes(session: Session, owner_id: str) -> int:
    """Bytes of the owner's uploads (announced or received), distinct dataset rows, and checkpoints."""
    parts = select(func.sum(UploadPart.bytes)).where(UploadPart.upload_id == Upload.id).scalar_subquery()
    uploads = select(func.sum(func.coalesce(Upload.bytes, parts, 0)))
    uploads = uploads.where(Upload.owner_id == owner_id, Upload.status != UploadStatus.FAILED)
    used = select(DatasetVersion.sha256).join(Dataset, Dataset.id == DatasetVersion.dataset_id)
    used = used.where(Dataset.owner_id == owner_id)
    rows = select(func.sum(DatasetContent.bytes)).where(DatasetContent.sha256.in_(used))
    checkpoints = select(func.sum(Checkpoint.bytes)).join(Job, Job.id == Checkpoint.job_id)
    checkpoints = checkpoints.where(Job.owner_id == owner_id)
    return sum(int(session.scalars(query).one() or 0) for query in (uploads, rows, checkpoints))


def _lock(session: Session, owner_id: str) -> None:
    """FOR NO KEY UPDATE, which does not block inserts of rows that name the owner."""
    session.execute(select(Owner.id).filter_by(id=owner_id).with_for_update(key_share=True))
