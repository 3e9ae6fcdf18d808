"""The CPU threads of a run: how many there are, and whether two models learn at once with half of them each.

The number of threads decides how a matrix product is split, and so the last bits of its sums. A run therefore keeps the
number that it began with.
"""

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Literal, TypeVar

import torch

from trainer.distributed.rendezvous import processes_here
from trainer.errors import StorageError

_TRIALS, _CALLS_BETWEEN_TRIALS = 3, 50
A = TypeVar("A")
B = TypeVar("B")

ONE_THREAD_BELOW = 1_000_000
"""Parameters below which a run computes on one thread. At half a million, two threads are 1.3 to 1.5 times as fast on a quiet
machine, but three times slower in all on a machine with other work (docs/lab-notes.md)."""
PAIRED_BELOW = 40_000_000
"""Parameters below which policy and critic learn at once. Measured: an update is 1.3 to 1.5 times as fast at 0.5 and 3 million,
1.08 times at 28 million (docs/explanation/performance.md). Larger models were not measured."""


def available_cores() -> int:
    """The cores that this process may use, divided by the number of processes of the run on this machine; at least 1."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores // processes_here())


def threads_for(parameters: int) -> int:
    """The threads that `runtime.threads` = "auto" takes for a model of this size."""
    return 1 if parameters < ONE_THREAD_BELOW else available_cores()


def choose_threads(setting: int | Literal["auto"], parameters: int, record: Path) -> int:
    """The thread count of this run. "auto" is decided once and written to the file `record`, which a resumed run reads."""
    if isinstance(setting, int):
        return setting
    return _recorded(record, lambda: threads_for(parameters))


class PairedExecutor:
    """Calls two functions, one after the other or, with `threads` for each, at the same time.

    The two must share no state. The results are then those of two calls in turn with as many threads each.
    """

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> "PairedExecutor":
        if self.threads is not None:
            self._pool = ThreadPoolExecutor(1, "paired", torch.set_num_threads, (self.threads,))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def __call__(self, first: Callable[[], A], second: Callable[[], B]) -> tuple[A, B]:
        """Both results. Waits for both; where both fail, the error of `first` is raised."""
        if self._pool is None or self.threads is None:
            return first(), second()
        before = torch.get_num_threads()
        future = self._pool.submit(_in_gradient_mode, torch.is_grad_enabled(), second)
        torch.set_num_threads(self.threads)  # in this thread only; the pool's thread has a setting of its own
        try:
            result = first()
        finally:
            future.exception()  # waits; the error is raised by result() below unless `first` has raised one
            torch.set_num_threads(before)
        return result, future.result()


SEQUENTIAL = PairedExecutor()


class Pace:
    """Which of two ways to make a call is faster of late: at once or in turn. Each is tried at regular intervals."""

    def __init__(self) -> None:
        self._calls = 0
        self._least: dict[bool, float] = {}

    def at_once(self) -> bool:
        """The way of the next call: three times at once, three times in turn, then the way of the shortest call."""
        turn = self._calls % _CALLS_BETWEEN_TRIALS
        if turn < 2 * _TRIALS:
            return turn < _TRIALS
        return self._least[True] <= self._least[False]

    def took(self, seconds: float) -> None:
        """Note the time of the call whose way `at_once` has returned."""
        way = self.at_once()
        if self._calls % _CALLS_BETWEEN_TRIALS == 0:
            self._least = {}
        self._least[way] = min(seconds, self._least.get(way, seconds))
        self._calls += 1


class PacedExecutor(PairedExecutor):
    """Calls two functions at the same time while that is faster than one after the other, as on a quiet machine.

    Their results do not depend on the way.
    """

    def __init__(self) -> None:
        super().__init__(threads=1)
        self._pace = Pace()

    def __call__(self, first: Callable[[], A], second: Callable[[], B]) -> tuple[A, B]:
        began = time.perf_counter()
        both = super().__call__(first, second) if self._pace.at_once() else SEQUENTIAL(first, second)
        self._pace.took(time.perf_counter() - began)
        return both


def choose_pairing(
    setting: bool | Literal["auto"], *, separate: bool, parameters: int, threads: int, cores: int, record: Path
) -> PairedExecutor:
    """How policy and critic learn in this run: as set, or where it pays. The choice is written to the file `record`, which a
    resumed run reads.

    `separate`: the two models share no weights and are on a CPU. `cores`: those that the run may use. Two models can use
    two cores even where each computes on one thread.
    """
    if not separate or setting is False:
        return PairedExecutor()
    pays = setting is True or (cores > 1 and parameters < PAIRED_BELOW)
    return PairedExecutor(_recorded(record, lambda: max(1, threads // 2) if pays else 0) or None)


def choose_halves(
    setting: int | Literal["auto"], *, alone: bool, parameters: int, cores: int, record: Path
) -> PairedExecutor:
    """How SFT and reward model compute a batch in this run: whole, or where it may pay as two halves, each on one thread.

    The choice is written to the file `record`, which a resumed run reads. `alone`: the run is one process on a CPU, without
    adapters. A number of threads as `setting` applies to each operation, and leaves batches whole.
    """
    if not alone or setting != "auto":
        return PairedExecutor()
    pays = cores > 1 and parameters < ONE_THREAD_BELOW
    return PacedExecutor() if _recorded(record, lambda: int(pays)) else PairedExecutor()


def _recorded(record: Path, decide: Callable[[], int]) -> int:
    """The number in the file, which `decide` provides where there is none yet. Raises StorageError for a damaged file."""
    if not record.exists():
        draft = record.with_suffix(".new")
        draft.write_text(str(decide()))
        draft.replace(record)
    stored = record.read_bytes()
    if not stored.isdigit():
        raise StorageError(
            f"{record} is damaged: it has no number of threads. Write the number from the event `run_started`, or delete the "
            "file. The number is then chosen anew, and another one gives other last bits."
        )
    return int(stored)


def _in_gradient_mode(enabled: bool, work: Callable[[], B]) -> B:
    """`work()` with gradients on or off, which torch keeps for each thread."""
    with torch.set_grad_enabled(enabled):
        return work()
