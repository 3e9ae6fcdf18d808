"""`python -m trainer launch`: a run in several processes, under accelerate's launcher, that ends as one process would.

`accelerate launch` alone turns every failure into exit status 1. When it is stopped, it kills its processes after 30
seconds, although a step may take minutes. Here a stop signal is forwarded to the processes and their end is awaited. The
exit status is that of the process that failed first, as in a run of one process.
"""

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from trainer.errors import ProcessLost
from trainer.spec import ResourcesSpec

_RANK = "trainer.distributed.rank"
_CONSEQUENCES = (ProcessLost.exit_status, -signal.SIGTERM)


@dataclass(frozen=True)
class Machine:
    """The number of this machine in the run, and the address at which its machines connect."""

    rank: int = 0
    rendezvous: str | None = None
    """`host:port` on machine 0. None: the run has one machine, which takes a free port."""


def launch(resources: ResourcesSpec, machine: Machine, program: Sequence[str], rank_logs: Path | None = None) -> int:
    """Start this machine's processes, each as `python -m PROGRAM`; return the exit status of the run.

    `rank_logs`: folder where each process writes its output to `trainer-rank-<number>.log`. None: they write to the console.

    If a signal ended the process that failed first, the same signal ends this process, and the call does not return.
    """
    from accelerate.commands.launch import (  # type: ignore[import-untyped]
        launch_command,
        launch_command_parser,
    )
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

    from trainer.distributed.cpu_threads import available_cores

    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, available_cores() // resources.processes)))
    # SIGTERM and SIGINT are handled here, because torch's agent kills its processes half a minute after a signal.
    os.environ["PET_SIGNALS_TO_HANDLE"] = "SIGHUP,SIGQUIT"
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _forward_signal)
    rank = ["-m", _RANK, str(os.getpid()), "" if rank_logs is None else str(rank_logs), *program]
    try:
        launch_command(launch_command_parser().parse_args([*options(resources, machine), *rank]))
    except ChildFailedError as error:
        return _end_like(_first_status(error.failures))
    except SignalException as error:  # the terminal was closed; the agent has ended the processes
        return _end_like(-error.sigval)
    return 0


def options(resources: ResourcesSpec, machine: Machine) -> list[str]:
    """Arguments for `accelerate launch`: every one that a default configuration file on the machine could change.

    `--multi_gpu` starts that many processes on CPUs too, where accelerate's `--cpu` would start one.
    """
    values: dict[str, Any] = {
        "num_processes": resources.processes * resources.machines,
        "num_machines": resources.machines,
        "machine_rank": machine.rank,
        "main_process_port": 0,
        "gpu_ids": "all",
        "mixed_precision": "no",
        "dynamo_backend": "no",
    }
    flags = ["--multi_gpu"]
    if machine.rendezvous is not None:
        host, _, port = machine.rendezvous.rpartition(":")
        values |= {"main_process_ip": host, "main_process_port": port}
        flags.append("--same_network")
    return [*flags, *(part for name, value in values.items() for part in (f"--{name}", str(value)))]


def _forward_signal(number: int, frame: FrameType | None) -> None:
    """Send the signal to every process of the run on this machine, or end this process where none has started yet."""
    import psutil  # type: ignore[import-untyped]  # accelerate brings it

    ranks = [child for child in psutil.Process().children() if _RANK in child.cmdline()]
    for rank in ranks:
        rank.send_signal(number)
    if not ranks:
        _end_like(-number)


def _first_status(failures: Mapping[int, Any]) -> int:
    """The exit status of the process that failed first. Processes that ended because of another one come last."""
    first = min(failures.values(), key=lambda failure: (failure.exitcode in _CONSEQUENCES, failure.timestamp))
    return int(first.exitcode)


def _end_like(status: int) -> int:
    """Return an exit status. A negative status is a signal, which then ends this process."""
    if status < 0:
        sys.stderr.flush()
        signal.signal(-status, signal.SIG_DFL) if -status not in (signal.SIGKILL, signal.SIGSTOP) else None
        os.kill(os.getpid(), -status)
    return status
