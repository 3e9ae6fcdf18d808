"""Advantages over actions with observations between them, token by token and turn by turn."""

import math
from collections.abc import Sequence

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from trainer.ppo.advantages import gae, rewards_of_actions, rewards_to_go, turn_gae, turn_starts

# an action, an observation, two actions, an observation, a pad
ACTS = torch.tensor([[True, False, True, True, False, False]])
REWARDS = torch.tensor([[1.0, 0.5, 0.0, 2.0, -1.0, 7.0]])
VALUES = torch.tensor([[0.5, 90.0, 0.2, 0.4, 90.0, 90.0]])
LENGTHS = torch.tensor([5])
RESPONSES = st.lists(st.lists(st.sampled_from("aop"), min_size=1, max_size=9), min_size=1, max_size=4)
"""Rows of actions, observations and starts of turns: `p` is the first action of a turn."""


def test_gae_skips_observations_by_hand() -> None:
    # rewards of the actions 1 + .5, 0 and 2, γ = .9, λ = .5: δ₂ = 2 − .4, δ₁ = .9·.4 − .2, δ₀ = 1.5 + .9·.2 − .5.
    # A₂ = 1.6, A₁ = .16 + .45·1.6 = .88, A₀ = 1.18 + .45·.88 = 1.576
    advantages, returns = gae(REWARDS, VALUES, ACTS, 0.9, 0.5)
    torch.testing.assert_close(advantages, torch.tensor([[1.576, 0.0, 0.88, 1.6, 0.0, 0.0]]))
    torch.testing.assert_close(returns, torch.tensor([[2.076, 0.0, 1.08, 2.0, 0.0, 0.0]]))


def test_reward_after_the_last_action_counts_up_to_the_length() -> None:
    # the last action has 2 − 1, and the pad's 7 counts nowhere: A₂ = .6, A₁ = .16 + .45·.6 = .43, A₀ = 1.18 + .45·.43
    advantages, _ = gae(REWARDS, VALUES, ACTS, 0.9, 0.5, lengths_B=LENGTHS)
    torch.testing.assert_close(advantages, torch.tensor([[1.3735, 0.0, 0.43, 0.6, 0.0, 0.0]]))
    to_go = rewards_to_go(REWARDS, ACTS, 0.9, LENGTHS)  # 1; .9·1; 1.5 + .9·.9
    torch.testing.assert_close(to_go, torch.tensor([[2.31, 0.0, 0.9, 1.0, 0.0, 0.0]]))


def test_reward_before_the_first_action_belongs_to_none() -> None:
    acts = torch.tensor([[False, True, False]])
    assert rewards_of_actions(torch.tensor([[5.0, 1.0, 2.0]]), acts, torch.tensor([3])).tolist() == [[0.0, 3.0, 0.0]]


def test_turn_gae_by_hand() -> None:
    # turns of 1 and 2 actions: R₀ = 1.5, R₁ = 2 − 1 = 1, δ₁ = 1 + .9·2 − .2, δ₀ = 1.5 + .9·.2 − .5.
    # A₁ = 2.6, A₀ = 1.18 + .45·2.6 = 2.35
    found = turn_gae(REWARDS, VALUES, ACTS, 0.9, 0.5, bootstrap_B=torch.tensor([2.0]), lengths_B=LENGTHS)
    torch.testing.assert_close(found[0], torch.tensor([[2.35, 0.0, 2.6, 2.6, 0.0, 0.0]]))
    torch.testing.assert_close(found[1], torch.tensor([[2.85, 0.0, 2.8, 2.8, 0.0, 0.0]]))


def test_turns_without_an_observation_between_them_have_starts() -> None:
    acts = torch.ones(1, 3, dtype=torch.bool)
    starts = torch.tensor([[True, False, True]])
    advantages, _ = turn_gae(torch.tensor([[0.0, 1.0, 2.0]]), torch.zeros(1, 3), acts, 0.5, 1.0, starts_BR=starts)
    assert advantages.tolist() == [[2.0, 2.0, 2.0]]  # 1 + .5·2, and 2
    assert turn_starts(acts).tolist() == [[True, False, False]]


@pytest.mark.parametrize("starts", [[True, True, False], [False, False, True]])
def test_turns_that_do_not_fit_the_actions_are_refused(starts: list[bool]) -> None:
    acts = torch.tensor([[True, False, True]])
    with pytest.raises(ValueError, match="each turn must start at an action"):
        turn_gae(torch.zeros(1, 3), torch.zeros(1, 3), acts, 1.0, 1.0, starts_BR=torch.tensor([starts]))


class Drawn:
    """Rows of tokens with random rewards and values. Whatever must not count is not a number."""

    def __init__(self, rows: Sequence[Sequence[str]], seed: int) -> None:
        noise = torch.Generator().manual_seed(seed)
        self.rows, size = rows, (len(rows), max(map(len, rows)))
        kinds = [[*row, *"x" * (size[1] - len(row))] for row in rows]
        self.acts = torch.tensor([[kind in "ap" for kind in row] for row in kinds])
        self.starts = turn_starts(self.acts) | torch.tensor([[kind == "p" for kind in row] for row in kinds])
        self.lengths = torch.tensor([len(row) for row in rows])
        self.rewards, values = (torch.randn(size, generator=noise, dtype=torch.float64) for _ in range(2))
        self.rewards[torch.arange(size[1]) >= self.lengths[:, None]] = math.nan
        self.values = torch.where(self.acts, values, math.nan)
        self.lams, self.afters = (torch.rand(len(rows), generator=noise, dtype=torch.float64) for _ in range(2))

    def steps(self, row: int, by_turn: bool) -> list[tuple[list[int], float, float]]:
        """The places of the tokens of each action or turn, its reward, and V before it."""
        found: list[tuple[list[int], float, float]] = []
        for place in range(len(self.rows[row])):
            if self.starts[row, place] or (self.acts[row, place] and not by_turn):
                found.append(([], 0.0, float(self.values[row, place])))
            if found:
                places, reward, value = found[-1]
                places = [*places, place] if self.acts[row, place] else places
                found[-1] = places, reward + float(self.rewards[row, place]), value
        return found


def definition(steps: list[tuple[list[int], float, float]], gamma: float, lam: float, after: float) -> list[float]:
    """Aₜ = Σₗ (γλ)ˡ δₜ₊ₗ over steps, in O(T²)."""
    values = [*(value for _, _, value in steps), after]
    deltas = [reward + gamma * values[t + 1] - values[t] for t, (_, reward, _) in enumerate(steps)]
    return [math.fsum((gamma * lam) ** k * delta for k, delta in enumerate(deltas[t:])) for t in range(len(deltas))]


@given(RESPONSES, st.integers(0, 2**31), st.floats(0, 1), st.booleans())
def test_gae_over_actions_and_turns_equals_its_definition(
    rows: list[list[str]], seed: int, gamma: float, by_turn: bool
) -> None:
    drawn = Drawn(rows, seed)
    given_ = (drawn.rewards, drawn.values, drawn.acts, gamma, drawn.lams)
    if by_turn:
        found = turn_gae(*given_, starts_BR=drawn.starts, bootstrap_B=drawn.afters, lengths_B=drawn.lengths)
    else:
        found = gae(*given_, drawn.afters, drawn.lengths)
    for row in range(len(rows)):
        steps, expected = drawn.steps(row, by_turn), torch.zeros(2, drawn.acts.shape[1], dtype=torch.float64)
        advantages = definition(steps, gamma, float(drawn.lams[row]), float(drawn.afters[row]))
        for (places, _, value), advantage in zip(steps, advantages, strict=True):
            expected[:, places] = torch.tensor([[advantage], [advantage + value]], dtype=torch.float64)
        torch.testing.assert_close(torch.stack([part[row] for part in found]), expected, rtol=0, atol=1e-9)


@given(RESPONSES, st.integers(0, 2**31), st.floats(0, 1))
def test_rewards_to_go_over_actions_equal_their_definition(rows: list[list[str]], seed: int, gamma: float) -> None:
    drawn = Drawn(rows, seed)
    found = rewards_to_go(drawn.rewards, drawn.acts, gamma, drawn.lengths)
    for row in range(len(rows)):
        steps, expected = drawn.steps(row, by_turn=False), torch.zeros(drawn.acts.shape[1], dtype=torch.float64)
        for t, (places, _, _) in enumerate(steps):
            expected[places] = math.fsum(gamma**k * reward for k, (_, reward, _) in enumerate(steps[t:]))
        torch.testing.assert_close(found[row], expected, rtol=0, atol=1e-9)


def of_one_turn(rewards: Tensor, values: Tensor, mask: Tensor, gamma: float, lam: float) -> Tensor:
    """GAE of responses whose actions are all their tokens, as it was before there were observations."""
    values, later, advantages = torch.where(mask, values, 0.0), torch.zeros(2, len(values)), []
    for t in reversed(range(values.shape[1])):
        delta = rewards[:, t] + gamma * later[1] - values[:, t]
        later = torch.stack([torch.where(mask[:, t], delta + gamma * lam * later[0], 0.0), values[:, t]])
        advantages.append(later[0])
    return torch.stack(advantages[::-1], 1)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.integers(0, 2**31), st.floats(0, 1), st.floats(0, 1))
def test_gae_of_one_turn_has_the_bits_of_the_plain_recursion(
    lengths: list[int], seed: int, gamma: float, lam: float
) -> None:
    noise, mask = torch.Generator().manual_seed(seed), torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    rewards, values = (torch.randn(mask.shape, generator=noise) for _ in range(2))
    advantages, returns = gae(rewards, values, mask, gamma, lam)
    expected = of_one_turn(rewards, values, mask, gamma, lam)
    assert torch.equal(advantages, expected)
    assert torch.equal(returns, expected + torch.where(mask, values, 0.0))
    whole, _ = turn_gae(rewards, values, mask, gamma, lam)  # one step: the sum of the rewards less V of the prompt
    sums = torch.where(mask, rewards, 0.0).sum(1) - values[:, 0]
    torch.testing.assert_close(whole, torch.where(mask, sums[:, None], 0.0))
