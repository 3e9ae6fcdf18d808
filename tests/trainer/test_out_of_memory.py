"""A process that reaches its memory limit reports the limit."""

import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from trainer.out_of_memory import as_out_of_memory, is_out_of_memory, process_limit


@pytest.fixture
def small_limit() -> Iterator[int]:
    """A limit of 256 MiB above the memory of this process."""
    if sys.platform != "linux":
        pytest.skip("the limit counts private mappings on Linux only")
    before = resource.getrlimit(resource.RLIMIT_DATA)
    lines = Path("/proc/self/status").read_text().splitlines()
    used = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData"))
    resource.setrlimit(resource.RLIMIT_DATA, (used + 2**28, before[1]))
    try:
        yield used + 2**28
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def test_tensor_above_the_limit_names_the_limit(small_limit: int) -> None:
    with pytest.raises(RuntimeError) as raised:
        torch.ones(2**30)
    assert is_out_of_memory(raised.value)
    text = str(as_out_of_memory(raised.value, " in stage ppo", "Set `micro_batch_size`."))
    assert f"memory limit of {small_limit / 2**30:.1f} GiB in stage ppo. Set `micro_batch_size`." in text
    assert "PROXIMAL_TRAINER_MEMORY_GIB" in text
    assert process_limit() == small_limit


def test_other_errors_are_not_out_of_memory() -> None:
    assert not is_out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
    assert not is_out_of_memory(ValueError("can't allocate memory"))


def test_error_without_a_limit_names_the_machine() -> None:
    assert str(as_out_of_memory(MemoryError(), "", "Shorten the texts.")) == (
        "The machine has no more memory. Shorten the texts."
    )
    assert str(as_out_of_memory(torch.OutOfMemoryError(), "", "Shorten.")) == "The device ran out of memory. Shorten."
