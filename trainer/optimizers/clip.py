"""The global norm of a gradient, and its clipping."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


def clip_gradients(parameters: Sequence[nn.Parameter], max_norm: float) -> Tensor:
    """Scale all gradients down to the global L2 norm `max_norm`; the norm before, in fp32.

    Of bfloat16 gradients too: their squares would otherwise be summed to 8 bits, a norm that is off by half a percent.
    """
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    if all(gradient.dtype in (torch.float32, torch.float64) for gradient in gradients):
        return nn.utils.clip_grad_norm_(parameters, max_norm)
    norms = [torch.linalg.vector_norm(gradient, dtype=torch.float32) for gradient in gradients]
    norm: Tensor = torch.linalg.vector_norm(torch.stack(norms))
    nn.utils.clip_grads_with_norm_(parameters, max_norm, norm)
    return norm
