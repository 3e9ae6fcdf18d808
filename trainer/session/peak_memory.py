"""The most memory that was in use at once, from one moment to the next.

On a GPU what tensors took, by PyTorch's own count; else the process' resident memory, which Linux keeps a high-water mark of.
Either costs microseconds.
"""

import ctypes
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import torch

_MARK, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_FORGET_THE_MARK = "5"
"""proc(5): resets the peak resident set size to what it is now."""


class Peak:
    """Counts anew from its making, and from each time it is asked."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._restart()

    def reached(self, phase: str) -> dict[str, float]:
        """`memory/<phase>`: bytes at the peak since then; nothing where the system does not say.

        What the phase left unused is given back, so that the next one's peak is its own.
        """
        found = self._bytes()
        give_back(self._device)
        self._restart()
        return {} if found is None else {f"memory/{phase}": float(found)}

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
            _RESET.write_text(_FORGET_THE_MARK)
        except (
            OSError
        ):  # another system, or a container that forbids it: a mark of all time would say nothing of a phase
            self._resets = False


# What the C library's allocator keeps for later, given back to the system.
# glibc keeps freed blocks below 32 MiB, and what one phase of an iteration left lies there while the next one asks for blocks of
# other sizes. Giving it back costs milliseconds, and the faults by which pages come again.
def give_back(device: torch.device) -> None:
    """Between two phases of work on a CPU. Elsewhere, and without glibc, nothing."""
    trim = _trim()
    if device.type == "cpu" and trim is not None:
        trim(0)


@cache
def _trim() -> Any:
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return None
