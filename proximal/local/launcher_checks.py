"""The checks of Slurm and Kubernetes for `proximal doctor`, with the settings of a worker that submits to them."""

from collections.abc import Callable, Iterator
from typing import TypeVar

from core.errors import SettingsError
from core.kubernetes import namespace as kubernetes
from core.settings import KubernetesSettings, SlurmSettings, get_kubernetes_settings, get_slurm_settings
from core.slurm import cluster as slurm

S = TypeVar("S", SlurmSettings, KubernetesSettings)
Check = tuple[str, bool, str]
"""The name, the result and a description."""


def check_slurm() -> Iterator[Check]:
    """Nothing where `PROXIMAL_LAUNCHER` is not `slurm`."""
    return _check("slurm", get_slurm_settings, _slurm)


def check_kubernetes() -> Iterator[Check]:
    """Nothing where `PROXIMAL_LAUNCHER` is not `kubernetes`."""
    return _check("kubernetes", get_kubernetes_settings, _kubernetes)


def _check(name: str, read: Callable[[], S], found: Callable[[S], tuple[str, str | None]]) -> Iterator[Check]:
    try:
        settings = read()
    except SettingsError as error:
        yield name, False, str(error)
        return
    if settings.launcher == name:
        description, problem = found(settings)
        yield name, problem is None, problem or description


def _slurm(settings: SlurmSettings) -> tuple[str, str | None]:
    cluster, problem = slurm.checked(settings)
    partition = None if cluster is None else cluster.partition(settings.slurm_partition)
    if problem is not None or cluster is None or partition is None:
        return "", problem or "Slurm does not respond."
    return f"cluster {cluster.name}, partition {partition.name} with {partition.nodes} nodes", None


def _kubernetes(settings: KubernetesSettings) -> tuple[str, str | None]:
    namespace, problem = kubernetes.checked(settings)
    if problem is not None or namespace is None:
        return "", problem or "Kubernetes does not respond."
    return f"{namespace.version} at {namespace.server}, namespace {namespace.name}", None
