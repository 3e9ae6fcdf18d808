"""The global norm of a gradient, and its clipping."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn


def clip_gradients(parameters: Sequence[nn.Parameter], max_norm: float) -> float:
    """Scale all gradients down to the global L2 norm `max_norm`; the norm before, in fp32.

    Gradients that are within it, or not finite, are not touched: to multiply all of them by 1 takes as long as to read them.
    """
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    norm = _norm(gradients)
    number = float(
        norm.full_tensor() if hasattr(norm, "full_tensor") else norm
    )  # of slices, each has its share of the sum
    if max_norm < number < math.inf:
        nn.utils.clip_grads_with_norm_(parameters, max_norm, norm)
    return number


def _norm(gradients: Sequence[Tensor]) -> Tensor:
    """Of bfloat16 gradients too: their squares would otherwise be summed to 8 bits, a norm that is off by half a percent."""
    if all(gradient.dtype in (torch.float32, torch.float64) for gradient in gradients):
        return nn.utils.get_total_norm(gradients)
    norms = [torch.linalg.vector_norm(gradient, dtype=torch.float32) for gradient in gradients]
    norm: Tensor = torch.linalg.vector_norm(torch.stack(norms))
    return norm
