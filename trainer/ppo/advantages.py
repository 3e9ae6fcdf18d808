"""Generalised advantage estimation (Schulman et al. 2016, eq. 16). Pure functions.

Shapes: B responses, R response positions.
"""

import torch
from torch import Tensor


def gae(rewards_BR: Tensor, values_BR: Tensor, mask_BR: Tensor, gamma: float, lam: float) -> tuple[Tensor, Tensor]:
    """Advantages and returns, (B, R) each, 0 outside the mask.

    δₜ = rₜ + γ·V(sₜ₊₁) − V(sₜ),  Aₜ = δₜ + γλ·Aₜ₊₁,  return = Aₜ + V(sₜ).
    `values_BR[:, t]` is V(sₜ), the state before token t. The state after a response's last token is terminal, V = 0.
    """
    values_BR = torch.where(mask_BR, values_BR, torch.zeros_like(values_BR))
    advantages_BR = torch.zeros_like(values_BR)
    next_advantage_B = torch.zeros_like(values_BR[:, 0])
    next_value_B = torch.zeros_like(values_BR[:, 0])
    for t in reversed(range(values_BR.shape[1])):
        delta_B = rewards_BR[:, t] + gamma * next_value_B - values_BR[:, t]
        advantage_B = torch.where(mask_BR[:, t], delta_B + gamma * lam * next_advantage_B, torch.zeros_like(delta_B))
        advantages_BR[:, t] = next_advantage_B = advantage_B
        next_value_B = values_BR[:, t]
    return advantages_BR, advantages_BR + values_BR


def explained_variance(values_BR: Tensor, returns_BR: Tensor, mask_BR: Tensor) -> float:
    """1 − Var(R − V) / Var(R) over the masked positions; NaN where the returns do not vary."""
    returns, residuals = returns_BR[mask_BR], (returns_BR - values_BR)[mask_BR]
    variance = returns.var(unbiased=False)
    return float(1 - residuals.var(unbiased=False) / variance) if variance > 0 else float("nan")
