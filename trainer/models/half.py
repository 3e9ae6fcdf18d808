"""float16 has no room for small gradients: inside a model they travel multiplied, and reach its weights as they should be.

The factor is fixed, so that a resume has none to restore: 2¹² lifts gradients of 6e-8, the smallest that float16 has, to
what would have been 1.5e-11, and leaves room for single ones of 16, far more than a mean over a batch has. (Micikevicius
et al. 2018, §3.2, multiply the loss; here the model does it at its edges, so that losses know nothing of it.)
"""

from typing import Any

import torch
from torch import Tensor, nn

FACTOR = 4096.0


def entering(hidden: Tensor) -> Tensor:
    """At the end of a stretch in float16: unchanged, in float32; its gradient goes in multiplied."""
    return _multiplied(hidden.float(), FACTOR)


def leaving(hidden: Tensor) -> Tensor:
    """At the beginning of such a stretch: unchanged; its gradient comes out as it should be."""
    return _multiplied(hidden, 1 / FACTOR)


def weights_take(parameters: list[nn.Parameter]) -> None:
    """Weights inside a stretch add up gradients as they should be."""
    for parameter in parameters:
        parameter.register_hook(lambda gradient: gradient / FACTOR)


class _Multiply(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return values.view_as(values)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient * ctx.factor, None


def _multiplied(values: Tensor, factor: float) -> Tensor:
    result: Tensor = _Multiply.apply(values, factor)  # type: ignore[no-untyped-call]
    return result
