"""Advantages: how much better each token was than expected. Pure functions."""

from collections.abc import Sequence

import torch
from torch import Tensor


def gae(
    rewards_BR: Tensor,
    values_BR: Tensor,
    mask_BR: Tensor,
    gamma: float,
    lam: float | Tensor,
    bootstrap_B: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Generalised advantages and returns (Schulman et al. 2016, eq. 16), (B, R) each, 0 outside the mask.

    δₜ = rₜ + γ·V(sₜ₊₁) − V(sₜ),  Aₜ = δₜ + γλ·Aₜ₊₁,  return = Aₜ + V(sₜ).
    `values_BR[:, t]` is V(sₜ), the state before token t. λ is one number, or one per response (B,). `bootstrap_B` is V after
    each response's last token: 0 (the default) if the response ended there, else the value of the state after the cut.
    """
    values_BR = torch.where(mask_BR, values_BR, torch.zeros_like(values_BR))
    last_B = mask_BR.sum(1) - 1
    advantages_BR = torch.zeros_like(values_BR)
    next_advantage_B = torch.zeros_like(values_BR[:, 0])
    next_value_B = torch.zeros_like(values_BR[:, 0])
    for t in reversed(range(values_BR.shape[1])):
        if bootstrap_B is not None:
            next_value_B = torch.where(last_B == t, bootstrap_B, next_value_B)
        delta_B = rewards_BR[:, t] + gamma * next_value_B - values_BR[:, t]
        advantage_B = torch.where(mask_BR[:, t], delta_B + gamma * lam * next_advantage_B, torch.zeros_like(delta_B))
        advantages_BR[:, t] = next_advantage_B = advantage_B
        next_value_B = values_BR[:, t]
    return advantages_BR, advantages_BR + values_BR


def length_adaptive_lambda(lengths_B: Tensor, alpha: float) -> Tensor:
    """λ = 1 − 1/(α·length) of each response, (B,), at least 0 (VAPO, Yue et al. 2025, eq. 8).

    It holds for the returns too, unless the critic has a λ of its own (`ppo.advantage.critic_lambda`).
    """
    return (1 - 1 / (alpha * lengths_B.float())).clamp(min=0)


def rewards_to_go(rewards_BR: Tensor, mask_BR: Tensor, gamma: float) -> Tensor:
    """Σₖ γᵏ·rₜ₊ₖ from each token on (Williams 1992), (B, R), 0 outside the mask."""
    returns_BR = torch.where(mask_BR, rewards_BR, torch.zeros_like(rewards_BR))
    for t in reversed(range(returns_BR.shape[1] - 1)):
        returns_BR[:, t] += gamma * returns_BR[:, t + 1]
    return returns_BR


def held_after_the_end(returns_BR: Tensor, mask_BR: Tensor) -> Tensor:
    """The returns, continued after the end of a response by the return of its last token, (B, R)."""
    last_B1 = mask_BR.sum(1, keepdim=True) - 1
    return torch.where(mask_BR, returns_BR, returns_BR.gather(1, last_B1))


def group_means(
    returns_BR: Tensor, size: int, leave_one_out: bool = False, rows: Sequence[int] | None = None
) -> Tensor:
    """Mean return of all responses to the same prompt (GRPO), or of the others (RLOO), at each position, (B, R).

    The `size` responses of a group lie side by side. `rows` are the places of the responses in such groups, where some
    are absent: a mean is that of the responses that are there. `leave_one_out` needs two of them in each group.
    """
    if rows is not None:
        return _means_with_gaps(returns_BR, size, leave_one_out, rows)
    groups_GSR = returns_BR.reshape(-1, size, *returns_BR.shape[1:])
    sums_G1R = groups_GSR.sum(1, keepdim=True)
    means_GSR = (sums_G1R - groups_GSR) / (size - 1) if leave_one_out else (sums_G1R / size).expand_as(groups_GSR)
    return means_GSR.reshape(returns_BR.shape)


def _means_with_gaps(returns_BR: Tensor, size: int, leave_one_out: bool, rows: Sequence[int]) -> Tensor:
    means_BR = torch.empty_like(returns_BR)
    for own_N in group_places(rows, size):
        group_NR = returns_BR[own_N]
        sums_R, count = group_NR.sum(0), len(own_N)
        means_BR[own_N] = (sums_R - group_NR) / (count - 1) if leave_one_out else sums_R / count
    return means_BR


def group_places(rows: Sequence[int], size: int) -> list[list[int]]:
    """The indices into `rows` of the responses of each group. `rows` are places in groups of `size` side by side."""
    groups: dict[int, list[int]] = {}
    for place, row in enumerate(rows):
        groups.setdefault(row // size, []).append(place)
    return list(groups.values())


def group_deviations(returns_B: Tensor, size: int, rows: Sequence[int] | None = None) -> Tensor:
    """Standard deviation of the returns of the same prompt, (B,), with n − 1 as in TRL and verl.

    `rows` as in `group_means`; each group needs two responses.
    """
    if rows is not None:
        deviations_B = torch.empty_like(returns_B)
        for own_N in group_places(rows, size):
            deviations_B[own_N] = returns_B[own_N].std()
        return deviations_B
    return returns_B.view(-1, size).std(1, keepdim=True).expand(-1, size).reshape(-1)


def explained_variance(values_BR: Tensor, returns_BR: Tensor, mask_BR: Tensor) -> float:
    """1 − Var(R − V) / Var(R) over the masked positions; NaN where the returns do not vary."""
    returns, residuals = returns_BR[mask_BR], (returns_BR - values_BR)[mask_BR]
    variance = returns.var(unbiased=False)
    return float(1 - residuals.var(unbiased=False) / variance) if variance > 0 else float("nan")
