"""Masks are True where a position counts. This is the only masked mean in the house."""

import torch
from torch import Tensor


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Mean of `values` where `mask` is True (same shape); 0 where nothing counts. Masked-out NaNs do no harm."""
    return masked_sum(values, mask) / mask.sum().clamp(min=1)


def masked_sum(values: Tensor, mask: Tensor) -> Tensor:
    """Sum of `values` where `mask` is True (same shape). Masked-out NaNs do no harm, in the gradient either."""
    return torch.where(mask, values, torch.zeros_like(values)).sum()


def masked_whiten(values: Tensor, mask: Tensor) -> Tensor:
    """Shift and scale to mean 0 and variance 1 over the True positions; 0 elsewhere."""
    mean = masked_mean(values, mask)
    variance = masked_mean((values - mean) ** 2, mask)
    return torch.where(mask, (values - mean) * torch.rsqrt(variance + 1e-8), torch.zeros_like(values))
