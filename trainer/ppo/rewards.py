"""From scores to per-token rewards (Ziegler et al. 2019, §2; Stiennon et al. 2020). Pure functions.

Shapes: B responses, R response positions.
"""

import torch
from torch import Tensor


def penalise_missing_eos(scores_B: Tensor, finished_B: Tensor, penalty: float) -> Tensor:
    """Subtract `penalty` from the scores of responses that were cut off."""
    return torch.where(finished_B, scores_B, scores_B - penalty)


def kl_k1(logprobs_BR: Tensor, reference_logprobs_BR: Tensor) -> Tensor:
    """The k1 estimate of KL(π ‖ π_ref) at each sampled token: log π − log π_ref (Schulman 2020)."""
    return logprobs_BR - reference_logprobs_BR


def token_rewards(scores_B: Tensor, kl_BR: Tensor, mask_BR: Tensor, kl_coef: float) -> Tensor:
    """−β·kl at every response token, plus the score on the last one: the EOS itself where there is one."""
    rewards_BR = torch.where(mask_BR, -kl_coef * kl_BR, torch.zeros_like(kl_BR))
    last_B1 = mask_BR.sum(1, keepdim=True) - 1
    return rewards_BR.scatter_add(1, last_B1, scores_B[:, None])
