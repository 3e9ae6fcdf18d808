"""The settings of a worker that creates Jobs in Kubernetes."""

import json
import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode

from core.settings.launcher import LauncherSettings
from core.settings.values import Seconds, Words


def _json(value: object) -> object:
    """The value of a JSON text. An empty text leaves the setting out."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value) if value.strip() else []
    except ValueError as error:
        raise ValueError(f"the value is not JSON: {error}") from error


_DNS = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_SUBDOMAIN = rf"^({_DNS}(\.{_DNS})*)?$"
ObjectName = Annotated[str, Field(pattern=_SUBDOMAIN, max_length=253)]
"""The name of an object in Kubernetes, or an empty text."""
_SELECTOR = re.compile(r"(?P<key>[A-Za-z0-9]([A-Za-z0-9_./-]{0,315}[A-Za-z0-9])?)=(?P<value>[A-Za-z0-9_.-]{0,63})")


class KubernetesSettings(LauncherSettings, BaseSettings):
    """The settings of a worker that creates Jobs in Kubernetes. `proximal doctor` reads them too, and needs no others."""

    model_config = LauncherSettings.model_config

    kubernetes_namespace: ObjectName = ""
    """Namespace of the Jobs. Empty: that of the worker's pod, or of the kube-config file's context."""
    kubernetes_config: str = ""
    """Kube-config file, for a worker outside the cluster. Empty: `KUBECONFIG`, or `~/.kube/config`."""
    kubernetes_context: str = ""
    """Context of the kube-config file, for a worker outside the cluster. Empty: the current one. In a pod, the service account is used."""
    kubernetes_image: str = ""
    """Required with `PROXIMAL_LAUNCHER=kubernetes`. Image of the pods, which `worker/Dockerfile` builds, of the version that the worker has."""
    kubernetes_pull_secrets: Words = []
    """Names of Secrets with the credentials of the image's registry, separated by spaces."""
    kubernetes_claim: ObjectName = ""
    """Required with `PROXIMAL_LAUNCHER=kubernetes`. PersistentVolumeClaim (`ReadWriteMany`) that holds the data folder. The worker has it at `PROXIMAL_DATA_DIR`. Each pod mounts the folder of its run alone, at the same path."""
    kubernetes_claim_folder: Annotated[
        str, Field(pattern=r"^([A-Za-z0-9_-][A-Za-z0-9_.-]*(/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*)?$")
    ] = ""
    """Path of the data folder in the claim, such as `proximal/data`. Empty: the data folder is the claim's root."""
    kubernetes_models_claim: ObjectName = ""
    """PersistentVolumeClaim for models of the hub and local models, which all pods share. Empty: each pod downloads its own."""
    kubernetes_models_path: Annotated[str, Field(pattern=r"^/[A-Za-z0-9_./-]+$")] = "/models"
    """Path at which pods mount `PROXIMAL_KUBERNETES_MODELS_CLAIM`. It is their `HF_HOME`, too."""
    kubernetes_secrets: Words = []
    """Names of Secrets whose keys become variables of the pods, such as `WANDB_API_KEY`, separated by spaces."""
    kubernetes_service_account: ObjectName = ""
    """Service account of the pods, which get no token of it. Empty: the namespace's default."""
    kubernetes_user: Annotated[int, Field(ge=1)] | None = None
    """Number of the user and the group of the processes in the pods. It must be able to write to the claim. Left out: those of the image or the namespace. The pods never run as root."""
    kubernetes_queue: ObjectName = ""
    """Local queue of Kueue, as the label `kueue.x-k8s.io/queue-name` of the Jobs. Empty: no label."""
    kubernetes_priority_class: ObjectName = ""
    """Priority class of the pods. Empty: the cluster's default."""
    kubernetes_node_selector: Words = []
    """Labels that the nodes of the pods must have, as `gpu=h100 zone=eu`."""
    kubernetes_tolerations: Annotated[list[dict[str, Any]], NoDecode, BeforeValidator(_json)] = []
    """Tolerations of the pods as a JSON list, such as `[{"key": "nvidia.com/gpu", "operator": "Exists"}]`."""
    kubernetes_cpus_per_process: Annotated[int, Field(ge=1)] = 1
    """Cores for each process of a trainer, as request and as limit. Increase it for jobs on GPUs, whose tokenisation and data loading need some."""
    kubernetes_memory_gib: Annotated[int, Field(ge=1)] | None = None
    """Memory of a pod in GiB, as request and as limit. Left out: the namespace's default. Kubernetes evicts pods without a request first."""
    kubernetes_shared_memory_gib: Annotated[int, Field(ge=1)] = 1
    """Largest size of `/dev/shm` in GiB, with which the processes of a trainer exchange data. It counts as memory of the pod."""
    kubernetes_gpus: Annotated[int, Field(ge=0)] = 0
    """Most GPUs of a pod, because a worker without rights on nodes does not know it. `0`: jobs run on CPUs."""
    kubernetes_gpu_resource: Annotated[str, Field(pattern=r"^[a-z0-9.-]+/[A-Za-z0-9._-]+$")] = "nvidia.com/gpu"
    """Resource of the device plugin that counts the GPUs."""
    kubernetes_gpu_memory_gib: Annotated[int, Field(ge=0)] = 0
    """Memory of the smallest GPU of the nodes, in GiB. Jobs with `resources.gpu_memory_gib` need it."""
    kubernetes_machines: Annotated[int, Field(ge=1)] = 1
    """Most machines of a job. Above 1, `PROXIMAL_KUBERNETES_RUNTIME` is required."""
    kubernetes_runtime: ObjectName = ""
    """Kubeflow `TrainingRuntime` of the namespace for jobs on several machines, such as that of `examples/kubernetes/training-runtime.yaml`. Empty: jobs run on one machine."""
    kubernetes_minutes: Annotated[int, Field(ge=1)] | None = None
    """Time limit of a Job in minutes (`activeDeadlineSeconds`). The trainer then saves, and the job is queued again. Left out: no limit."""
    kubernetes_python: Annotated[str, Field(min_length=1)] = "python"
    """Python in the image that has the trainer."""
    kubernetes_poll_seconds: Seconds = 2
    """Seconds between two requests for the state of a running Job. Events do not wait for it. Increase it if the API server is busy."""
    kubernetes_lease_seconds: Annotated[float, Field(ge=30)] = 600
    """Seconds for which a Job goes on without its worker. A worker of the same name that starts in this time continues to follow it. Afterwards the job goes back to the queue, and its trainer ends."""

    @field_validator("kubernetes_user", "kubernetes_memory_gib", "kubernetes_minutes", mode="before")
    @classmethod
    def _empty_kubernetes_is_left_out(cls, value: object) -> object:
        return None if value == "" else value

    @field_validator("kubernetes_node_selector")
    @classmethod
    def _selectors_are_labels(cls, labels: list[str]) -> list[str]:
        for label in labels:
            if not _SELECTOR.fullmatch(label):
                raise ValueError(f"{label}: a label of a node is written as name=value")
        return labels

    @field_validator("kubernetes_pull_secrets", "kubernetes_secrets")
    @classmethod
    def _secrets_are_names(cls, names: list[str]) -> list[str]:
        for name in names:
            if not re.fullmatch(_SUBDOMAIN, name):
                raise ValueError(f"{name}: the name of a Secret has small letters, digits, dots and hyphens")
        return names

    @model_validator(mode="after")
    def _kubernetes_is_complete(self) -> "KubernetesSettings":
        if self.kubernetes_machines > 1 and not self.kubernetes_runtime:
            raise ValueError(
                "PROXIMAL_KUBERNETES_MACHINES needs PROXIMAL_KUBERNETES_RUNTIME, a TrainingRuntime of Kubeflow"
            )
        missing = [name for name in ("kubernetes_image", "kubernetes_claim") if not getattr(self, name)]
        if self.launcher == "kubernetes" and missing:
            names = " and ".join(f"PROXIMAL_{name.upper()}" for name in missing)
            raise ValueError(f"PROXIMAL_LAUNCHER=kubernetes needs {names}")
        return self
