"""Watches the namespace, and deletes the Jobs of attempts that ended while no worker followed them."""

import logging
from contextlib import AbstractContextManager

from sqlalchemy.orm import Session

from core.kubernetes.client import KubernetesError, connect
from core.kubernetes.namespace import Namespace, checked
from core.kubernetes.objects import JOB, TRAIN_JOB, object_name
from core.settings import Settings
from worker.jobs.launch.followed import read_record, stale_records
from worker.jobs.launch.kubernetes.trainer import RECORD
from worker.jobs.launch.watch import EngineWatch, watching
from worker.jobs.workspace import Workspace

_SECONDS = 30.0
log = logging.getLogger(__name__)


def watching_kubernetes(settings: Settings) -> AbstractContextManager[EngineWatch[Namespace]]:
    """While inside, a thread checks the namespace every half minute."""
    return watching("Kubernetes", lambda: checked(settings), _SECONDS)


def delete_stale_jobs(session: Session, settings: Settings) -> None:
    """Delete the Jobs of attempts that no worker holds any more. Their trainers would end by themselves, but later."""
    for job_id, attempt, record in stale_records(session, settings.data_dir, RECORD):
        found = read_record(Workspace(record.parent), RECORD)
        if found is None:
            continue  # another worker that starts has deleted the Job
        name, kinds = object_name(job_id, attempt), [JOB, *([TRAIN_JOB] if settings.kubernetes_runtime else [])]
        same = {"preconditions": {"uid": found["uid"]}} if found.get("uid") else {}
        try:
            namespace = found.get("namespace") or settings.kubernetes_namespace
            api = connect(settings.model_copy(update={"kubernetes_namespace": namespace}))
            for kind in [one for one in (JOB, TRAIN_JOB) if one.kind == found.get("kind")] or kinds:
                api.delete(kind.resource, name, {"propagationPolicy": "Background", **same})
            record.unlink(missing_ok=True)
            log.info("%s attempt %d has ended: deleted %s", job_id, attempt, name)
        except KubernetesError as error:
            log.warning("%s was not deleted: %s", name, error)
