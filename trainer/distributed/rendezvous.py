"""How the processes of a run find each other. Only this module and `rank` read the launcher's environment."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path

import torch

from trainer.distributed.peer_failure import PeerMonitor
from trainer.distributed.world import SINGLE, PeerGone, World
from trainer.errors import ModelError, StorageError
from trainer.hangs import MARKS

_COLLECTIVE_TIMEOUT = timedelta(hours=2)
"""Long, because the main process may write a large checkpoint, or a reward may be slow. `PeerMonitor` finds ended processes."""


def processes_here() -> int:
    """The number of processes of this run on this machine."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1"))


def init_distributed(device: str) -> World:
    """Join the processes that a launcher has started, or return SINGLE where there is one.

    Reads RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as `accelerate launch` and torchrun
    set them. Uses gloo on CPUs, and NCCL with a device for each process on GPUs. Raises ModelError where there are fewer
    devices than processes.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return SINGLE
    on_gpu = device != "cpu" and torch.cuda.is_available()
    if on_gpu and processes_here() > torch.cuda.device_count():
        raise ModelError(
            f"{processes_here()} processes were started on this machine, but it has {torch.cuda.device_count()} CUDA devices: "
            'one for each is needed. Start fewer, or set `runtime.device` = "cpu".'
        )
    from accelerate import PartialState  # type: ignore[import-untyped]

    os.environ.setdefault("OMP_NUM_THREADS", "1")  # accelerate warns without it
    # small tensors go over the CPU, so that a flag does not wait for the GPU's queue
    backend = "cpu:gloo,cuda:nccl" if on_gpu else "gloo"
    state = PartialState(cpu=not on_gpu, backend=backend, timeout=_COLLECTIVE_TIMEOUT)
    return World(state.process_index, state.num_processes, state.device if on_gpu else torch.device("cpu"))


@contextmanager
def peer_monitor(run_dir: Path, world: World) -> Iterator[PeerMonitor | None]:
    """A monitor of the other processes, to be started; None where there is one process.

    Raises StorageError where not all processes see the same folder.
    """
    if world.size == 1:
        yield None
        return
    launch = world.broadcast_object(uuid.uuid4().hex[:12])
    mark = run_dir / f".launch-{launch}"
    world.from_main(lambda: _clear_marks(run_dir, mark))
    missing = [rank for rank, sees in enumerate(world.all_gather_object(mark.exists())) if not sees]
    if missing:
        raise StorageError(
            f"{run_dir} is not the same folder in all processes (it differs in {', '.join(map(str, missing))}). Put the run "
            "folder on storage that all machines share."
        )
    here = _this_machine()
    places = world.all_gather_object((here, os.getpid()))
    peers = {rank: pid for rank, (machine, pid) in enumerate(places) if machine == here and rank != world.rank}
    monitor = PeerMonitor(run_dir, launch, world.rank, world.size, peers)
    try:
        yield monitor
    finally:  # the run is finished or stopped; every process waits here for the others
        with suppress(PeerGone):
            world.barrier()
            _close_process_group()
        monitor.stop()


def _close_process_group() -> None:
    """End the threads of the collectives. One that still runs when the interpreter ends aborts the process (status -6)."""
    from accelerate import PartialState

    PartialState().destroy_process_group()


def _clear_marks(run_dir: Path, mark: Path) -> None:
    """Delete the marks, failure files and places of earlier launches, and write the mark of this one."""
    for leftover in (*run_dir.glob(".launch-*"), *run_dir.glob(".failure-*"), *run_dir.glob(MARKS)):
        leftover.unlink()
    mark.touch()


def _this_machine() -> tuple[str, int]:
    """Equal for processes whose process ids can be compared: one boot of one kernel, and one pid namespace."""
    boot, space = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")
    return (boot.read_text() if boot.exists() else "", space.stat().st_ino if space.exists() else 0)
