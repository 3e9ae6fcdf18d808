"""`python -m trainer launch`: a run in several processes, under accelerate's launcher, that ends as one process would.

`accelerate launch` alone turns every failure into exit status 1, and asked to stop it gives its processes 30 seconds before
it kills them. Here a stop is passed on and waited for, since a step may take minutes, and the exit status is that of the
process that failed first: whoever started the run (a person, a script, a worker) learns from it what it would from a run
in one process.
"""

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

from trainer.errors import ProcessLost
from trainer.spec import ResourcesSpec

_RANK = "trainer.distributed.rank"
_CONSEQUENCES = (ProcessLost.exit_status, -signal.SIGTERM)


@dataclass(frozen=True)
class Machine:
    """Which of a run's machines this is, and where they meet."""

    rank: int = 0
    rendezvous: str | None = None
    """`host:port` on machine 0. None: there is only this one, which takes a free port."""


def launch(resources: ResourcesSpec, machine: Machine, program: Sequence[str]) -> int:
    """Start this machine's processes, each as `python -m PROGRAM`; answer the exit status of the whole.

    Does not return if the process that failed first was ended by a signal: the same signal then ends this one.
    """
    from accelerate.commands.launch import (  # type: ignore[import-untyped]
        launch_command,
        launch_command_parser,
    )
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

    from trainer.distributed.cpu_threads import available_cores

    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, available_cores() // resources.processes)))
    # The others are ours to handle: torch's agent answers a signal by killing its processes half a minute later.
    os.environ["PET_SIGNALS_TO_HANDLE"] = "SIGHUP,SIGQUIT"
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _pass_on)
    rank = ["-m", _RANK, str(os.getpid()), *program]
    try:
        launch_command(launch_command_parser().parse_args([*options(resources, machine), *rank]))
    except ChildFailedError as error:
        return _end_like(_cause(error.failures))
    except SignalException as error:  # a terminal that was closed, once the processes have been ended
        return _end_like(-error.sigval)
    return 0


def options(resources: ResourcesSpec, machine: Machine) -> list[str]:
    """Those of `accelerate launch`, every one that a default configuration of the machine's could change.

    `--multi_gpu` starts that many processes on CPUs too, where accelerate's `--cpu` would start a single one.
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


def _pass_on(number: int, frame: FrameType | None) -> None:
    """To every process of the run on this machine. Before there are any, it ends this one."""
    import psutil  # type: ignore[import-untyped]  # accelerate brings it

    ranks = [child for child in psutil.Process().children() if _RANK in child.cmdline()]
    for rank in ranks:
        rank.send_signal(number)
    if not ranks:
        _end_like(-number)


def _cause(failures: Mapping[int, Any]) -> int:
    """The exit status of the process that failed first, and not because another one had."""
    first = min(failures.values(), key=lambda failure: (failure.exitcode in _CONSEQUENCES, failure.timestamp))
    return int(first.exitcode)


def _end_like(status: int) -> int:
    """Exit statuses are answered; of a signal (negative) this process dies as well."""
    if status < 0:
        sys.stderr.flush()
        signal.signal(-status, signal.SIG_DFL) if -status not in (signal.SIGKILL, signal.SIGSTOP) else None
        os.kill(os.getpid(), -status)
    return status
