"""Recognises errors of a process without memory, and names the limit that it has reached."""

import resource

import torch

from trainer.errors import OutOfMemory

_HOST_MESSAGES = ("DefaultCPUAllocator: can't allocate memory", "DefaultCPUAllocator: not enough memory")
_GIB = 2**30


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an allocation failed, on a GPU or in RAM. In RAM, torch raises a RuntimeError."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(text in str(error) for text in _HOST_MESSAGES)


def as_out_of_memory(error: BaseException, where: str, advice: str) -> OutOfMemory:
    """The error to report. `where`: such as ` in stage ppo`, or nothing."""
    if isinstance(error, torch.OutOfMemoryError):
        return OutOfMemory(f"The device ran out of memory{where}. {advice}")
    limit = process_limit()
    if limit is None:
        return OutOfMemory(f"The machine has no more memory{where}. {advice}")
    return OutOfMemory(
        f"The process reached its memory limit of {limit / _GIB:.1f} GiB{where}. {advice} The operator of the platform "
        "can raise the limit (PROXIMAL_TRAINER_MEMORY_GIB)."
    )


def process_limit() -> int | None:
    """Bytes of memory that this process may allocate (RLIMIT_DATA); None without a limit."""
    soft = resource.getrlimit(resource.RLIMIT_DATA)[0]
    return None if soft == resource.RLIM_INFINITY else soft
