"""TRL's PPO formulae (its `PPOTrainer`, 2025) on responses of one length, where nothing is padding.

There our figures agree, except for the whitening's variance: TRL divides by n − 1, we by n. With padding they differ on
purpose. TRL puts the score one position after the EOS. It averages approxkl, ratio and entropy over pads, and counts −1 of
entropy for each pad. tests/trainer/ppo/test_iteration_log.py and test_invariance.py test our masks.
"""

import torch
from torch import Tensor

from trainer.models.sequences import masked_whiten
from trainer.ppo.advantages import gae
from trainer.ppo.kl import kl_estimate
from trainer.ppo.losses import Clipped, PolicyTokens, value_loss
from trainer.rollout.shaping import scaled_to_unit_variance, token_rewards
from trainer.spec import PolicyLossSpec

NOISE = torch.Generator().manual_seed(0)
MASK = torch.ones(3, 5, dtype=torch.bool)
LOGPROBS, REFERENCE, VALUES, NEW_LOGPROBS, NEW_VALUES = (torch.randn(3, 5, generator=NOISE) for _ in range(5))
SCORES = torch.tensor([1.0, -2.0, 0.5])
REWARDS = token_rewards(SCORES, kl_estimate("k1", LOGPROBS, REFERENCE), MASK, kl_coef=0.05)


def trl_whiten(values: Tensor, shift_mean: bool = True) -> Tensor:
    mean, var = values.mean(), values.var(unbiased=True)
    whitened = (values - mean) * torch.rsqrt(var + 1e-8)
    return whitened if shift_mean else whitened + mean


def trl_gae(rewards: Tensor, values: Tensor, gamma: float, lam: float) -> Tensor:
    last, reversed_ = torch.zeros(3), []
    for t in reversed(range(5)):
        following = values[:, t + 1] if t < 4 else 0.0
        delta = rewards[:, t] + gamma * following - values[:, t]
        last = delta + gamma * lam * last
        reversed_.append(last)
    return torch.stack(reversed_[::-1], axis=1)  # type: ignore[call-arg]


def test_rewards() -> None:
    expected = -0.05 * (LOGPROBS - REFERENCE)
    expected[:, -1] += SCORES
    torch.testing.assert_close(REWARDS, expected)


def test_advantages_and_returns() -> None:
    advantages, returns = gae(REWARDS, VALUES, MASK, 1.0, 0.95)
    expected = trl_gae(REWARDS, VALUES, 1.0, 0.95)
    torch.testing.assert_close(advantages, expected)
    torch.testing.assert_close(returns, expected + VALUES)


def test_whitening_but_for_the_variance() -> None:
    bessel = (15 / 14) ** 0.5
    torch.testing.assert_close(masked_whiten(REWARDS, MASK), trl_whiten(REWARDS) * bessel)
    kept = trl_whiten(REWARDS, shift_mean=False) - REWARDS.mean()
    torch.testing.assert_close(scaled_to_unit_variance(REWARDS, MASK) - REWARDS.mean(), kept * bessel)


def test_losses() -> None:
    advantages, returns = gae(REWARDS, VALUES, MASK, 1.0, 0.95)
    ratio = torch.exp(NEW_LOGPROBS - LOGPROBS)
    expected = torch.max(-advantages * ratio, -advantages * torch.clamp(ratio, 0.8, 1.2)).mean()
    found, clipped = Clipped(PolicyLossSpec()).masked(PolicyTokens(NEW_LOGPROBS, LOGPROBS, LOGPROBS, advantages, MASK))
    torch.testing.assert_close(found.mean(), expected)
    assert clipped is not None and clipped.any() and not clipped.all()
    bounded = torch.clamp(NEW_VALUES, VALUES - 0.2, VALUES + 0.2)
    expected = 0.5 * torch.max((NEW_VALUES - returns) ** 2, (bounded - returns) ** 2).mean()
    found, _ = value_loss(NEW_VALUES, VALUES, returns, MASK, 0.2)
    torch.testing.assert_close(found.mean(), expected)
