"""A run on several nodes of a TrainJob of Kubeflow: `python -m trainer launch --kubeflow` starts in the pod of each node.

Kubeflow describes the node in variables of torchrun, which begin with PET_. The launcher sets RANK, WORLD_SIZE, LOCAL_RANK,
LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT for its processes from its own options, so the variables are removed.
"""

import os

from trainer.errors import SpecError

_PREFIX = "PET_"
_NEEDED = ("PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT")


def take_node() -> tuple[int, str]:
    """The number of this node, from 0, and the rendezvous as `host:port`. Removes the variables of torchrun.

    Raises SpecError outside a TrainJob.
    """
    missing = [name for name in _NEEDED if not os.environ.get(name)]
    if missing:
        raise SpecError(
            f"--kubeflow is for a node of a TrainJob with the policy `torch`, and {' and '.join(missing)} is not set."
        )
    rank, host, port = (os.environ[name] for name in _NEEDED)
    for name in [name for name in os.environ if name.startswith(_PREFIX)]:
        del os.environ[name]
    return int(rank), f"{host}:{port}"
