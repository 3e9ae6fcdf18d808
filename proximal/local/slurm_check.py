"""The check of Slurm for `proximal doctor`, on the machine of a worker that submits to it."""

from collections.abc import Iterator

from core.errors import SettingsError
from core.settings import get_slurm_settings
from core.slurm.cluster import checked


def check_slurm() -> Iterator[tuple[str, bool, str]]:
    """The name, the result and a description; nothing where `PROXIMAL_LAUNCHER` is not `slurm`."""
    try:
        settings = get_slurm_settings()
    except SettingsError as error:
        yield "slurm", False, str(error)
        return
    if settings.launcher != "slurm":
        return
    cluster, problem = checked(settings)
    partition = None if cluster is None else cluster.partition(settings.slurm_partition)
    if problem is not None or cluster is None or partition is None:
        yield "slurm", False, problem or "Slurm does not respond."
        return
    yield "slurm", True, f"cluster {cluster.name}, partition {partition.name} with {partition.nodes} nodes"
