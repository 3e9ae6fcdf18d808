"""Watches the cluster, and cancels batch jobs whose attempt has ended while no worker followed them."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.orm import Session

from core.settings import Settings
from core.slurm import client
from core.slurm.client import SlurmError, UnknownJob
from core.slurm.cluster import Cluster, checked
from worker.jobs.launch.followed import stale_records
from worker.jobs.launch.slurm.request import comment_of
from worker.jobs.launch.slurm.trainer import RECORD
from worker.process import PeriodicThread

_SECONDS = 10.0
log = logging.getLogger(__name__)


class ClusterWatch:
    """The cluster as it was seen last, and why the worker cannot submit to it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.cluster: Cluster | None = None
        self.problem: str | None = None
        self.look()

    def look(self) -> bool:
        """Read the cluster. One that does not respond keeps its last description. Returns True."""
        cluster, problem = checked(self._settings)
        self.cluster = cluster or self.cluster
        if problem != self.problem:
            log.warning("%s", problem or "Slurm accepts jobs again.")
        self.problem = problem
        return True


@contextmanager
def watching(settings: Settings) -> Iterator[ClusterWatch]:
    """While inside, a thread looks at the cluster every ten seconds."""
    watch = ClusterWatch(settings)
    thread = PeriodicThread("cluster", _SECONDS, watch.look)
    thread.start()
    try:
        yield watch
    finally:
        thread.stop()


def cancel_stale_jobs(session: Session, settings: Settings) -> None:
    """Cancel the batch jobs of attempts that no worker holds any more. Their trainers would end by themselves, but later."""
    for job_id, attempt, record in stale_records(session, settings.data_dir, RECORD):
        number = json.loads(record.read_text())["job"]
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
