"""The gradient of a batch from its two halves, computed at the same time on two cores.

A small model gains little from several threads in each operation. They wait for each other after every one, so that other
work on the machine delays them all. Two halves of a batch wait once a step.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
from torch import Tensor

from trainer.distributed.cpu_threads import PairedExecutor
from trainer.models import Model
from trainer.models.attention import packs
from trainer.optim.loss_scale import scaled

T = TypeVar("T")


def divides(pair: PairedExecutor, parts: Sequence[object], rows: int) -> bool:
    """Whether a batch of `rows` rows is computed in halves: it is one micro-batch, so that memory stays as it was."""
    return pair.threads is not None and len(parts) == 1 and rows > 1


def halves(lengths: Sequence[int]) -> tuple[list[int], list[int]]:
    """Row numbers of two halves with about as many tokens: every other row in the order of length."""
    ordered = sorted(range(len(lengths)), key=lambda row: lengths[row])
    return sorted(ordered[::2]), sorted(ordered[1::2])


def accumulate_halves(
    pair: PairedExecutor, model: Model, first: Callable[[], tuple[Tensor, T]], second: Callable[[], tuple[Tensor, T]]
) -> tuple[T, T]:
    """Add the gradients of two losses to the model's, always in this order, and return what comes with the losses.

    An error of either leaves the gradients unchanged.
    """
    packs(model)  # the trial is made once, before two threads use the model
    weights = [weight for weight in model.parameters() if weight.requires_grad]

    def gradients(work: Callable[[], tuple[Tensor, T]]) -> tuple[Sequence[Tensor | None], T]:
        loss, found = work()
        return torch.autograd.grad(scaled(loss, model), weights, allow_unused=True), found

    (of_first, found_first), (of_second, found_second) = pair(lambda: gradients(first), lambda: gradients(second))
    for weight, *both in zip(weights, of_first, of_second, strict=True):
        for gradient in both:
            if gradient is not None:
                weight.grad = gradient if weight.grad is None else weight.grad.add_(gradient)
    return found_first, found_second
