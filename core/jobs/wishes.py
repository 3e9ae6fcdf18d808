"""What people ask of a job."""

from sqlalchemy.orm import Session

from core.job_state import move
from core.models import Job
from core.models.job import ACTIVE, JobStatus


def request_cancel(session: Session, job: Job) -> None:
    """Cancel at once what no worker holds; ask the worker of what one does. IllegalTransition once it has ended."""
    session.refresh(job, with_for_update=True)
    to = JobStatus.CANCELLING if job.status in ACTIVE else JobStatus.CANCELLED
    move(session, job, to, "Cancelled by its owner.")
