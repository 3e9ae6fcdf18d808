"""A run on several nodes of a Slurm job: `python -m trainer launch --slurm` as the batch script starts it on each node.

`srun` sets no RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT. It starts one launcher on each node
here, and each launcher sets them for its processes. Only the batch process handles a signal, and passes it to the launchers by
`scancel`: `srun` would answer SIGTERM by killing its tasks.
"""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from types import FrameType

from trainer.errors import SpecError

_ADDRESS = re.compile(r"\bNodeAddr=(\S+)")
_SIGNALLED = 128
"""`srun` adds this to the number of the signal that ended a task."""


def node_rank() -> int | None:
    """The number of this node, in a process that `srun` has started; None in the batch process.

    Raises SpecError outside a job of Slurm.
    """
    if "SLURM_JOB_ID" not in os.environ:
        raise SpecError(
            "--slurm is for a batch job of Slurm, and SLURM_JOB_ID is not set. Submit this command by sbatch."
        )
    return int(os.environ["SLURM_NODEID"]) if "SLURM_STEP_ID" in os.environ else None


def launch_on_nodes(machines: int, command: Sequence[str]) -> int:
    """Start `command --rendezvous HOST:PORT` once on each node of this job. Returns the exit status of the run.

    If a signal ended it, the same signal ends this process, and the call does not return.
    """
    cores = os.environ.get("SLURM_CPUS_PER_TASK")  # srun takes it from its own options alone
    options = [f"--nodes={machines}", f"--ntasks={machines}", "--ntasks-per-node=1", "--kill-on-bad-exit=0"]
    options += [f"--cpus-per-task={cores}"] if cores else []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _signal_the_nodes)
    tasks = subprocess.Popen(["srun", *options, *command, "--rendezvous", f"{_own_address()}:{_free_port()}"])
    status = tasks.wait()
    if status > _SIGNALLED:
        status = _SIGNALLED - status
    if status < 0:
        sys.stderr.flush()
        signal.signal(-status, signal.SIG_DFL) if -status not in (signal.SIGKILL, signal.SIGSTOP) else None
        os.kill(os.getpid(), -status)
    return status


def _signal_the_nodes(number: int, frame: FrameType | None) -> None:
    """Without `--batch` or `--full`, the signal goes to the tasks of `srun` and not to this process."""
    subprocess.run(["scancel", "--signal=TERM", os.environ["SLURM_JOB_ID"]], check=False)


def _own_address() -> str:
    """The address by which Slurm itself reaches this node, the first one of the job."""
    name = os.environ.get("SLURMD_NODENAME", socket.gethostname())
    shown = subprocess.run(["scontrol", "show", "node", name], capture_output=True, text=True, check=False)
    found = _ADDRESS.search(shown.stdout)
    return found[1] if found else name


def _free_port() -> int:
    with socket.create_server(("", 0)) as server:
        port: int = server.getsockname()[1]
    return port
