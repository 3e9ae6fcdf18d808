"""How many CPU threads to compute with.

For small models a second thread can cost more than it brings, above all on a busy machine; and the count decides the
last bits of every sum, so a run keeps the count it began with.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Literal

import torch

from trainer.distributed.rendezvous import processes_here


def available_cores() -> int:
    """Those of this machine, shared among the processes of the run that are on it."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores // processes_here())


SMALL = 1_000_000
"""Parameters below which more threads bring next to nothing (1.3 × on two quiet cores at half a million)."""


def choose(setting: int | Literal["auto"] | None, parameters: int, memory: Path, workload: Callable[[], None]) -> int:
    """The thread count for this run: the setting; for None all cores, or one for a small model; for "auto" the faster.

    What was chosen is written to `memory`, so that a resumed run computes with the same.
    """
    if isinstance(setting, int):
        return setting
    if not memory.exists():
        draft = memory.with_suffix(".new")
        draft.write_text(str(_decide(setting, parameters, workload)))
        draft.replace(memory)
    return int(memory.read_text())


def _decide(setting: Literal["auto"] | None, parameters: int, workload: Callable[[], None]) -> int:
    cores = available_cores()
    if setting is None or cores == 1:
        return 1 if parameters < SMALL else cores
    return _faster_of(1, cores, workload)


def _faster_of(one: int, all_cores: int, workload: Callable[[], None]) -> int:
    """Time the workload with both counts in turn, A B A B. More threads must bring three quarters as much again: they spin
    while they wait for each other, so what they gain on a quiet machine they lose many times over on a busy one. The
    median, not the best time: it is the bad moments that decide.
    """
    seconds: dict[int, list[float]] = {one: [], all_cores: []}
    workload()
    for _ in range(5):
        for count, times in seconds.items():
            torch.set_num_threads(count)
            began = time.perf_counter()
            workload()
            times.append(time.perf_counter() - began)
    return all_cores if 1.75 * median(seconds[all_cores]) < median(seconds[one]) else one
