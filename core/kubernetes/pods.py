"""The pod of a trainer: one container with few rights, which sees the folder of its run and nothing else of the platform."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from core.kubernetes.client import Manifest
from core.settings import KubernetesSettings

CONTAINER = "node"
"""Name of the container, which Kubeflow's runtimes use too."""
RUN_LABEL = "proximal/run"
"""Label of the pods of one attempt. Its value is the name of the attempt's Job."""
SPEC_FILE = "spec.json"
_HOME = "/tmp"
_CACHE = f"{_HOME}/huggingface"


@dataclass(frozen=True)
class Folder:
    """A folder of the data folder that a pod mounts."""

    path: str
    """Its path for the worker, and in the pod."""
    inside: str
    """Its path below the data folder."""


@dataclass(frozen=True)
class PodRequest:
    """The trainer of one attempt on one machine."""

    name: str
    """Name of the Job or the TrainJob."""
    labels: dict[str, str]
    annotations: dict[str, str]
    arguments: Sequence[str]
    """Those that follow `python -m trainer`."""
    run: Folder
    """The run folder, which is also the working directory."""
    others: tuple[Folder, ...] = ()
    processes: int = 1
    gpus: int = 0
    stop_seconds: float = 60


def command(request: PodRequest, settings: KubernetesSettings) -> list[str]:
    """The command of the container. Kubernetes replaces `$(NAME)` in it, and `$$` stands for a plain `$`."""
    words = [settings.kubernetes_python, "-m", "trainer", *request.arguments]
    return [word.replace("$", "$$") for word in words]


def environment(settings: KubernetesSettings) -> list[dict[str, str]]:
    """The variables of the container. The image's user may have no home and no name."""
    cache = settings.kubernetes_models_path if settings.kubernetes_models_claim else _CACHE
    values = {"PYTHONUNBUFFERED": "1", "HOME": _HOME, "LOGNAME": "proximal", "HF_HOME": cache}
    return [{"name": name, "value": value} for name, value in values.items()]


def resources(request: PodRequest, settings: KubernetesSettings) -> Manifest:
    """Requests and limits, which are equal, so that Kubernetes evicts such pods last."""
    amounts = {"cpu": str(request.processes * settings.kubernetes_cpus_per_process)}
    if settings.kubernetes_memory_gib:
        amounts["memory"] = f"{settings.kubernetes_memory_gib}Gi"
    if request.gpus:
        amounts[settings.kubernetes_gpu_resource] = str(request.gpus)
    return {"requests": dict(amounts), "limits": dict(amounts)}


def volumes(request: PodRequest, settings: KubernetesSettings) -> list[Manifest]:
    """The claims, the ConfigMap with the spec, and the folders in memory and on the node."""
    memory = {"medium": "Memory", "sizeLimit": f"{settings.kubernetes_shared_memory_gib}Gi"}
    found: list[Manifest] = [
        {"name": "data", "persistentVolumeClaim": {"claimName": settings.kubernetes_claim}},
        {"name": "spec", "configMap": {"name": request.name}},
        {"name": "temporary", "emptyDir": {}},
        {"name": "shared-memory", "emptyDir": memory},
    ]
    if settings.kubernetes_models_claim:
        found.append({"name": "models", "persistentVolumeClaim": {"claimName": settings.kubernetes_models_claim}})
    return found


def mounts(request: PodRequest, settings: KubernetesSettings) -> list[Manifest]:
    """The run folder alone, at the worker's path, with the spec of the ConfigMap over the file of the same name."""
    found: list[Manifest] = [
        {"name": "data", "mountPath": folder.path, "subPath": _below_claim(folder, settings)}
        for folder in (request.run, *request.others)
    ]
    spec = {"name": "spec", "mountPath": f"{request.run.path}/{SPEC_FILE}", "subPath": SPEC_FILE, "readOnly": True}
    found += [spec, {"name": "temporary", "mountPath": _HOME}, {"name": "shared-memory", "mountPath": "/dev/shm"}]
    if settings.kubernetes_models_claim:
        found.append({"name": "models", "mountPath": settings.kubernetes_models_path})
    return found


def container_rights() -> Manifest:
    return {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def pod_rights(settings: KubernetesSettings) -> Manifest:
    found: Manifest = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    if settings.kubernetes_user is not None:
        user = settings.kubernetes_user
        found |= {"runAsUser": user, "runAsGroup": user, "fsGroup": user, "fsGroupChangePolicy": "OnRootMismatch"}
    return found


def placement(settings: KubernetesSettings) -> Manifest:
    """The fields of a pod that choose its node and its account; those that are not set are left out."""
    selector = dict(label.split("=", 1) for label in settings.kubernetes_node_selector)
    fields: dict[str, Any] = {
        "nodeSelector": selector,
        "tolerations": settings.kubernetes_tolerations,
        "serviceAccountName": settings.kubernetes_service_account,
        "imagePullSecrets": [{"name": name} for name in settings.kubernetes_pull_secrets],
    }
    return {name: value for name, value in fields.items() if value}


def grace_seconds(request: PodRequest) -> int:
    """Time between SIGTERM and SIGKILL, in which the trainer finishes its step and saves."""
    return max(1, math.ceil(request.stop_seconds))


def pod_template(request: PodRequest, settings: KubernetesSettings) -> Manifest:
    """The template of the Job's pods. They get no token of an account and no variables of the namespace's services."""
    container: Manifest = {
        "name": CONTAINER,
        "image": settings.kubernetes_image,
        "command": command(request, settings),
        "workingDir": request.run.path,
        "env": environment(settings),
        "resources": resources(request, settings),
        "volumeMounts": mounts(request, settings),
        "securityContext": container_rights(),
        # The output is in the run folder. The end of what comes before, such as a missing module, is in the pod's status.
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }
    if settings.kubernetes_secrets:
        container["envFrom"] = [{"secretRef": {"name": name}} for name in settings.kubernetes_secrets]
    pod: Manifest = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": grace_seconds(request),
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": pod_rights(settings),
        "containers": [container],
        "volumes": volumes(request, settings),
        **placement(settings),
    }
    if settings.kubernetes_priority_class:
        pod["priorityClassName"] = settings.kubernetes_priority_class
    labels = {**request.labels, RUN_LABEL: request.name}
    return {"metadata": {"labels": labels, "annotations": dict(request.annotations)}, "spec": pod}


def _below_claim(folder: Folder, settings: KubernetesSettings) -> str:
    return "/".join(part for part in (settings.kubernetes_claim_folder, folder.inside) if part)
