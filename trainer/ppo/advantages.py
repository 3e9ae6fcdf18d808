"""Advantages: how much better each token was than expected. Pure functions.

A mask of actions is True at the tokens that the policy sampled. Pads are False, and so are observations: tokens that an
environment returned between two actions or after the last one. A response without an environment is one turn, whose
actions are all its tokens.

Observations are no steps: they have neither an advantage nor a return, and no discount elapses over them. Their rewards
belong to the action before them, which caused them. A reward before the first action belongs to none and is left out.
The rewards after the last action count up to `lengths_B`, the positions of each row that hold tokens. Without `lengths_B`
a row ends with its last action.
"""

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
    lengths_B: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Generalised advantages and returns (Schulman et al. 2016, eq. 16), (B, R) each, 0 outside the mask of actions.

    δₜ = rₜ + γ·V(sₜ₊₁) − V(sₜ),  Aₜ = δₜ + γλ·Aₜ₊₁,  return = Aₜ + V(sₜ), where t + 1 is the next action.
    `values_BR[:, t]` is V(sₜ), the state before token t. λ is one number, or one per response (B,). `bootstrap_B` is V after
    each response's last token: 0 (the default) if the response ended there, else the value of the state after the cut.
    """
    rewards_BR = rewards_of_actions(rewards_BR, mask_BR, lengths_B)
    values_BR = torch.where(mask_BR, values_BR, torch.zeros_like(values_BR))
    advantages_BR = torch.zeros_like(values_BR)
    next_advantage_B = torch.zeros_like(values_BR[:, 0])
    next_value_B = next_advantage_B if bootstrap_B is None else bootstrap_B
    for t in reversed(range(values_BR.shape[1])):
        acts_B = mask_BR[:, t]
        delta_B = rewards_BR[:, t] + gamma * next_value_B - values_BR[:, t]
        advantage_B = delta_B + gamma * lam * next_advantage_B
        advantages_BR[:, t] = torch.where(acts_B, advantage_B, torch.zeros_like(advantage_B))
        next_advantage_B = torch.where(acts_B, advantage_B, next_advantage_B)
        next_value_B = torch.where(acts_B, values_BR[:, t], next_value_B)
    return advantages_BR, advantages_BR + values_BR


def turn_gae(
    rewards_BR: Tensor,
    values_BR: Tensor,
    mask_BR: Tensor,
    gamma: float,
    lam: float | Tensor,
    *,
    starts_BR: Tensor | None = None,
    bootstrap_B: Tensor | None = None,
    lengths_B: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """GAE with one step per turn (Turn-PPO, Li et al. 2025, arXiv 2512.17008), (B, R) each, 0 outside the mask of actions.

    V of a turn is that of the state before its first action. Its reward is the sum over its tokens and the observations after
    it. γ and λ hold per turn, and not between the tokens of one. All tokens of a turn have its advantage and its return.

    `starts_BR` is True at the first action of each turn; without it, those of `turn_starts`. Raises ValueError for a turn that
    starts at no action, and for an action before the first turn.
    """
    starts_BR = turn_starts(mask_BR) if starts_BR is None else starts_BR
    numbers_BR = starts_BR.long().cumsum(1) - 1
    if bool((starts_BR & ~mask_BR).any()) or bool((mask_BR & (numbers_BR < 0)).any()):
        raise ValueError("each turn must start at an action, and no action may come before the first turn")
    turns_BR, counts_B = numbers_BR.clamp(min=0), starts_BR.sum(1)
    nothing_BR = torch.zeros_like(values_BR)
    nothing_BK = values_BR.new_zeros(len(values_BR), max(1, int(counts_B.max())))
    own_BR = rewards_of_actions(rewards_BR, mask_BR, lengths_B)
    rewards_BK = nothing_BK.scatter_add(1, turns_BR, own_BR.to(values_BR))
    values_BK = nothing_BK.scatter_add(1, turns_BR, torch.where(starts_BR, values_BR, nothing_BR))
    mask_BK = torch.arange(nothing_BK.shape[1], device=mask_BR.device) < counts_B[:, None]
    found = gae(rewards_BK, values_BK, mask_BK, gamma, lam, bootstrap_B)
    advantages_BR, returns_BR = (torch.where(mask_BR, each.gather(1, turns_BR), nothing_BR) for each in found)
    return advantages_BR, returns_BR


def turn_starts(mask_BR: Tensor) -> Tensor:
    """True at the first token of each run of adjacent actions, (B, R)."""
    before_BR = torch.nn.functional.pad(mask_BR[:, :-1], (1, 0))
    return mask_BR & ~before_BR


def rewards_of_actions(rewards_BR: Tensor, mask_BR: Tensor, lengths_B: Tensor | None = None) -> Tensor:
    """The rewards with those of observations added to the action before them, (B, R), 0 outside the mask of actions."""
    steps_R = torch.arange(mask_BR.shape[1], device=mask_BR.device)
    owners_BR = torch.where(mask_BR, steps_R, -1).cummax(1).values  # the newest action, -1 before the first
    ends_B1 = owners_BR[:, -1:] + 1 if lengths_B is None else lengths_B[:, None]
    counts_BR = mask_BR | ((owners_BR >= 0) & (steps_R < ends_B1))
    nothing_BR = torch.zeros_like(rewards_BR)
    return nothing_BR.scatter_add(1, owners_BR.clamp(min=0), torch.where(counts_BR, rewards_BR, nothing_BR))


def length_adaptive_lambda(lengths_B: Tensor, alpha: float) -> Tensor:
    """λ = 1 − 1/(α·length) of each response, (B,), at least 0 (VAPO, Yue et al. 2025, eq. 8).

    It holds for the returns too, unless the critic has a λ of its own (`ppo.advantage.critic_lambda`).
    """
    return (1 - 1 / (alpha * lengths_B.float())).clamp(min=0)


def rewards_to_go(rewards_BR: Tensor, mask_BR: Tensor, gamma: float, lengths_B: Tensor | None = None) -> Tensor:
    """Σₖ γᵏ·rₜ₊ₖ over the actions from each one on (Williams 1992), (B, R), 0 outside the mask of actions."""
    returns_BR = rewards_of_actions(rewards_BR, mask_BR, lengths_B)
    next_B = torch.zeros_like(returns_BR[:, 0])
    for t in reversed(range(returns_BR.shape[1])):
        returns_BR[:, t] += gamma * torch.where(mask_BR[:, t], next_B, torch.zeros_like(next_B))
        next_B = torch.where(mask_BR[:, t], returns_BR[:, t], next_B)
    return returns_BR


def held_after_the_end(returns_BR: Tensor, mask_BR: Tensor) -> Tensor:
    """The returns of responses of one turn, continued after the end of each by the return of its last token, (B, R)."""
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


def equal_groups(scores_B: Tensor, size: int, rows: Sequence[int] | None = None) -> float:
    """The share of groups whose responses all have the same score. `rows` as in `group_means`."""
    groups = group_places(range(len(scores_B)) if rows is None else rows, size)
    equal = [bool((scores_B[own_N] == scores_B[own_N[0]]).all()) for own_N in groups]
    return sum(equal) / len(equal)


def explained_variance(values_BR: Tensor, returns_BR: Tensor, mask_BR: Tensor) -> float:
    """1 − Var(R − V) / Var(R) over the masked positions; NaN where the returns do not vary.

    Returns are sums of advantages and values. Equal ones therefore differ by the rounding of up to R sums, which is no variance.
    """
    returns, residuals = returns_BR[mask_BR], (returns_BR - values_BR)[mask_BR]
    largest = torch.maximum(returns.abs().max(), values_BR[mask_BR].abs().max())
    rounding = returns_BR.shape[1] * torch.finfo(returns.dtype).eps * largest
    variance = returns.var(unbiased=False)
    return float(1 - residuals.var(unbiased=False) / variance) if variance > rounding**2 else float("nan")
