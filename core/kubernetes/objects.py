"""The objects of one attempt: a Job, or a TrainJob for several machines, and the ConfigMap with its spec."""

from dataclasses import dataclass
from typing import Any

from core.kubernetes.client import JOBS, TRAIN_JOBS, Manifest, Resource
from core.kubernetes.pods import (
    CONTAINER,
    RUN_LABEL,
    SPEC_FILE,
    Folder,
    PodRequest,
    command,
    container_rights,
    environment,
    grace_seconds,
    mounts,
    placement,
    pod_rights,
    pod_template,
    resources,
    volumes,
)
from core.settings import KubernetesSettings
from trainer.errors import Stopped

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
JOB_LABEL, ATTEMPT_LABEL = "proximal/job", "proximal/attempt"
TITLE = "proximal/job-name"
"""Annotation with the name that the user gave to the job. It is data, and no name of an object comes from it."""
LARGEST_SPEC = 1024 * 1024
"""Bytes that a ConfigMap may have."""
_STOPS = 6
"""Stops without an eviction, such as those of Kueue, after which the Job fails and the platform queues the job again."""
_KEPT_SECONDS = 24 * 3600
"""How long an ended Job is kept if no worker deletes it."""
REPLICATED_JOB = "node"
_PATCHES = "proximal/launcher"


@dataclass(frozen=True)
class Kind:
    """The kind of object that runs an attempt."""

    resource: Resource
    api_version: str
    kind: str


JOB = Kind(JOBS, "batch/v1", "Job")
TRAIN_JOB = Kind(TRAIN_JOBS, "trainer.kubeflow.org/v1alpha1", "TrainJob")


def object_name(job_id: str, attempt: int) -> str:
    """A DNS label from the id and the number of the attempt, such as `proximal-job-abc-1`."""
    return f"proximal-{job_id.replace('_', '-').lower()}-{attempt}"


def labels_of(job_id: str, attempt: int) -> dict[str, str]:
    return {"app.kubernetes.io/name": "proximal-trainer", JOB_LABEL: job_id, ATTEMPT_LABEL: str(attempt)}


def job(request: PodRequest, settings: KubernetesSettings) -> Manifest:
    """A Job of one pod. A pod that a disruption ends is replaced, once it has ended, and resumes in the same run folder.

    A trainer that fails ends the Job. A stop (status 75) without a disruption comes from Kueue, which suspends Jobs, or from a
    person who deletes the pod: the pod is replaced too, but not without limit.
    """
    rules: list[Manifest] = [
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
        {"action": "Count", "onExitCodes": _exit_codes("In")},
        {"action": "FailJob", "onExitCodes": _exit_codes("NotIn")},
    ]
    spec: Manifest = {
        "completions": 1,
        "parallelism": 1,
        "backoffLimit": _STOPS,
        "podReplacementPolicy": "Failed",
        "podFailurePolicy": {"rules": rules},
        "ttlSecondsAfterFinished": _KEPT_SECONDS,
        "template": pod_template(request, settings),
    }
    if settings.kubernetes_minutes:
        spec["activeDeadlineSeconds"] = 60 * settings.kubernetes_minutes
    return {"apiVersion": JOB.api_version, "kind": JOB.kind, "metadata": _metadata(request, settings), "spec": spec}


def train_job(request: PodRequest, machines: int, settings: KubernetesSettings) -> Manifest:
    """A TrainJob of Kubeflow, by the models of its own package. The runtime has the fields of pods that it may not set."""
    from kubeflow_trainer_api.models import TrainerV1alpha1TrainJob

    pod: Manifest = {
        "containers": [
            {"name": CONTAINER, "volumeMounts": mounts(request, settings), "securityContext": container_rights()}
        ],
        "volumes": volumes(request, settings),
        "securityContext": pod_rights(settings),
        "terminationGracePeriodSeconds": grace_seconds(request),
        **placement(settings),
    }
    labels = {**request.labels, RUN_LABEL: request.name}
    template = {"metadata": {"labels": labels, "annotations": dict(request.annotations)}, "spec": pod}
    replicated = {"name": REPLICATED_JOB, "template": {"spec": {"template": template}}}
    patch = {
        "manager": _PATCHES,
        "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [replicated]}}},
    }
    spec: Manifest = {
        "runtimeRef": {
            "apiGroup": "trainer.kubeflow.org",
            "kind": "TrainingRuntime",
            "name": settings.kubernetes_runtime,
        },
        "trainer": {
            "image": settings.kubernetes_image,
            "command": command(request, settings),
            "env": environment(settings),
            "numNodes": machines,
            "numProcPerNode": request.processes,
            "resourcesPerNode": resources(request, settings),
        },
        "runtimePatches": [patch],
    }
    if settings.kubernetes_minutes:
        spec["activeDeadlineSeconds"] = 60 * settings.kubernetes_minutes
    whole = {
        "apiVersion": TRAIN_JOB.api_version,
        "kind": TRAIN_JOB.kind,
        "metadata": _metadata(request, settings),
        "spec": spec,
    }
    found: Any = TrainerV1alpha1TrainJob.from_dict(whole)
    manifest: Manifest = found.to_dict()
    return manifest


def config_map(name: str, spec: str, kind: Kind, uid: str) -> Manifest:
    """The spec of an attempt. It cannot be changed, and it goes with its Job."""
    owner = {"apiVersion": kind.api_version, "kind": kind.kind, "name": name, "uid": uid}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "ownerReferences": [owner]},
        "immutable": True,
        "data": {SPEC_FILE: spec},
    }


def sample_job(settings: KubernetesSettings) -> Manifest:
    """A Job with the settings of the worker alone, for a trial."""
    name = object_name("job_trial", 0)
    folder = Folder("/proximal", "runs/trial")
    return job(PodRequest(name, labels_of("job_trial", 0), {}, ["presets"], folder), settings)


def _metadata(request: PodRequest, settings: KubernetesSettings) -> Manifest:
    labels = dict(request.labels)
    if settings.kubernetes_queue:
        labels[QUEUE_LABEL] = settings.kubernetes_queue
    return {"name": request.name, "labels": labels, "annotations": dict(request.annotations)}


def _exit_codes(operator: str) -> Manifest:
    return {"containerName": CONTAINER, "operator": operator, "values": [Stopped.exit_status]}
