"""The measures of a critic beside numbers worked out by hand, and beside definitions of another form."""

import math
from collections.abc import Sequence
from statistics import correlation, pvariance

import numpy as np
import numpy.typing as npt
import pytest
import torch

from trainer.ppo.advantages import gae, rewards_to_go
from trainer.ppo.critic_measures import (
    CriticTokens,
    Numbers,
    discounted_sums,
    explained_variance,
    members,
    position_parts,
    quantile_bins,
    rank_correlation,
    skill,
    variance_removed,
    worst_tokens,
)

EXACT = 1e-12
"""Tolerance of sums of some dozens of numbers in 64 bits."""


def numbers(*values: float) -> Numbers:
    return np.array(values, dtype=np.float64)


def batch(gamma: float = 1.0, width: int = 7) -> tuple[CriticTokens, npt.NDArray[np.bool_], Numbers, Numbers, Numbers]:
    """Random responses of 1 to `width` tokens, with garbage outside the mask; the first and second were cut off."""
    draw = np.random.default_rng(7)
    lengths = np.array([width, 3, 1, 5, width, 2])
    mask = np.arange(width) < lengths[:, None]
    values, rewards = draw.normal(size=mask.shape), draw.normal(size=mask.shape)
    targets = np.full(mask.shape, 99.0)
    after = [0.5, -2.0, 0.0, 0.0, 0.0, 0.0]
    for row, length in enumerate(lengths):
        targets[row, length - 1] = rewards[row, length - 1] + gamma * after[row]
    return CriticTokens.of(values, rewards, targets, mask, gamma), mask, values, rewards, numbers(*after)


@pytest.mark.parametrize("gamma", [1.0, 0.9, 0.0])
def test_returns_are_sums_over_all_later_rewards(gamma: float) -> None:
    tokens, mask, _, rewards, after = batch(gamma)
    returns = tokens.returns_BR()
    for row, length in enumerate(mask.sum(1)):
        for t in range(length):
            sums = [gamma ** (k - t) * rewards[row, k] for k in range(t, length)]
            assert returns[row, t] == pytest.approx(math.fsum(sums) + gamma ** (length - t) * after[row], abs=EXACT)
    assert not returns[~mask].any()


def test_returns_without_a_cut_are_those_of_the_trainer() -> None:
    mask = np.array([[True, True, True], [True, False, False]])
    rewards = np.array([[0.25, -1.0, 2.0], [0.5, 8.0, 8.0]])
    tokens = CriticTokens.of(np.zeros((2, 3)), rewards, rewards, mask, 0.5)
    expected = rewards_to_go(torch.tensor(rewards), torch.tensor(mask), 0.5)
    assert tokens.returns_BR().tolist() == expected.tolist() == [[0.25, 0.0, 2.0], [0.5, 0, 0]]


@pytest.mark.parametrize("lam", [1.0, 0.95, 0.0])
def test_advantages_are_those_of_the_trainer(lam: float) -> None:
    tokens, mask, values, rewards, after = batch(0.9)
    rewards_BR, values_BR, mask_BR = map(torch.tensor, (rewards, values, mask))
    found, _ = gae(rewards_BR, values_BR, mask_BR, 0.9, lam, torch.tensor(after))
    np.testing.assert_allclose(tokens.advantages_BR(lam), found.numpy(), atol=EXACT)


def test_lambda_of_each_response_holds_for_its_row() -> None:
    tokens, mask, values, rewards, after = batch()
    lam = np.linspace(0, 1, len(mask))
    rewards_BR, values_BR, mask_BR = map(torch.tensor, (rewards, values, mask))
    found, _ = gae(rewards_BR, values_BR, mask_BR, 1.0, torch.tensor(lam), torch.tensor(after))
    np.testing.assert_allclose(tokens.advantages_BR(lam), found.numpy(), atol=EXACT)


def test_temporal_differences_end_with_the_value_after_a_cut() -> None:
    """δ = r + γ·V(next) − V: 1 + ½·4 − 2, 3 + ½·6 − 4 where 6 follows the cut; 5 − 1 at an end."""
    mask, rewards = np.array([[True, True], [True, False]]), np.array([[1.0, 3.0], [5.0, 0.0]])
    values, targets = np.array([[2.0, 4.0], [1.0, 77.0]]), np.array([[77.0, 3.0 + 0.5 * 6.0], [5.0, 77.0]])
    assert CriticTokens.of(values, rewards, targets, mask, 0.5).td_errors_BR().tolist() == [[1.0, 2.0], [4.0, 0.0]]


def test_gaps_in_the_mask_are_skipped() -> None:
    """Tokens of an environment between those of the policy: the next token is the next of the policy."""
    gaps = np.array([[False, True, False, True, True], [True, False, False, False, False]])
    spread = np.array([[9.0, 1.0, 9.0, 2.0, 3.0], [4.0, 9.0, 9.0, 9.0, 9.0]])
    plain_mask, plain = np.array([[True, True, True], [True, False, False]]), np.array([[1.0, 2, 3], [4, 9, 9]])
    found = CriticTokens.of(-spread, spread, spread, gaps, 0.5)
    expected = CriticTokens.of(-plain, plain, plain, plain_mask, 0.5)
    assert found.returns_BR()[:, :3].tolist() == expected.returns_BR().tolist() == [[2.75, 3.5, 3.0], [4.0, 0, 0]]
    assert found.td_errors_BR()[:, :3].tolist() == expected.td_errors_BR().tolist()
    assert found.places_BR[0, :3].tolist() == [1, 3, 4] and not found.returns_BR()[:, 3:].any()


def test_discounted_sums_with_factor_one_equal_those_near_it() -> None:
    values = np.random.default_rng(1).normal(size=(1, 9))
    assert discounted_sums(values, 1.0)[:, 0] == pytest.approx([math.fsum(row) for row in values], abs=EXACT)
    before = values.copy()
    np.testing.assert_allclose(discounted_sums(values, 1.0), discounted_sums(values, 1 - 1e-15), atol=1e-12)
    assert np.array_equal(values, before)  # a single row is not copied by its transposition


def test_explained_variance_and_skill_by_hand() -> None:
    """G = 1, 2, 3, 6 has mean 3 and variance 3.5. V = 2, 2, 4, 4: G − V = −1, 0, −1, 2 with mean 0 and mean square 1.5."""
    values, returns = numbers(2, 2, 4, 4), numbers(1, 2, 3, 6)
    assert explained_variance(values, returns) == pytest.approx(4 / 7)
    assert skill(values, returns) == pytest.approx(4 / 7)
    assert explained_variance(values + 1, returns) == pytest.approx(4 / 7)  # a bias changes the skill alone
    assert skill(values + 1, returns) == pytest.approx(2 / 7)  # mean square 1.5 + 1


@pytest.mark.parametrize("measure", [explained_variance, skill])
def test_a_perfect_critic_has_one_and_the_mean_has_zero(measure: object) -> None:
    assert callable(measure)
    returns = numbers(0.5, -1.25, 3.0)
    assert measure(returns, returns) == 1.0
    assert measure(np.full(3, returns.mean()), returns) == pytest.approx(0.0, abs=EXACT)
    assert measure(-returns, returns) < -2


@pytest.mark.parametrize("measure", [explained_variance, skill, rank_correlation, variance_removed])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (numbers(1.0), numbers(2.0)),
        (numbers(1, 2, 3), numbers(0.1, 0.1, 0.1)),
        (numbers(1, 2, math.nan), numbers(1, math.nan, 2)),
        (numbers(1, 2, 3), numbers(1, math.inf, 2)),
    ],
)
def test_no_variance_and_no_number_give_no_value(measure: object, one: Numbers, other: Numbers) -> None:
    assert callable(measure)
    assert measure(one, other) is None


def test_values_that_are_no_numbers_give_no_value() -> None:
    broken, returns = numbers(1, math.nan, 3), numbers(1, 2, 4)
    assert [measure(broken, returns) for measure in (explained_variance, skill, rank_correlation)] == [None] * 3


def test_constant_value_ranks_and_explains_nothing() -> None:
    constant, returns = numbers(3, 3, 3), numbers(1, 2, 4)
    assert rank_correlation(constant, returns) is None
    assert explained_variance(constant, returns) == 0.0


def test_rank_correlation_by_hand_with_a_tie() -> None:
    """Ranks 1, 2½, 2½, 4 and 2, 1, 3, 4: covariance sum 1.5·.5 + 0 + 0 + 1.5·1.5 = 3, squares 4.5 and 5."""
    assert rank_correlation(numbers(10, 20, 20, 30), numbers(5, -1, 6, 7)) == pytest.approx(3 / math.sqrt(4.5 * 5))


@pytest.mark.parametrize("seed", range(5))
def test_rank_correlation_is_that_of_pairwise_counts(seed: int) -> None:
    """A rank is ½ + the number of smaller ones + half of the equal ones, itself included."""
    draw = np.random.default_rng(seed)
    one, other = draw.integers(0, 6, 20).astype(float), draw.normal(size=20)

    def ranks(values: Sequence[float]) -> list[float]:
        return [0.5 + sum((v < own) + (v == own) / 2 for v in values) for own in values]

    expected = correlation(ranks(one.tolist()), ranks(other.tolist()))
    assert rank_correlation(one, other) == pytest.approx(expected, abs=EXACT)
    assert rank_correlation(one, np.exp(3 * one)) == pytest.approx(1.0)  # only the order counts
    assert rank_correlation(one, -one) == pytest.approx(-1.0)


def test_variance_removed_by_hand() -> None:
    assert variance_removed(numbers(0, 1, 2), numbers(0, 2, 4)) == pytest.approx(0.75)
    assert variance_removed(numbers(0, 4, 8), numbers(0, 2, 4)) == pytest.approx(-3.0)


@pytest.mark.parametrize("lam", [1.0, 0.9])
def test_critic_of_the_mean_return_removes_nothing(lam: float) -> None:
    tokens, mask, *_ = batch()
    mean = float(tokens.returns_BR()[mask].mean())
    same = CriticTokens(np.where(mask, mean, 0), tokens.rewards_BR, mask, tokens.lengths_B, tokens.places_BR, 1.0)
    without = tokens.constant_advantages_BR(mean, lam)[mask]
    assert variance_removed(same.advantages_BR(lam)[mask], without) == pytest.approx(0.0, abs=EXACT)
    if lam == 1:  # the advantages without a critic are then the returns less their mean
        assert pvariance(without.tolist()) == pytest.approx(pvariance(tokens.returns_BR()[mask].tolist()))
    perfect = CriticTokens(tokens.returns_BR(), tokens.rewards_BR, mask, tokens.lengths_B, tokens.places_BR, 1.0)
    assert variance_removed(perfect.advantages_BR(lam)[mask], without) == pytest.approx(1.0)


def test_parts_of_responses_by_hand() -> None:
    """Ten tokens: two each. Three: ⌊5t/3⌋ = 0, 1, 3. One: the first part."""
    lengths = np.array([10, 3, 1])
    mask = np.arange(10) < lengths[:, None]
    parts = position_parts(lengths, mask, 5)
    assert parts[0].tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert parts[1, :3].tolist() == [0, 1, 3] and parts[2, 0] == 0


def test_bins_are_equally_full_and_equal_numbers_share_one() -> None:
    draw = np.random.default_rng(2).permutation(100).astype(float)
    assert [len(rows) for _, rows in members(quantile_bins(draw, 10))] == [10] * 10
    ties = numbers(*[0.0] * 70, *range(1, 31))
    sizes = [len(rows) for _, rows in members(quantile_bins(ties, 10))]
    assert sizes[0] == 70 and sum(sizes) == 100
    assert [len(rows) for _, rows in members(quantile_bins(np.full(9, 2.5), 10))] == [9]


def test_members_keep_their_order_within_a_group() -> None:
    found = [(group, rows.tolist()) for group, rows in members(np.array([7, 0, 7, 3, 0]))]
    assert found == [(0, [1, 4]), (3, [3]), (7, [0, 2])]


def test_worst_token_of_each_response_largest_first() -> None:
    mask = np.array([[True, True, False], [True, True, True], [True, False, False], [True, True, True]])
    errors = np.array([[1.0, -2.0, 50.0], [0.0, 0.0, 0.0], [-9.0, 50.0, 50.0], [3.0, -3.0, 1.0]])
    assert worst_tokens(errors, mask, 3) == [(2, 0), (3, 0), (0, 1)]
    assert worst_tokens(errors, mask, 99)[-1] == (1, 0)
