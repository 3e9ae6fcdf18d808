"""How this process finds the others: the one place of the trainer that reads the launcher's environment."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path

import torch

from trainer.distributed.peer_failure import Fate
from trainer.distributed.world import SINGLE, PeerGone, World
from trainer.errors import ModelError, StorageError

_PATIENCE = timedelta(hours=2)
"""In a collective: the main process may be writing a large checkpoint, a reward may be slow. Who has died is known sooner."""


def processes_here() -> int:
    """Processes of this run on this machine, which share its cores."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1"))


def join(device: str) -> World:
    """This process among those that a launcher has started with it: RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE,
    MASTER_ADDR and MASTER_PORT, as `accelerate launch`, torchrun and the like set them.

    gloo on CPUs, NCCL with one device for each process on GPUs. Raises ModelError where there are too few of them.
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

    os.environ.setdefault("OMP_NUM_THREADS", "1")  # else accelerate counts cores with a warning; the run sets its own
    # small things go over the CPU, so that a flag does not wait for the GPU's queue
    backend = "cpu:gloo,cuda:nccl" if on_gpu else "gloo"
    state = PartialState(cpu=not on_gpu, backend=backend, timeout=_PATIENCE)
    return World(state.process_index, state.num_processes, state.device if on_gpu else torch.device("cpu"))


@contextmanager
def meeting_in(run_dir: Path, world: World) -> Iterator[Fate | None]:
    """While inside, the processes watch over each other by files in the run folder; None where there is only one.

    Raises StorageError where not all of them see the same folder.
    """
    if world.size == 1:
        yield None
        return
    launch = world.broadcast_object(uuid.uuid4().hex[:12])
    mark = run_dir / f".launch-{launch}"
    world.from_main(lambda: _swept(run_dir, mark))
    blind = [rank for rank, sees in enumerate(world.everyones(mark.exists())) if not sees]
    if blind:
        raise StorageError(
            f"{run_dir} is not the same folder for all processes (not for {', '.join(map(str, blind))}): several machines need "
            "a run folder on storage that all of them see."
        )
    here = _this_machine()
    found = world.everyones((here, os.getpid()))
    peers = {rank: pid for rank, (machine, pid) in enumerate(found) if machine == here and rank != world.rank}
    fate = Fate(run_dir, launch, world.rank, peers)
    try:
        yield fate
    finally:  # done, or stopped by common consent: nobody goes before the others have
        with suppress(PeerGone):
            world.barrier()
        fate.leave()


def _swept(run_dir: Path, mark: Path) -> None:
    """Nothing but the mark of this launch."""
    for leftover in (*run_dir.glob(".launch-*"), *run_dir.glob(".failure-*")):
        leftover.unlink()
    mark.touch()


def _this_machine() -> tuple[str, int]:
    """Where process numbers mean the same: one boot of one kernel, one pid namespace."""
    boot, space = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")
    return (boot.read_text() if boot.exists() else "", space.stat().st_ino if space.exists() else 0)
