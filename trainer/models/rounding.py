"""The trainer's numeric tolerances: how much rounding changes a number.

A sum is rounded differently for another number of rows, by another kernel and on another processor. Two computations of
one log-probability therefore differ by an amount that depends on the type, the depth and the weights.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

import torch
from torch import Tensor, nn

from trainer.models.heads import Model, underlying

_MEAN, _LARGEST = 2.0, 3.0
"""Bounds as multiples of the measured noise. Sums that are split over K, as on GPUs, reach half of its mean and its whole
largest value; see `docs/lab-notes.md`, 2026-11-22."""
_REPEATED = 0.5
"""The share of the noise by which two equal passes may differ, because some GPU kernels add in no fixed order."""
_TF32 = 2.0**-10
_EIGHT_BITS = 2.0**-7


@dataclass(frozen=True)
class Tolerance:
    """Bounds on the differences between two computations of log-probabilities, values or scores."""

    mean: float
    rms: float
    """Bound on the root mean square."""
    largest: float
    repeats: bool = True
    """Whether two equal passes give the same numbers. If not, the measured noise is not only rounding."""

    def allows(self, found: "Gap") -> bool:
        return found.mean <= self.mean and found.largest <= self.largest


@dataclass(frozen=True)
class Gap:
    """Absolute differences between two computations. All are infinite where any number is not finite."""

    mean: float
    rms: float
    largest: float


HARMLESS = Tolerance(2e-4, 5e-4, 5e-3)
"""Differences that do not change a training run. A float32 model stays far below."""


def slack(dtype: torch.dtype) -> float:
    """Relative and absolute difference allowed between two ways to compute a small model's logits: 1e-3, 16 ulp at least."""
    return max(1e-3, 16 * torch.finfo(dtype).eps)


@torch.no_grad()
def tolerance(
    models: Model | tuple[Model, ...],
    forward: Callable[[], Tensor],
    mask_BX: Tensor,
    product_dtype: torch.dtype | None = None,
) -> Tolerance:
    """The tolerance for the masked numbers that `forward` returns, measured by a second pass that rounds differently.

    In the second pass every matrix product of `models` is changed by one unit in the last place, up or down. The units
    are those of `product_dtype` where it is coarser than the type that the models compute in.
    """
    plain_BX, again_BX = forward(), forward()
    with products_moved(models, product_dtype):
        moved_BX = forward()
    noise, repeated = gap(again_BX, moved_BX, mask_BX), gap(plain_BX, again_BX, mask_BX)
    return Tolerance(
        max(HARMLESS.mean, _MEAN * noise.mean),
        max(HARMLESS.rms, _MEAN * noise.rms),
        max(HARMLESS.largest, _LARGEST * noise.largest),
        repeated.mean <= max(HARMLESS.mean, _REPEATED * noise.mean),
    )


def gap(a_BX: Tensor, b_BX: Tensor, mask_BX: Tensor) -> Gap:
    """The differences between two tensors at the masked positions."""
    differences = (a_BX.float() - b_BX.float()).abs()[mask_BX]
    if not torch.isfinite(differences).all():
        return Gap(float("inf"), float("inf"), float("inf"))
    return Gap(float(differences.mean()), float(differences.square().mean().sqrt()), float(differences.max()))


@contextmanager
def products_moved(models: Model | tuple[Model, ...], product_dtype: torch.dtype | None = None) -> Iterator[None]:
    """While inside, each linear layer's output is multiplied by 1 ± one unit in the last place, with fixed signs."""
    numbers, handles = count(), []
    coarsest = 0.0 if product_dtype is None else torch.finfo(product_dtype).eps

    def moved(layer: nn.Module, _: Any, out: Any) -> Any:
        if not (isinstance(out, Tensor) and out.is_floating_point()):
            return out
        return _moved(out, max(coarsest, _unit(layer, out)), next(numbers))

    modules = {id(part): part for model in _each(models) for part in underlying(model).modules()}
    for module in modules.values():
        if _multiplies(module):
            handles.append(module.register_forward_hook(moved))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _each(models: Model | tuple[Model, ...]) -> tuple[Model, ...]:
    return models if isinstance(models, tuple) else (models,)


def _multiplies(module: nn.Module) -> bool:
    """Whether the module owns a matrix and is no embedding: linear, quantized and expert layers."""
    return not isinstance(module, nn.Embedding) and any(weight.ndim > 1 for weight in module.parameters(recurse=False))


def _unit(layer: nn.Module, out: Tensor) -> float:
    """One unit in the last place of the layer's output, relative to its value."""
    if any(not weight.is_floating_point() for weight in layer.parameters(recurse=False)):
        return _EIGHT_BITS
    if out.is_cuda and out.dtype == torch.float32 and torch.get_float32_matmul_precision() != "highest":
        return _TF32
    return torch.finfo(out.dtype).eps


def _moved(out: Tensor, unit: float, number: int) -> Tensor:
    """The signs are a hash of the element's position and the product's number, so no random generator is used."""
    places = torch.arange(out.numel(), device=out.device).view(out.shape)
    signs = 1 - 2 * (((places + number * 40503) * 2654435761 >> 16) & 1)
    return (out.float() * (1 + unit * signs)).to(out.dtype)
