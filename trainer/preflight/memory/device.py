"""How much memory there is."""

import os
import re
from pathlib import Path
from typing import Literal

import torch

from trainer.errors import SpecError

_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
RUNTIME = {"cpu": 400 * 2**20, "cuda": 500 * 2**20}
"""Of the process itself, beside its tensors: Python with torch and transformers in RAM; the CUDA context on a GPU."""


def available(device: Literal["cpu", "cuda"]) -> int:
    """Bytes of the first GPU, or of RAM as far as this process may have it (a container's limit)."""
    if device == "cuda":
        return int(torch.cuda.get_device_properties(0).total_memory)
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limits = [text.strip() for path in _LIMITS if path.is_file() and (text := path.read_text())]
    return min([total, *(int(limit) for limit in limits if limit.isdecimal())])


def parse_size(text: str) -> int:
    """Bytes of `24GiB`, `80GB`, `512M` or `1000000`. Raises SpecError."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?I?)B?", text.strip().upper())
    if match is None or match[2] == "I":
        raise SpecError(f"{text!r} is no amount of memory: say 24GiB or 80GB.")
    return int(float(match[1]) * _UNITS[match[2]])
