"""One attempt in Kubernetes: its Job is created, followed and deleted by a thread."""

import logging
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from core.kubernetes.client import (
    CONFIG_MAPS,
    EVENTS,
    JOBS,
    PODS,
    SECONDS,
    Api,
    Exists,
    Forbidden,
    KubernetesError,
    Manifest,
    Missing,
    NoConfiguration,
    QuotaExceeded,
    Refused,
    ServerAway,
    connect,
)
from core.kubernetes.namespace import problem_of_error
from core.kubernetes.objects import (
    ATTEMPT_LABEL,
    JOB_LABEL,
    LARGEST_SPEC,
    TRAIN_JOB,
    config_map,
    object_name,
    sample_job,
)
from core.kubernetes.pods import RUN_LABEL
from trainer.errors import Stopped
from worker.jobs.launch.followed import FollowedTrainer, write_record
from worker.jobs.launch.interface import EngineEnd, RunToStart
from worker.jobs.launch.kubernetes.reasons import RESUMES, why_ended, why_waiting
from worker.jobs.launch.kubernetes.request import kind_of, manifest_of
from worker.jobs.launch.kubernetes.view import JobView, PodView, first_end, job_view, pod_view

RECORD = "kubernetes.json"
OVERDUE_SECONDS = 60.0
"""Seconds after the end of a deleted pod's grace time at which its node counts as lost."""
_KILL_GRACE = 1
log = logging.getLogger(__name__)


class KubernetesTrainer(FollowedTrainer):
    """A trainer in the pods of a Job or a TrainJob.

    `record`: that of an earlier process of the worker. Its `uid` is empty if that process may have created the object, or not.
    None: no process has tried.
    """

    errors = KubernetesError

    def __init__(self, run: RunToStart, record: dict[str, Any] | None = None) -> None:
        self._kind, self._name = kind_of(run.spec), object_name(run.job_id, run.attempt)
        known = record or {}
        self._tried, self._uid = record is not None, str(known.get("uid") or "")
        self._namespace = str(known.get("namespace") or "")
        self._was_asked, self._abandoned = bool(known.get("deleted")), bool(known.get("abandoned"))
        self._api: Api | None = None
        self._has_spec = False
        self._pods: dict[str, PodView] = {}
        self._end: EngineEnd | None = None
        self.label = f"{self._kind.kind} {self._name}"
        super().__init__(run, "kubernetes", run.settings.kubernetes_poll_seconds, SECONDS)

    def engine_end(self) -> EngineEnd | None:
        return self._end

    def close(self) -> None:
        """Also delete what is left of a Job that has ended. If the server is away, it expires by itself."""
        super().close()
        if self._uid and self._api is not None:
            with suppress(KubernetesError):
                self._delete(self._api, "Background")

    def _step(self) -> None:
        api = self._api = self._api or self._connect()
        if not self._uid and not self._created(api):
            return
        if (self._ask or self._kill) and not self._asked:
            self._was_asked = True
            self._record()  # the next process of this worker must not take it for the act of a person
            self._delete(api, "Foreground")
            self._asked = True
        if self._kill and not self._killed:
            self._kill_pods(api)
            self._killed = True
        if not self._has_spec and not self._asked:
            self._store_spec(api)
        self._look(api)

    def _connect(self) -> Api:
        """The namespace in which the object was created, even if the worker's settings name another one by now."""
        settings = self._run.settings
        found = self._namespace or settings.kubernetes_namespace
        api = connect(settings.model_copy(update={"kubernetes_namespace": found}))
        self._namespace = api.namespace
        return api

    def _created(self, api: Api) -> bool:
        """Create the Job unless it must end already. Returns whether there is one."""
        found = self._existing(api) if self._tried else None
        if found is None and (self._ask or self._kill):
            self._status = Stopped.exit_status
            return False
        if found is None:
            spec = self._run.workspace.spec.stat().st_size
            if spec > LARGEST_SPEC:
                self.refused = (
                    f"The spec of the job has {spec} bytes, and Kubernetes stores at most {LARGEST_SPEC} in a ConfigMap. Name "
                    "files in place of long lists, or run the job on a worker with another launcher."
                )
                return False
            self._tried = True
            self._record()
            found = self._create(api)
        self._uid = str(found["metadata"]["uid"])
        self._record()
        self._look_often()
        return True

    def _create(self, api: Api) -> Manifest:
        try:
            found = api.create(self._kind.resource, manifest_of(self._run))
        except Exists as error:  # the response to an earlier request was lost
            existing = self._existing(api)
            if existing is None:
                raise Refused(f"another object has the name {self._name}: {error}") from error
            return existing
        log.info("%s attempt %d: created %s", self._run.job_id, self._run.attempt, self.label)
        return found

    def _existing(self, api: Api) -> Manifest | None:
        """The object of this attempt; None if there is none."""
        try:
            found = api.get(self._kind.resource, self._name)
        except Missing:
            return None
        labels = found["metadata"].get("labels") or {}
        mine = (labels.get(JOB_LABEL), labels.get(ATTEMPT_LABEL)) == (self._run.job_id, str(self._run.attempt))
        return found if mine else None

    def _record(self) -> None:
        record = {
            "job": self._name,
            "uid": self._uid,
            "kind": self._kind.kind,
            "namespace": self._namespace,
            "deleted": self._was_asked,
            "abandoned": self._abandoned,
        }
        write_record(self._run.workspace, RECORD, record)

    def _store_spec(self, api: Api) -> None:
        """Pods wait for the ConfigMap. It comes after the Job, which owns it, so that it cannot outlast a lost worker."""
        with suppress(Exists):
            spec = self._run.workspace.spec.read_text()
            api.create(CONFIG_MAPS, config_map(self._name, spec, self._kind, self._uid))
        self._has_spec = True

    def _delete(self, api: Api, propagation: str) -> None:
        """Delete the object. With `Foreground` it stays until its pods have ended, each with SIGTERM and its grace time."""
        options = {"propagationPolicy": propagation, "preconditions": {"uid": self._uid}}
        api.delete(self._kind.resource, self._name, options)

    def _kill_pods(self, api: Api) -> None:
        for pod in self._listed(api):
            if not pod.ended:
                api.delete(PODS, pod.name, {"gracePeriodSeconds": _KILL_GRACE})

    def _listed(self, api: Api) -> list[PodView]:
        pods = [pod_view(found) for found in api.listed(PODS, labelSelector=f"{RUN_LABEL}={self._name}")]
        self._pods |= {pod.name: pod for pod in pods}
        return pods

    def _look(self, api: Api) -> None:
        try:
            job: JobView | None = job_view(api.get(self._kind.resource, self._name))
        except Missing:
            job = None
        pods = self._listed(api)
        now = time.time()
        if lost := next((pod for pod in pods if pod.is_overdue(now, OVERDUE_SECONDS)), None):
            self._give_up(api, lost)
        elif job is None or job.uid != self._uid:
            self._note_gone(pods)
        elif job.complete:
            self._status = 0
        elif job.failed is not None:
            self._note_ended(job)
        else:
            self._note_active(api, job, pods)

    def _note_active(self, api: Api, job: JobView, pods: Sequence[PodView]) -> None:
        events = [] if job.suspended else self._events(api, pods)
        if any(pod.deleting_until for pod in pods):
            self._look_often()
        queue = self._run.settings.kubernetes_queue
        self.waiting = None if self._asked else why_waiting(self._name, queue, job, pods, events)
        failed = any((pod.end and pod.end.status) or pod.disruption for pod in pods)
        if self._kind is TRAIN_JOB and failed and not self._asked and not self._abandoned:
            # One node less: the others end too, and the platform starts all of them again.
            self._abandoned = True
            self._record()
            self._delete(api, "Foreground")

    def _events(self, api: Api, pods: Sequence[PodView]) -> list[Manifest]:
        """The events of the Job while it has no pod, and else of the pods that have not started."""
        present = [pod for pod in pods if not pod.ended]
        uids = [pod.uid for pod in present if pod.is_prepared] if present else [self._uid]
        return [event for uid in uids for event in api.listed(EVENTS, fieldSelector=f"involvedObject.uid={uid}")]

    def _note_gone(self, pods: Sequence[PodView]) -> None:
        """The end of a run whose Job is deleted. Its pods may still save."""
        if any(not pod.ended for pod in pods):
            self._look_often()
            return
        status = self._reported_status()
        if self._abandoned:
            self._note_ended(None)
        elif self._asked or self._was_asked:
            self._status = -signal.SIGTERM if status == -signal.SIGKILL and not self._killed else status
        else:
            self._end = EngineEnd(
                f"{self.label} was deleted in Kubernetes, by a person or a program. Resume the job to go on from its last "
                "checkpoint.",
                by_a_person=True,
            )
            self._status = status

    def _note_ended(self, job: JobView | None) -> None:
        """The end of the container that counts: of a Job the newest pod, of a TrainJob the one that failed first."""
        pods = sorted(self._pods.values(), key=lambda pod: pod.created_at)
        pods = pods if self._kind is TRAIN_JOB else pods[-1:]
        end = first_end(pods)
        started = any(
            file.exists() and file.stat().st_size for file in (self._run.workspace.events, self._run.workspace.log)
        )
        started = started and (end is None or end.started)
        view = job or JobView(self._uid, suspended=False, complete=False, failed=None)
        if not self._asked:
            self._end = why_ended(self._name, view, pods, end, started=started)
        failed_to_start = end is not None and not started
        # A trainer that did not start is lost, and is tried again, for another node may have what this one lacks.
        self._status = (
            -signal.SIGKILL if failed_to_start else (end.status if end and end.status else self._reported_status())
        )

    def _give_up(self, api: Api, pod: PodView) -> None:
        """End the attempt in place of a pod whose node is lost. A node that is only cut off may still run the trainer.

        It would write to the same run folder. The next attempt has another folder, and the lease ends this trainer.
        """
        self._delete(api, "Background")
        self._end = EngineEnd(f"Kubernetes lost the node {pod.node} of {self.label}. {RESUMES}", waits=True)
        self._status = -signal.SIGKILL

    def _note_trouble(self, error: Exception) -> None:
        log.warning("%s: %s: %s", self._run.job_id, type(error).__name__, error)
        if isinstance(error, Forbidden | NoConfiguration):
            self._api = None  # the next step reads the credentials anew, which may have expired
        if not isinstance(error, KubernetesError):
            return
        if self._uid:
            cause = problem_of_error(error)
            self.waiting = f"{self.label} is followed by its events alone. {cause}"
        elif isinstance(error, Refused):
            self._note_refusal(error)
        elif isinstance(error, QuotaExceeded):
            self.waiting = f"The quota of the namespace has no room for {self.label}: {error}. The worker tries again."
        elif isinstance(error, Missing):
            self.waiting = (
                f"{self.label} cannot be created: {error}. The operator must create it. The worker tries again."
            )
        else:
            self.waiting = f"{problem_of_error(error)} The worker tries again."

    def _note_refusal(self, error: Refused) -> None:
        """Fail the job, unless the settings of the worker are refused as well. It then waits for the operator."""
        try:
            if self._api is not None:
                self._api.create(JOBS, sample_job(self._run.settings), trial=True)
        except Refused as refused:
            self.waiting = (
                f"Kubernetes refuses the worker's settings: {refused}. The operator must correct PROXIMAL_KUBERNETES_… and "
                "restart the worker."
            )
            return
        except (ServerAway, KubernetesError):
            return
        self.refused = f"Kubernetes refuses the job: {error}. Change `resources` of the job, and submit it again."
