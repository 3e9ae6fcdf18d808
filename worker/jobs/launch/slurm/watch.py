"""Watches the cluster, and cancels batch jobs whose attempt has ended while no worker followed them."""

import logging
from contextlib import AbstractContextManager

from sqlalchemy.orm import Session

from core.settings import Settings
from core.slurm import client
from core.slurm.client import SlurmError, UnknownJob
from core.slurm.cluster import Cluster, checked
from worker.jobs.launch.followed import stale_records
from worker.jobs.launch.slurm.request import comment_of
from worker.jobs.launch.slurm.trainer import RECORD, recorded_job
from worker.jobs.launch.watch import EngineWatch, watching
from worker.jobs.workspace import Workspace

_SECONDS = 10.0
log = logging.getLogger(__name__)


def watching_slurm(settings: Settings) -> AbstractContextManager[EngineWatch[Cluster]]:
    """While inside, a thread looks at the cluster every ten seconds."""
    return watching("Slurm", lambda: checked(settings), _SECONDS)


def cancel_stale_jobs(session: Session, settings: Settings) -> None:
    """Cancel the batch jobs of attempts that no worker holds any more. Their trainers would end by themselves, but later."""
    for job_id, attempt, record in stale_records(session, settings.data_dir, RECORD):
        number = recorded_job(Workspace(record.parent))
        if not number:
            continue
        try:
            # By its comment: a controller that lost its state gives the number to another job.
            client.look_up(number, comment_of(job_id, attempt))
            client.cancel(number)
            record.unlink()
            log.info("%s attempt %d has ended: cancelled Slurm job %s", job_id, attempt, number)
        except UnknownJob:
            record.unlink(missing_ok=True)
        except (SlurmError, FileNotFoundError) as error:
            log.warning("Slurm job %s was not cancelled: %s", number, error)
