import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from trainer.ppo.advantages import explained_variance, gae


def test_gae_by_hand() -> None:
    # γ = .9, λ = .5; δ₂ = 1 − .4 = .6; δ₁ = .9·.4 − .2 = .16; δ₀ = .9·.2 − .5 = −.32
    # A₂ = .6; A₁ = .16 + .45·.6 = .43; A₀ = −.32 + .45·.43 = −.1265
    rewards, values = torch.tensor([[0.0, 0.0, 1.0]]), torch.tensor([[0.5, 0.2, 0.4]])
    advantages, returns = gae(rewards, values, torch.ones(1, 3, dtype=torch.bool), gamma=0.9, lam=0.5)
    torch.testing.assert_close(advantages, torch.tensor([[-0.1265, 0.43, 0.6]]))
    torch.testing.assert_close(returns, torch.tensor([[0.3735, 0.63, 1.0]]))


def test_a_shorter_response_ends_at_its_own_last_token() -> None:
    rewards, values = torch.tensor([[0.0, 2.0, 9.0]]), torch.tensor([[1.0, 0.5, 7.0]])
    mask = torch.tensor([[True, True, False]])
    advantages, returns = gae(rewards, values, mask, gamma=1.0, lam=1.0)
    torch.testing.assert_close(advantages, torch.tensor([[1.0, 1.5, 0.0]]))  # 2 − 1 and 2 − .5
    torch.testing.assert_close(returns, torch.tensor([[2.0, 2.0, 0.0]]))


def definition(rewards: Tensor, values: Tensor, length: int, gamma: float, lam: float) -> list[float]:
    """GAE as the paper writes it: Aₜ = Σₗ (γλ)ˡ δₜ₊ₗ, in O(T²)."""
    v = [*values[:length].tolist(), 0.0]
    deltas = [float(rewards[t]) + gamma * v[t + 1] - v[t] for t in range(length)]
    return [math.fsum((gamma * lam) ** i * deltas[t + i] for i in range(length - t)) for t in range(length)]


@given(st.integers(0, 2**31), st.floats(0, 1), st.floats(0, 1), st.lists(st.integers(1, 7), min_size=1, max_size=4))
def test_gae_equals_its_definition(seed: int, gamma: float, lam: float, lengths: list[int]) -> None:
    noise = torch.Generator().manual_seed(seed)
    rewards, values = (torch.randn(len(lengths), max(lengths), generator=noise) for _ in range(2))
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    advantages, _ = gae(rewards, values, mask, gamma, lam)
    for row, length in enumerate(lengths):
        expected = definition(rewards[row], values[row], length, gamma, lam)
        assert advantages[row, :length].tolist() == pytest.approx(expected, abs=1e-4)
        assert not advantages[row, length:].any()


def test_explained_variance_of_perfect_constant_and_useless_values() -> None:
    returns, mask = torch.tensor([[1.0, 3.0, 99.0]]), torch.tensor([[True, True, False]])
    assert explained_variance(returns, returns, mask) == 1.0
    assert explained_variance(torch.full_like(returns, 2.0), returns, mask) == 0.0
    assert explained_variance(-returns, returns, mask) == -3.0  # residuals 2R have four times the variance
    assert math.isnan(explained_variance(returns, torch.ones_like(returns), mask))
