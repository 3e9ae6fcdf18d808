"""Watches the namespace, and deletes the Jobs of attempts that ended while no worker followed them."""

import json
import logging
from contextlib import AbstractContextManager

from sqlalchemy.orm import Session

from core.kubernetes.client import KubernetesError, connect
from core.kubernetes.namespace import Namespace, checked
from core.kubernetes.objects import JOB, TRAIN_JOB
from core.settings import Settings
from worker.jobs.launch.followed import stale_records
from worker.jobs.launch.kubernetes.trainer import RECORD
from worker.jobs.launch.watch import EngineWatch, watching

_SECONDS = 30.0
log = logging.getLogger(__name__)


def watching_kubernetes(settings: Settings) -> AbstractContextManager[EngineWatch[Namespace]]:
    """While inside, a thread checks the namespace every half minute."""
    return watching("Kubernetes", lambda: checked(settings), _SECONDS)


def delete_stale_jobs(session: Session, settings: Settings) -> None:
    """Delete the Jobs of attempts that no worker holds any more. Their trainers would end by themselves, but later."""
    for job_id, attempt, record in stale_records(session, settings.data_dir, RECORD):
        found = json.loads(record.read_text())
        kind = TRAIN_JOB if found["kind"] == TRAIN_JOB.kind else JOB
        same = {"preconditions": {"uid": found["uid"]}} if found["uid"] else {}
        try:
            connect(settings).delete(kind.resource, found["job"], {"propagationPolicy": "Background", **same})
            record.unlink(missing_ok=True)
            log.info("%s attempt %d has ended: deleted %s %s", job_id, attempt, kind.kind, found["job"])
        except KubernetesError as error:
            log.warning("%s %s was not deleted: %s", kind.kind, found["job"], error)
