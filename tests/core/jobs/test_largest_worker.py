"""A job that fits no worker, by hand. The runtime takes 1 GiB, the largest phase at least 30 GiB."""

from typing import Any

import pytest

from core.jobs.queue.largest_worker import unfit
from core.models import Worker
from trainer.preflight.report import MemoryReport, PhaseMemory

GIB = 2**30
PHASES = [
    PhaseMemory(phase="sft", low=10 * GIB, expected=60 * GIB, high=70 * GIB, parts={}),
    PhaseMemory(phase="ppo_update", low=30 * GIB, expected=40 * GIB, high=50 * GIB, parts={}),
]


def worker(name: str, ram: int, *gpus: int) -> Worker:
    listed = [{"model": "g", "memory_gib": gib} for gib in gpus]
    return Worker(id=f"wrk_{name}", hostname="h", name=name, memory_bytes=ram * GIB, gpus=listed)


def memory(device: str, processes: int = 1) -> MemoryReport:
    return MemoryReport(device=device, processes=processes, runtime=GIB, phases=PHASES)


@pytest.mark.parametrize(
    ("estimate", "workers", "cpu_only", "shown"),
    [
        (memory("cuda"), [worker("a", 500, 24), worker("b", 8, 30)], False, "The largest worker has 30 GiB of GPU"),
        (memory("cuda"), [worker("a", 8, 24, 31)], False, None),
        (memory("cpu"), [worker("a", 30), worker("b", 16)], True, "The largest worker has 30 GiB of RAM."),
        (memory("cpu"), [worker("a", 16, 80)], True, "The largest worker has 16 GiB of RAM."),
        (memory("cpu"), [worker("a", 16, 80)], False, None),
        (memory("cpu", 2), [worker("a", 60)], True, "The largest worker has 30 GiB of RAM per process."),
        (memory("cpu", 2), [worker("a", 62)], True, None),
        (memory("cuda"), [worker("a", 500)], False, None),
        (memory("cpu"), [], True, None),
    ],
)
def test_largest_worker_is_compared_with_the_low_estimate(
    estimate: MemoryReport, workers: list[Worker], cpu_only: bool, shown: str | None
) -> None:
    found = unfit(estimate, workers, cpu_only=cpu_only, refuse=False)
    assert (found is None) == (shown is None)
    if found is not None and shown is not None:
        assert (found.level, found.code, found.where) == ("warning", "no_worker_fits", "#/ppo")
        assert "at least 31 GiB" in found.detail and "(41 GiB expected)" in found.detail and shown in found.detail


def test_setting_makes_it_an_error() -> None:
    found: Any = unfit(memory("cuda"), [worker("a", 8, 24)], cpu_only=False, refuse=True)
    assert found.level == "error" and "larger worker" in found.fix
