"""The peak memory of each phase of an iteration, and the return of freed memory to the system between phases.

On a GPU the peak is PyTorch's own count of tensor memory. On a CPU it is the process's peak resident memory, which Linux
records. Either costs microseconds.
"""

import ctypes
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import torch

_MARK, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_RESET_PEAK = "5"
"""proc(5): resets the peak resident set size to its current value."""


class PeakMemory:
    """Measures from its creation on, and again after each call of `reached`."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._restart()

    def reached(self, phase: str) -> dict[str, float]:
        """Return `memory/<phase>`, the peak in bytes since the last call; {} if the system does not report it.

        Freed memory is returned to the system, so that the next phase has its own peak.
        """
        peak = self._bytes()
        trim_freed_memory(self._device)
        self._restart()
        return {} if peak is None else {f"memory/{phase}": float(peak)}

    def _bytes(self) -> int | None:
        if self._device.type == "cuda":
            return int(torch.cuda.max_memory_allocated(self._device))
        with suppress(OSError, ValueError):
            lines = dict(line.split(":", 1) for line in _MARK.read_text().splitlines() if ":" in line)
            return int(lines["VmHWM"].split()[0]) * 1024 if "VmHWM" in lines and self._resets else None
        return None

    def _restart(self) -> None:
        self._resets = True
        if self._device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(self._device)
            return
        try:
            _RESET.write_text(_RESET_PEAK)
        except OSError:  # another system, or a container that forbids it: the mark would cover the whole process
            self._resets = False


def trim_freed_memory(device: torch.device) -> None:
    """Return freed memory to the system, on a CPU with glibc; else do nothing.

    glibc keeps freed blocks below 32 MiB, while the next phase asks for blocks of other sizes. Trimming costs milliseconds
    and the page faults of memory that is needed again.
    """
    trim = _malloc_trim()
    if device.type == "cpu" and trim is not None:
        trim(0)


@cache
def _malloc_trim() -> Any:
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return None
