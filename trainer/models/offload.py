"""Frozen models that live in host memory and come to the device for their work alone.

What never changes need not be fetched back: leaving is letting go of the copy.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch
from torch import nn

from trainer.models.heads import Model


class Away:
    """A model's weights in host memory, pinned where a GPU is to fetch them, and how many are at work with it."""

    def __init__(self, model: nn.Module, device: torch.device) -> None:
        self._device = device
        self._model = model
        self._home: dict[nn.Parameter, torch.Tensor] = {}
        self._visits = 0
        for weight in model.parameters():
            if weight.requires_grad:
                raise ValueError("a model that learns cannot be away: its steps would be lost")
            self._home[weight] = weight.data.pin_memory() if device.type == "cuda" else weight.data
            weight.data = self._home[weight]
        for part in model.modules():  # small, and not to be waited for
            part._buffers.update({name: b.to(device) for name, b in part._buffers.items() if b is not None})

    @property
    def is_here(self) -> bool:
        return self._visits > 0

    @contextmanager
    def here(self) -> Iterator[None]:
        """While inside, the weights are on the device. Whoever comes in between finds them there; the last one leaves."""
        if not self._visits:
            for weight, home in self._home.items():
                weight.data = torch.empty_like(home, device=self._device).copy_(home, non_blocking=True)
        self._visits += 1
        try:
            yield
        finally:
            self._visits -= 1
            if not self._visits:
                for weight, home in self._home.items():
                    weight.data = home


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
