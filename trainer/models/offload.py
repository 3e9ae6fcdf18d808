"""Offloading: frozen models stay in host memory, and their weights are copied to the device only while they compute.

The weights never change, so the copy on the device is freed without copying anything back.
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
"""Alignment in bytes of a weight in the block. CPU matrix products round differently off 64; GPU ones are slower off 16."""


class OffloadedWeights:
    """A model's weights in one block of host memory, with a count of the contexts that need them on the device.

    One copy moves all weights. The block is pinned for a GPU. It is pinned by the CUDA runtime, because PyTorch allocates
    pinned memory in powers of two.
    """

    def __init__(self, model: nn.Module, device: torch.device) -> None:
        self._device = device
        self._weights = list(model.parameters())
        self._visits = 0
        if any(weight.requires_grad for weight in self._weights):
            raise ValueError("a model that is trained cannot be offloaded: its steps would be lost")
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
        for part in model.modules():  # buffers are small, so they stay on the device
            part._buffers.update({name: b.to(device) for name, b in part._buffers.items() if b is not None})

    @property
    def is_present(self) -> bool:
        return self._visits > 0

    @contextmanager
    def here(self) -> Iterator[None]:
        """While inside, the weights are on the device. Contexts may be nested; the end of the outermost frees the copy."""
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
    """The part of a block of bytes that holds a weight, with the weight's type and shape."""
    return block[start : start + weight.nbytes].view(weight.dtype).view(weight.shape)


def _pin(block: Tensor) -> None:
    """Raises OutOfMemory where the system refuses to pin so much memory."""
    cudart = torch.cuda.cudart()
    status = int(cudart.cudaHostRegister(block.data_ptr(), block.nbytes, 0))
    if status:
        raise OutOfMemory(
            f"`runtime.offload_frozen`: {block.nbytes / 1e9:.1f} GB of host memory cannot be pinned (CUDA error {status}). "
            "Free host memory, or set it to false."
        )
    weakref.finalize(block, cudart.cudaHostUnregister, block.data_ptr())


def place_frozen(model: Model, device: torch.device, offload: bool) -> Model:
    """Move a frozen model to the device or, with `offload`, keep its weights in host memory. No effect on a CPU."""
    if not offload or device.type == "cpu":
        return model.to(device)
    model.requires_grad_(False)
    model.absent_weights = OffloadedWeights(model, device)
    return model


def present(model: Model | None) -> AbstractContextManager[None]:
    """While inside, the weights of an offloaded or sharded model are on the device. No effect on other models, or on None.

    Forward passes of frozen models belong inside. Outside, torch raises an error for operands on two devices.
    """
    absent: OffloadedWeights | None = getattr(model, "absent_weights", None)
    return nullcontext() if absent is None else absent.here()
