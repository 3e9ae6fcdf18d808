"""Frozen models that live in host memory and come to the device for their work alone.

What never changes need not be fetched back: leaving is letting go of the copy.
"""

import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import accumulate

import torch
from torch import Tensor, nn

from trainer.errors import OutOfMemory
from trainer.models.heads import Model

_ALIGNED = 256
"""Bytes: where a weight begins in the block. The CPU's matrix products round differently off 64, a GPU's are slower off 16."""


class Away:
    """A model's weights in host memory, all in one block, and how many are at work with it.

    The block is pinned where a GPU is to fetch it: by itself and as large as it is, since PyTorch's own pinned memory comes in
    powers of two. One copy brings all weights.
    """

    def __init__(self, model: nn.Module, device: torch.device) -> None:
        self._device = device
        self._weights = list(model.parameters())
        self._visits = 0
        if any(weight.requires_grad for weight in self._weights):
            raise ValueError("a model that learns cannot be away: its steps would be lost")
        ends = list(accumulate(-(-weight.nbytes // _ALIGNED) * _ALIGNED for weight in self._weights))
        self._starts = [0, *ends[:-1]]
        self._home = torch.empty((ends or [0])[-1], dtype=torch.uint8)
        self._places: list[Tensor] = []
        for weight, start in zip(self._weights, self._starts, strict=True):
            place = _view(self._home, start, weight)
            place.copy_(weight.data)
            weight.data = place
            self._places.append(place)
        if device.type == "cuda":
            _pin(self._home)
        for part in model.modules():  # small, and not to be waited for
            part._buffers.update({name: b.to(device) for name, b in part._buffers.items() if b is not None})

    @property
    def is_here(self) -> bool:
        return self._visits > 0

    @contextmanager
    def here(self) -> Iterator[None]:
        """While inside, the weights are on the device. Whoever comes in between finds them there; the last one leaves."""
        if not self._visits:
            block = torch.empty_like(self._home, device=self._device, pin_memory=False).copy_(
                self._home, non_blocking=True
            )
            for weight, start in zip(self._weights, self._starts, strict=True):
                weight.data = _view(block, start, weight)
        self._visits += 1
        try:
            yield
        finally:
            self._visits -= 1
            if not self._visits:
                for weight, place in zip(self._weights, self._places, strict=True):
                    weight.data = place


def _view(block: Tensor, start: int, weight: Tensor) -> Tensor:
    """The place of a weight in a block of bytes."""
    return block[start : start + weight.nbytes].view(weight.dtype).view(weight.shape)


def _pin(block: Tensor) -> None:
    """Raises OutOfMemory where the system does not let so much be pinned."""
    cudart = torch.cuda.cudart()
    status = int(cudart.cudaHostRegister(block.data_ptr(), block.nbytes, 0))
    if status:
        raise OutOfMemory(
            f"`runtime.offload_frozen`: {block.nbytes / 1e9:.1f} GB of host memory cannot be pinned (CUDA error {status}). "
            "Free host memory, or set it to false."
        )
    weakref.finalize(block, cudart.cudaHostUnregister, block.data_ptr())


def settle(model: Model, device: torch.device, offload: bool) -> Model:
    """Put a frozen model on the device, or with `offload` beside it. On a CPU there is no other place."""
    if not offload or device.type == "cpu":
        return model.to(device)
    model.requires_grad_(False)
    model.away = Away(model, device)
    return model


def present(model: Model | None) -> AbstractContextManager[None]:
    """While inside, `model` (where there is one) can compute, wherever it lives. Forward passes of frozen models belong inside.

    Outside it, one that is away fails loudly: torch refuses operands on two devices.
    """
    away: Away | None = getattr(model, "away", None)
    return nullcontext() if away is None else away.here()
