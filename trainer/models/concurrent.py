"""Two pieces of work on the CPU, each with half of its cores, at once: a small model cannot keep all of them busy.

What the two compute is what they would one after the other with as many threads each: nothing of theirs is shared.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Literal, TypeVar

import torch

A = TypeVar("A")
B = TypeVar("B")
LARGE = 40_000_000
"""Parameters from which on a model's matrix products are taken to keep two cores busy by themselves. Measured: an update is
1.3 to 1.5 × faster in pairs at 0.5 and 3 million, 1.1 at 28 million (docs/explanation/performance.md); beyond is not measured."""


class Pair:
    """Runs two functions, one after the other or, with `threads` for each, at once."""

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> "Pair":
        if self.threads is not None:
            self._pool = ThreadPoolExecutor(1, "beside", torch.set_num_threads, (self.threads,))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def __call__(self, first: Callable[[], A], second: Callable[[], B]) -> tuple[A, B]:
        """Both results. An error of `first` goes before one of `second`, and neither is left running."""
        if self._pool is None or self.threads is None:
            return first(), second()
        before = torch.get_num_threads()
        beside = self._pool.submit(_with_gradients, torch.is_grad_enabled(), second)
        torch.set_num_threads(self.threads)  # of this thread alone, as in the pool's
        try:
            result = first()
        finally:
            beside.exception()  # waits; it is raised below, if nothing went wrong here
            torch.set_num_threads(before)
        return result, beside.result()


IN_TURN = Pair()


def choose(
    setting: bool | Literal["auto"], *, fits: bool, parameters: int, threads: int, cores: int, memory: Path
) -> Pair:
    """How this run does it: as set, or where it pays; what was chosen is written to `memory`, for a resumed run.

    `fits`: there are two models with nothing in common, on a CPU. `cores` are those that the run may use; a run on a single
    thread, because more do not pay for a model this small, can still use one for each of the two.
    """
    if not fits or setting is False:
        return Pair()
    if not memory.exists():
        pays = setting is True or (cores > 1 and parameters < LARGE)
        draft = memory.with_suffix(".new")
        draft.write_text(str(max(1, threads // 2) if pays else 0))
        draft.replace(memory)
    return Pair(int(memory.read_text()) or None)


def _with_gradients(enabled: bool, work: Callable[[], B]) -> B:
    """Whether gradients are taken is each thread's own affair."""
    with torch.set_grad_enabled(enabled):
        return work()
