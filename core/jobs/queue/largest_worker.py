"""Compares the memory estimate of a check with the largest worker of the platform."""

from collections.abc import Sequence

from core.models import Worker
from trainer.preflight.report import Finding, MemoryReport

_GIB = 2**30


def unfit(memory: MemoryReport, workers: Sequence[Worker], *, cpu_only: bool, refuse: bool) -> Finding | None:
    """A finding if not even the low estimate fits the largest of these workers; None without a worker to compare with.

    An estimate for a GPU is compared with the memory of one GPU. One for a CPU is compared with the RAM of each process, or
    with a GPU where the job may use one (`cpu_only` False). `refuse`: the finding is an error. Otherwise it is a warning,
    because a larger worker may join later.
    """
    rooms = [room for worker in workers for room in _rooms(worker, memory, cpu_only)]
    if not rooms:
        return None
    size, kind = max(rooms)
    worst = max(memory.phases, key=lambda phase: phase.low)
    low, expected = worst.low + memory.runtime, worst.expected + memory.runtime
    if low <= size:
        return None
    per = " per process" if memory.processes > 1 else ""
    detail = f"No worker has room for this job: it needs at least {_shown(low)}{per} in {worst.phase} ({_shown(expected)} expected). "
    detail += f"The largest worker has {_shown(size)} of {kind}{per if kind == 'RAM' else ''}."
    return Finding(
        level="error" if refuse else "warning",
        area="memory",
        code="no_worker_fits",
        where="#/ppo" if worst.phase.startswith("ppo") else f"#/{worst.phase}",
        detail=detail,
        fix="Follow the suggestions, use a smaller model, or start a larger worker.",
    )


def _rooms(worker: Worker, memory: MemoryReport, cpu_only: bool) -> list[tuple[int, str]]:
    """Bytes of each kind of memory that the job could use on this worker."""
    on_gpu = [] if cpu_only else [(int(gpu["memory_gib"]) * _GIB, "GPU memory") for gpu in worker.gpus]
    if memory.device == "cuda" or not worker.memory_bytes:
        return on_gpu
    return [*on_gpu, (worker.memory_bytes // memory.processes, "RAM")]


def _shown(size: int) -> str:
    return f"{size / _GIB:,.3g} GiB" if size < 1000 * _GIB else f"{size / _GIB:,.0f} GiB"
