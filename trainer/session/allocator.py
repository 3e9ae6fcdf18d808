"""What the C library's allocator keeps for later, given back to the system.

glibc keeps freed blocks below 32 MiB, and what one phase of an iteration left lies there while the next one asks for blocks of
other sizes. Giving it back costs milliseconds, and the faults by which pages come again.
"""

import ctypes
from functools import cache
from typing import Any

import torch


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
