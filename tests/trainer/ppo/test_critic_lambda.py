"""λ of the critic's targets apart from the policy's, against literals and the definition in O(T²)."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.trainer.ppo.tools import iterate, spec_of, weights_of
from tests.trainer.ppo.toy import CODEC, PROMPT, REPRESENTATIVE, STEPS, Table, actors, path, quarters
from tests.trainer.stage_tools import context_of
from trainer.ppo.advantages import rewards_to_go
from trainer.ppo.experience import Experience, build_experience
from trainer.rollout.batch import sample_and_score
from trainer.spec import PPOSpec

VALUES = {1: 0.5, 2: 0.2, 5: 0.4}
"""V of the states that the response 0, 1, 1 goes through; 0 in all others."""


def critic_by_hand() -> Table:
    critic = Table(1, None)
    for state, value in VALUES.items():
        critic.score.weight.data[0, state] = value
    return critic


def experience_of(critic: Table, coef: float = 0.0, targets: str = "lambda_returns", **advantage: Any) -> Experience:
    """A response for each number of the grid, with a score at its third and last token."""
    spec = PPOSpec.model_validate(
        {
            "batch_size": len(REPRESENTATIVE), "max_new_tokens": STEPS, "kl": {"coef": coef},
            "shaping": {"missing_eos_penalty": 0}, "advantage": {"normalize": "none", "gamma": 0.9, **advantage},
            "critic": {"targets": targets},
        }
    )  # fmt: skip
    context = context_of(actors(quarters(0.75), critic), spec, CODEC)
    scored = sample_and_score(context, [PROMPT] * len(REPRESENTATIVE), REPRESENTATIVE)
    return build_experience(context, scored, kl_coef=coef)


@pytest.mark.parametrize(
    ("critic_lambda", "returns"),
    [
        (1.0, [0.2025, 0.225, 0.25]),  # .9²·.25 and .9·.25: the score alone
        (0.0, [0.18, 0.36, 0.25]),  # .9·V of the next state: .9·.2 and .9·.4
        (0.8, [0.21744, 0.252, 0.25]),  # .9·(.2·.4 + .8·.25) = .252 and .9·(.2·.2 + .8·.252)
        (None, [0.221625, 0.2925, 0.25]),  # λ = .5: .9·(.4 + .25)/2 and .9·(.2 + .2925)/2
    ],
)
def test_critic_lambda_by_hand(critic_lambda: float | None, returns: list[float]) -> None:
    # δ₂ = .25 − .4 = −.15; δ₁ = .9·.4 − .2 = .16; δ₀ = .9·.2 − .5 = −.32; γλ = .45
    # A₂ = −.15; A₁ = .16 − .45·.15 = .0925; A₀ = −.32 + .45·.0925 = −.278375
    found = experience_of(critic_by_hand(), gae_lambda=0.5, critic_lambda=critic_lambda)
    row = [response.ids for response in found.scored.responses].index([0, 1, 1])
    assert found.advantages_BR[row].tolist() == pytest.approx([-0.278375, 0.0925, -0.15], abs=1e-6)
    assert found.returns_BR[row].tolist() == pytest.approx(returns, abs=1e-6)


@pytest.mark.parametrize("more", [{}, {"bootstrap_truncated": True}, {"length_adaptive": 0.5}], ids=str)
def test_monte_carlo_targets_are_those_of_a_critic_lambda_of_1(more: dict[str, Any]) -> None:
    by_name = experience_of(Table(1, 5), 0.3, "monte_carlo", **more)
    by_lambda = experience_of(Table(1, 5), 0.3, **more, critic_lambda=1.0)
    assert torch.equal(by_name.returns_BR, by_lambda.returns_BR)
    assert torch.equal(by_name.advantages_BR, by_lambda.advantages_BR)
    if not more:  # the discounted rewards to come
        to_go = rewards_to_go(by_name.rewards_BR, by_name.scored.batch.mask_BR, 0.9)
        torch.testing.assert_close(by_name.returns_BR, to_go, rtol=0, atol=1e-6, check_dtype=False)


def td_lambda(rewards: Tensor, values: Tensor, gamma: float, lam: float, after: float) -> list[float]:
    """The λ-return of each state, in O(T²): Σₙ (1 − λ)λⁿ⁻¹·G⁽ⁿ⁾, the rest of the weight on the longest (Sutton and Barto, 12.3)."""
    last, v = len(rewards), [*values.tolist(), after]

    def n_step(t: int, n: int) -> float:
        return math.fsum(gamma**k * float(rewards[t + k]) for k in range(n)) + gamma**n * v[t + n]

    return [
        math.fsum((1 - lam) * lam ** (n - 1) * n_step(t, n) for n in range(1, last - t))
        + lam ** (last - t - 1) * n_step(t, last - t)
        for t in range(last)
    ]


@pytest.mark.parametrize("critic_lambda", [0.0, 0.7, 1.0])
@pytest.mark.parametrize(
    "policy", [{"gae_lambda": 0.4}, {"length_adaptive": 0.5}, {"gae_lambda": 0.4, "bootstrap_truncated": True}], ids=str
)
def test_critic_lambda_equals_the_definition(policy: dict[str, Any], critic_lambda: float) -> None:
    critic = Table(1, 5)
    found = experience_of(critic, 0.3, **policy, critic_lambda=critic_lambda)
    for row, response in enumerate(found.scored.responses):
        states = [state for state, _ in path(response.ids)]
        values, end = critic.score.weight[0, states].detach(), 2 * states[-1] + response.ids[-1]
        after = float(critic.score.weight.detach()[0, end]) if "bootstrap_truncated" in policy else 0.0
        expected = td_lambda(found.rewards_BR[row], values, 0.9, critic_lambda, after)
        assert found.returns_BR[row].tolist() == pytest.approx(expected, abs=1e-6)
        lam = 1 - 1 / (0.5 * STEPS) if "length_adaptive" in policy else 0.4  # of three tokens: a third
        ours = td_lambda(found.rewards_BR[row], values, 0.9, lam, after)
        advantages = [target - float(value) for target, value in zip(ours, values, strict=True)]
        assert found.advantages_BR[row].tolist() == pytest.approx(advantages, abs=1e-6)


def test_critic_lambda_leaves_the_policys_step_as_it_is() -> None:
    """The first update of the policy has the same bits; the critic learns other targets."""
    plain, _, _ = iterate(spec_of())
    decoupled, _, _ = iterate(spec_of(advantage={"critic_lambda": 1.0}))
    assert torch.equal(weights_of(decoupled.policy), weights_of(plain.policy))
    assert not torch.equal(weights_of(decoupled.critic), weights_of(plain.critic))


def test_critic_lambda_equal_to_the_policys_changes_no_bit() -> None:
    plain, _, _ = iterate(spec_of(advantage={"gae_lambda": 0.9}))
    named, _, _ = iterate(spec_of(advantage={"gae_lambda": 0.9, "critic_lambda": 0.9}))
    assert torch.equal(weights_of(named.critic), weights_of(plain.critic))


def test_whitening_with_a_floor_keeps_the_critics_errors_small() -> None:
    """Advantages whose deviation is below the floor are divided by the floor."""
    plain = experience_of(critic_by_hand()).advantages_BR
    floored = experience_of(critic_by_hand(), normalize="whiten", whiten_floor=10.0).advantages_BR
    torch.testing.assert_close(floored, (plain - plain.mean()) / 10)


def test_floor_without_whitening_is_refused() -> None:
    with pytest.raises(ValueError, match="has no effect with `normalize`"):
        PPOSpec.model_validate({"advantage": {"normalize": "none", "whiten_floor": 0.1}})
