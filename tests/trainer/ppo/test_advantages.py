import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from trainer.ppo.advantages import (
    equal_groups,
    explained_variance,
    gae,
    group_deviations,
    group_means,
    group_places,
    length_adaptive_lambda,
    rewards_to_go,
)

REWARDS, VALUES = torch.tensor([[0.0, 0.0, 1.0]]), torch.tensor([[0.5, 0.2, 0.4]])
ALL = torch.ones(1, 3, dtype=torch.bool)


def test_gae_by_hand() -> None:
    # γ = .9, λ = .5; δ₂ = 1 − .4 = .6; δ₁ = .9·.4 − .2 = .16; δ₀ = .9·.2 − .5 = −.32
    # A₂ = .6; A₁ = .16 + .45·.6 = .43; A₀ = −.32 + .45·.43 = −.1265
    advantages, returns = gae(REWARDS, VALUES, ALL, gamma=0.9, lam=0.5)
    torch.testing.assert_close(advantages, torch.tensor([[-0.1265, 0.43, 0.6]]))
    torch.testing.assert_close(returns, torch.tensor([[0.3735, 0.63, 1.0]]))


def test_a_shorter_response_ends_at_its_own_last_token() -> None:
    rewards, values = torch.tensor([[0.0, 2.0, 9.0]]), torch.tensor([[1.0, 0.5, 7.0]])
    mask = torch.tensor([[True, True, False]])
    advantages, returns = gae(rewards, values, mask, gamma=1.0, lam=1.0)
    torch.testing.assert_close(advantages, torch.tensor([[1.0, 1.5, 0.0]]))  # 2 − 1 and 2 − .5
    torch.testing.assert_close(returns, torch.tensor([[2.0, 2.0, 0.0]]))


def test_gae_truncated_response_bootstraps_from_next_value() -> None:
    # γ = .9, λ = .5; the first is cut after two tokens, V = 2 there: δ₁ = 1 + .9·2 − .5 = 2.3, δ₀ = .9·.5 − 1 = −.55
    rewards, values = torch.tensor([[0.0, 1.0, 9.0], [0.0, 0.0, 1.0]]), torch.tensor([[1.0, 0.5, 7.0], [0.5, 0.2, 0.4]])
    mask = torch.tensor([[True, True, False], [True, True, True]])
    advantages, returns = gae(rewards, values, mask, 0.9, 0.5, bootstrap_B=torch.tensor([2.0, 0.0]))
    torch.testing.assert_close(advantages, torch.tensor([[0.485, 2.3, 0.0], [-0.1265, 0.43, 0.6]]))  # −.55 + .45·2.3
    torch.testing.assert_close(returns, torch.tensor([[1.485, 2.8, 0.0], [0.3735, 0.63, 1.0]]))


def definition(
    rewards: Tensor, values: Tensor, length: int, gamma: float, lam: float, after: float = 0.0
) -> list[float]:
    """GAE as the paper writes it: Aₜ = Σₗ (γλ)ˡ δₜ₊ₗ, in O(T²)."""
    v = [*values[:length].tolist(), after]
    deltas = [float(rewards[t]) + gamma * v[t + 1] - v[t] for t in range(length)]
    return [math.fsum((gamma * lam) ** i * deltas[t + i] for i in range(length - t)) for t in range(length)]


@given(st.integers(0, 2**31), st.floats(0, 1), st.lists(st.integers(1, 7), min_size=1, max_size=4))
def test_gae_equals_its_definition(seed: int, gamma: float, lengths: list[int]) -> None:
    noise = torch.Generator().manual_seed(seed)
    rewards, values = (torch.randn(len(lengths), max(lengths), generator=noise) for _ in range(2))
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    lams, afters = torch.rand(len(lengths), generator=noise), torch.randn(len(lengths), generator=noise)
    advantages, _ = gae(rewards, values, mask, gamma, lams, afters)
    for row, length in enumerate(lengths):
        expected = definition(rewards[row], values[row], length, gamma, float(lams[row]), float(afters[row]))
        assert advantages[row, :length].tolist() == pytest.approx(expected, abs=1e-4)
        assert not advantages[row, length:].any()


def n_step(rewards: Tensor, values: Tensor, t: int, n: int, gamma: float) -> float:
    """rₜ + … + γⁿ⁻¹·rₜ₊ₙ₋₁ + γⁿ·V(sₜ₊ₙ) − V(sₜ), V = 0 after the end."""
    v = [*values[0].tolist(), 0.0]
    return math.fsum(gamma**k * float(rewards[0, t + k]) for k in range(n)) + gamma**n * v[t + n] - v[t]


def test_gae_lambda_1_is_monte_carlo_and_lambda_0_is_one_step_td() -> None:
    monte_carlo, _ = gae(REWARDS, VALUES, ALL, 0.9, 1.0)
    one_step, _ = gae(REWARDS, VALUES, ALL, 0.9, 0.0)
    torch.testing.assert_close(monte_carlo, rewards_to_go(REWARDS, ALL, 0.9) - VALUES)
    assert one_step[0].tolist() == pytest.approx([n_step(REWARDS, VALUES, t, 1, 0.9) for t in range(3)])


def test_gae_lambda_0_7_is_weighted_mean_of_n_step_advantages() -> None:
    # (1 − λ)·Σₙ λⁿ⁻¹·A⁽ⁿ⁾, and what is left of the weight on the longest
    advantages, _ = gae(REWARDS, VALUES, ALL, 0.9, 0.7)
    for t in range(3):
        longest = 3 - t
        steps = [n_step(REWARDS, VALUES, t, n, 0.9) for n in range(1, longest + 1)]
        mean = sum(0.3 * 0.7**n * step for n, step in enumerate(steps[:-1])) + 0.7 ** (longest - 1) * steps[-1]
        assert float(advantages[0, t]) == pytest.approx(mean, abs=1e-6)


def test_longer_responses_get_a_lambda_nearer_to_1() -> None:
    # α = .05: 1 − 1/(.05·40) = .5 and 1 − 1/(.05·200) = .9; 1 − 1/.05 would be below 0
    found = length_adaptive_lambda(torch.tensor([40, 200, 1]), 0.05)
    torch.testing.assert_close(found, torch.tensor([0.5, 0.9, 0.0]))


def test_rewards_to_go_by_hand() -> None:
    mask = torch.tensor([[True, True, True], [True, True, False]])
    found = rewards_to_go(torch.tensor([[1.0, 2.0, 4.0], [3.0, -1.0, 50.0]]), mask, 0.5)
    torch.testing.assert_close(found, torch.tensor([[3.0, 4.0, 4.0], [2.5, -1.0, 0.0]]))  # 1 + .5·(2 + .5·4)


def test_group_figures_by_hand() -> None:
    returns = torch.tensor([1.0, 2.0, 6.0, 5.0, 5.0, 2.0])
    assert group_means(returns, 3).tolist() == [3.0, 3.0, 3.0, 4.0, 4.0, 4.0]
    assert group_means(returns, 3, leave_one_out=True).tolist() == [4.0, 3.5, 1.5, 3.5, 3.5, 5.0]
    # deviations −2, −1, 3: √(14/2); 1, 1, −2: √(6/2)
    expected = torch.tensor([7.0, 7.0, 7.0, 3.0, 3.0, 3.0]).sqrt()
    torch.testing.assert_close(group_deviations(returns, 3), expected)


def test_group_figures_with_gaps_are_those_of_the_rest() -> None:
    """Groups of three without their second, and without their first response."""
    returns, rows = torch.tensor([1.0, 6.0, 5.0, 2.0]), [0, 2, 4, 5]
    assert group_places(rows, 3) == [[0, 1], [2, 3]]
    assert group_means(returns, 3, rows=rows).tolist() == [3.5, 3.5, 3.5, 3.5]
    assert group_means(returns, 3, leave_one_out=True, rows=rows).tolist() == [6.0, 1.0, 2.0, 5.0]
    expected = torch.tensor([12.5, 12.5, 4.5, 4.5]).sqrt()
    torch.testing.assert_close(group_deviations(returns, 3, rows=rows), expected)


def test_equal_groups_are_those_without_a_difference() -> None:
    scores = torch.tensor([1.0, 1.0, 0.0, 0.1, -2.0, -2.0])
    assert equal_groups(scores, 2) == pytest.approx(2 / 3)
    assert equal_groups(scores, 3) == 0
    # places 0, 1 | 4, 6, 7: the rest of the second group is equal, and the first one too
    assert equal_groups(torch.tensor([1.0, 1.0, 3.0, 3.0, 3.0]), 4, rows=[0, 1, 4, 6, 7]) == 1
    assert equal_groups(torch.tensor([1.0, 1.0, 3.0, 3.0, 4.0]), 4, rows=[0, 1, 4, 6, 7]) == 0.5


def test_explained_variance_of_perfect_constant_and_wrong_values() -> None:
    returns, mask = torch.tensor([[1.0, 3.0, 99.0]]), torch.tensor([[True, True, False]])
    assert explained_variance(returns, returns, mask) == 1.0
    assert explained_variance(torch.full_like(returns, 2.0), returns, mask) == 0.0
    assert explained_variance(-returns, returns, mask) == -3.0  # residuals 2R have four times the variance
    assert math.isnan(explained_variance(returns, torch.ones_like(returns), mask))


def test_equal_scores_have_no_explained_variance() -> None:
    """With λ = 1 each return is the score, up to the rounding of the sums: a variance of 1e-17, and not of 0."""
    values = 0.05 * torch.randn(8, 24, generator=torch.Generator().manual_seed(0))
    mask = torch.ones_like(values, dtype=torch.bool)
    _, returns = gae(torch.zeros_like(values), values, mask, gamma=1.0, lam=1.0)
    assert 0 < float(returns.var()) < 1e-12
    assert math.isnan(explained_variance(values, returns, mask))
