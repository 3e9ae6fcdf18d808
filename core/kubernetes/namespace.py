"""The namespace of a worker's Jobs, and the problems that keep a worker from creating them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from core.kubernetes.client import (
    CLAIMS,
    CONFIG_MAPS,
    EVENTS,
    JOBS,
    LOCAL_QUEUES,
    NAMESPACES,
    PODS,
    PRIORITY_CLASSES,
    RUNTIMES,
    TRAIN_JOBS,
    Api,
    Forbidden,
    KubernetesError,
    Manifest,
    Missing,
    NoConfiguration,
    NotInstalled,
    QuotaExceeded,
    Refused,
    Resource,
    ServerAway,
    connect,
)
from core.kubernetes.objects import REPLICATED_JOB, sample_job
from core.kubernetes.pods import CONTAINER
from core.settings import KubernetesSettings

_NEEDED: tuple[tuple[Resource, tuple[str, ...]], ...] = (
    (JOBS, ("create", "get", "delete")),
    (PODS, ("list", "delete")),
    (CONFIG_MAPS, ("create",)),
    (EVENTS, ("list",)),
    (CLAIMS, ("get",)),
)
_NEEDED_BY_GROUPS: tuple[tuple[Resource, tuple[str, ...]], ...] = (
    (TRAIN_JOBS, ("create", "get", "delete")),
    (RUNTIMES, ("get",)),
)
_SHARED = "ReadWriteMany"


@dataclass(frozen=True)
class Namespace:
    """A namespace that responds, as workers describe it."""

    name: str
    version: str
    """Version of the cluster."""
    server: str
    """Address of its API."""

    def stored(self) -> dict[str, Any]:
        """The fields that the page of workers shows, as JSON. A worker has no rights on nodes, so there are none."""
        return {"engine": "kubernetes", "name": self.name, "partitions": []}


def checked(settings: KubernetesSettings, api: Api | None = None) -> tuple[Namespace | None, str | None]:
    """The namespace, and why a worker with these settings cannot create Jobs in it; each is None where there is none."""
    try:
        api = api or connect(settings)
        namespace = Namespace(api.namespace, api.version(), api.server)
    except KubernetesError as error:
        return None, problem_of_error(error)
    try:
        problem = next(_problems(api, settings), None)
    except KubernetesError as error:
        problem = problem_of_error(error)
    return namespace, problem


def problem_of_error(error: KubernetesError) -> str:
    """The sentence for an error of a request that every worker needs."""
    if isinstance(error, NotInstalled):
        return f"Kubernetes cannot be reached: {error}."
    if isinstance(error, NoConfiguration):
        return (
            f"There is no configuration for Kubernetes: {str(error).rstrip('.')}. Run the worker in a pod with a service account, or name a "
            "kube-config file in PROXIMAL_KUBERNETES_CONFIG."
        )
    if isinstance(error, ServerAway):
        return f"The API server of Kubernetes does not respond: {error}. `kubectl get --raw /readyz` shows its state."
    if isinstance(error, Forbidden):
        return f"The worker's account has no right: {error}. `proximal doctor` lists the rights that it needs."
    if isinstance(error, QuotaExceeded):
        return f"The namespace's quota has no room: {error}."
    return f"Kubernetes refuses a request: {error}."


def _problems(api: Api, settings: KubernetesSettings) -> Iterator[str]:
    yield from _missing_namespace(api)
    yield from _missing_rights(api, settings)
    yield from _unfit_claims(api, settings)
    yield from _missing_objects(api, settings)
    yield from _unfit_runtime(api, settings)
    yield from _refused_settings(api, settings)


def _missing_namespace(api: Api) -> Iterator[str]:
    """Most accounts may not look at namespaces. The other checks then find a missing one."""
    try:
        api.get(NAMESPACES, api.namespace)
    except Forbidden:
        return
    except Missing:
        yield (
            f"There is no namespace {api.namespace!r} (PROXIMAL_KUBERNETES_NAMESPACE). "
            f"`kubectl create namespace {api.namespace}` creates it."
        )


def _missing_rights(api: Api, settings: KubernetesSettings) -> Iterator[str]:
    needed = _NEEDED + (_NEEDED_BY_GROUPS if settings.kubernetes_machines > 1 else ())
    missing = [f"{verb} {kind.plural}" for kind, verbs in needed for verb in verbs if not api.may(verb, kind)]
    if missing:
        yield (
            f"The worker's account may not {', '.join(missing)} in the namespace {api.namespace!r}. Bind it to a Role with these "
            "rights, as docs/how-to/use-kubernetes.md shows."
        )


def _unfit_claims(api: Api, settings: KubernetesSettings) -> Iterator[str]:
    for name in filter(None, (settings.kubernetes_claim, settings.kubernetes_models_claim)):
        try:
            claim = api.get(CLAIMS, name)
        except Missing:
            yield (
                f"The namespace {api.namespace!r} has no PersistentVolumeClaim {name!r} (PROXIMAL_KUBERNETES_CLAIM, "
                "PROXIMAL_KUBERNETES_MODELS_CLAIM). Create it, or name another one."
            )
            continue
        modes = claim.get("spec", {}).get("accessModes") or []
        if _SHARED not in modes:
            yield f"The claim {name!r} has the access mode {', '.join(modes)}: the worker and its pods need {_SHARED}."


def _missing_objects(api: Api, settings: KubernetesSettings) -> Iterator[str]:
    """Objects that the settings name. Those at which the account may not look are left to the trial and to Kueue."""
    named = [
        (settings.kubernetes_priority_class, PRIORITY_CLASSES, "priority class", "PROXIMAL_KUBERNETES_PRIORITY_CLASS"),
        (settings.kubernetes_queue, LOCAL_QUEUES, "local queue of Kueue", "PROXIMAL_KUBERNETES_QUEUE"),
        (settings.kubernetes_runtime, RUNTIMES, "TrainingRuntime of Kubeflow", "PROXIMAL_KUBERNETES_RUNTIME"),
    ]
    for name, kind, words, setting in named:
        try:
            if name:
                api.get(kind, name)
        except Forbidden:
            continue
        except Missing as error:
            yield f"There is no {words} {name!r} ({setting}): {error}. Create it, or name another one."


def _unfit_runtime(api: Api, settings: KubernetesSettings) -> Iterator[str]:
    """Fields that a TrainJob cannot set, so that the runtime must have them."""
    if settings.kubernetes_machines == 1:
        return
    found = api.get(RUNTIMES, settings.kubernetes_runtime)
    jobs = found.get("spec", {}).get("template", {}).get("spec", {}).get("replicatedJobs") or []
    job = _named(jobs, REPLICATED_JOB).get("template", {}).get("spec", {})
    pod = job.get("template", {}).get("spec", {})
    container = _named(pod.get("containers") or [], CONTAINER)
    secrets = {one.get("secretRef", {}).get("name") for one in container.get("envFrom") or []}
    wanted = {
        "`backoffLimit: 0`": job.get("backoffLimit") == 0,
        "`automountServiceAccountToken: false`": pod.get("automountServiceAccountToken") is False,
        "`enableServiceLinks: false`": pod.get("enableServiceLinks") is False,
        f"`priorityClassName: {settings.kubernetes_priority_class}`": (
            pod.get("priorityClassName", "") == settings.kubernetes_priority_class
        ),
        "`envFrom` with the Secrets of PROXIMAL_KUBERNETES_SECRETS": secrets >= set(settings.kubernetes_secrets),
    }
    if lacks := [field for field, present in wanted.items() if not present]:
        yield (
            f"The TrainingRuntime {settings.kubernetes_runtime!r} lacks {', '.join(lacks)} for its job {REPLICATED_JOB!r}. Add it, "
            "as in examples/kubernetes/training-runtime.yaml."
        )


def _named(objects: list[Manifest], name: str) -> Manifest:
    """The object of this name; an empty one if there is none."""
    return next((one for one in objects if one.get("name") == name), {})


def _refused_settings(api: Api, settings: KubernetesSettings) -> Iterator[str]:
    """A trial of a Job with these settings, which the server checks and does not store."""
    try:
        api.create(JOBS, sample_job(settings), trial=True)
    except Refused as error:
        yield f"Kubernetes refuses the worker's settings: {error}. Correct PROXIMAL_KUBERNETES_… and restart the worker."
    except QuotaExceeded:
        return  # there may be room later, and jobs report it
    except Missing as error:
        yield f"Kubernetes cannot create Jobs in the namespace {api.namespace!r}: {error}."
