"""How much memory there is."""

import os
from pathlib import Path
from typing import Literal

import torch

_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
RUNTIME = {"cpu": 400 * 2**20, "cuda": 500 * 2**20}
"""Bytes of the process itself, beside its tensors: Python with torch and transformers in RAM; the CUDA context on a GPU."""


def available(device: Literal["cpu", "cuda"]) -> int:
    """Bytes of the first GPU, or of RAM as far as this process may have it (a container's limit)."""
    if device == "cuda":
        return int(torch.cuda.get_device_properties(0).total_memory)
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limits = [text.strip() for path in _LIMITS if path.is_file() and (text := path.read_text())]
    return min([total, *(int(limit) for limit in limits if limit.isdecimal())])
