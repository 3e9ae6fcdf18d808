"""The gradient of a whole step (rollout, shaping, advantages, loss) against exact enumeration."""

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from tests.trainer.ppo.toy import (
    CODEC,
    PROMPT,
    REPRESENTATIVE,
    RESPONSES,
    SCORES,
    STATES,
    STEPS,
    Table,
    TableReward,
    actors,
    log_probabilities,
    objective,
    path,
    quarters,
)
from tests.trainer.stage_tools import context_of
from trainer.ppo.experience import build_experience
from trainer.ppo.kl import KLCoefficients
from trainer.ppo.learners import Learners
from trainer.ppo.minibatch import Minibatch
from trainer.rewards.base import Rewards, WeightedReward
from trainer.rollout.batch import ScoredBatch, sample_and_score, sample_responses, score
from trainer.rollout.context import PPOModels
from trainer.spec import KLSpec, PPOSpec

BETA = 0.3
ALL = len(REPRESENTATIVE)


def step_gradient(cast: PPOModels, optimal_value: float | None = None, **options: object) -> Tensor:
    """The gradient of the policy's table after one step's losses, over a batch that equals its expectation."""
    spec = spec_of(**options)
    scored = sample_and_score(context_of(cast, spec, CODEC), [PROMPT] * ALL, REPRESENTATIVE)
    return gradient_on(scored, cast, spec, optimal_value)


def spec_of(**options: object) -> PPOSpec:
    defaults: dict[str, Any] = {"batch_size": ALL, "minibatches": 1, "max_new_tokens": STEPS, "kl": {"coef": BETA}}
    return PPOSpec.model_validate(defaults | {"shaping": {"missing_eos_penalty": 0}} | options)


def gradient_on(scored: ScoredBatch, cast: PPOModels, spec: PPOSpec, optimal_value: float | None = None) -> Tensor:
    values = None if optimal_value is None else [optimal_value] * ALL
    experience = build_experience(context_of(cast, spec, CODEC), scored, kl_coef=spec.kl.coef, optimal_values=values)
    minibatch = Minibatch.select(
        experience, list(range(ALL)), spec, KLCoefficients(spec.kl.coef, spec.policy_loss.beta)
    )
    minibatch.accumulate(Learners.build(cast, spec), only_critic=False)
    return cast.policy.score.weight.grad


def exact_gradient(value: Tensor, policy: Any) -> Tensor:
    return torch.autograd.grad(value, policy.score.weight)[0]


def test_the_batch_holds_each_response_as_often_as_it_is_likely() -> None:
    cast = actors(quarters(0.75))
    spec = PPOSpec(batch_size=ALL, max_new_tokens=STEPS)
    scored = sample_and_score(context_of(cast, spec, CODEC), [PROMPT] * ALL, REPRESENTATIVE)
    drawn = [r.ids for r in scored.responses]
    likely = log_probabilities(cast.policy).sum(1).exp()
    assert [drawn.count(r) / ALL for r in RESPONSES] == pytest.approx(likely.tolist())
    torch.testing.assert_close(scored.logprobs_BR.sum(1).exp(), likely[[RESPONSES.index(ids) for ids in drawn]])


NO_CRITIC = [
    ({"estimator": "reward_to_go"}, {"kind": "reinforce"}, 1.0),
    ({"estimator": "sequence"}, {"kind": "reinforce"}, 1.0),
    ({"estimator": "sequence", "baseline": "batch_mean"}, {"kind": "reinforce"}, 1.0),
    ({"estimator": "reward_to_go", "baseline": "batch_mean"}, {"kind": "unclipped"}, 1.0),
    ({"estimator": "sequence", "baseline": "group_mean"}, {"kind": "clipped"}, 1.0),
    ({"estimator": "sequence", "baseline": "leave_one_out"}, {"kind": "reinforce"}, ALL / (ALL - 1)),
    ({"estimator": "sequence", "baseline": "optimal_value"}, {"kind": "unclipped"}, 1.0),
    ({"estimator": "sequence"}, {"kind": "kl_penalty", "beta": 5.0}, 1.0),  # at π_old its KL is at its minimum
]


@pytest.mark.parametrize(("advantage", "loss", "scale"), NO_CRITIC, ids=lambda value: str(value))
@pytest.mark.parametrize("aggregation", ["token_mean", "sequence_mean", "fixed_length"])
def test_gradient_without_critic_is_that_of_regularised_return(
    advantage: dict[str, str], loss: dict[str, object], scale: float, aggregation: str
) -> None:
    cast = actors(quarters(0.25))
    found = step_gradient(
        cast, 1.3, advantage={"normalize": "none", **advantage}, samples_per_prompt=ALL,
        policy_loss={**loss, "aggregation": aggregation},
    )  # fmt: skip
    exact = exact_gradient(objective(cast.policy, cast.reference, BETA), cast.policy)
    torch.testing.assert_close(found, -exact * scale / STEPS, rtol=1e-5, atol=1e-6)
    assert exact.abs().max() > 0.1


@pytest.mark.parametrize(
    ("baseline", "scale"),
    [("none", 1.0), ("batch_mean", 1.0), ("group_mean", 1.0), ("leave_one_out", ALL / (ALL - 1))],
)
def test_discounted_gradient_is_exact_for_every_baseline(baseline: str, scale: float) -> None:
    cast = actors(quarters(0.25))
    found = step_gradient(
        cast, samples_per_prompt=ALL, kl={"coef": 0.0}, policy_loss={"kind": "reinforce"},
        advantage={"estimator": "reward_to_go", "baseline": baseline, "normalize": "none", "gamma": 0.6},
    )  # fmt: skip
    own = log_probabilities(cast.policy)
    returns = torch.tensor(SCORES, dtype=torch.float64)[:, None] * torch.tensor([0.36, 0.6, 1.0])
    exact = exact_gradient((own.sum(1).exp().detach()[:, None] * own * returns).sum(), cast.policy)
    torch.testing.assert_close(found, -exact * scale / STEPS, rtol=1e-5, atol=1e-6)


def exact_values(cast: PPOModels) -> Table:
    """V(s): expected score and KL penalties from each state on."""
    own, theirs = log_probabilities(cast.policy).detach(), log_probabilities(cast.reference)
    critic = Table(1, None)
    for state in range(1, 8):
        total = weight = 0.0
        for row, response in enumerate(RESPONSES):
            states = [s for s, _ in path(response)]
            if state in states:
                t = states.index(state)
                likely = float(own[row].sum().exp())
                to_go = SCORES[row] - BETA * float((own[row, t:] - theirs[row, t:]).sum())
                total, weight = total + likely * to_go, weight + likely
        critic.score.weight.data[0, state] = total / weight
    return critic


@pytest.mark.parametrize("lam", [0.0, 0.6, 1.0])
def test_gae_gradient_with_exact_critic_is_exact_for_any_lambda(lam: float) -> None:
    cast = actors(quarters(0.75))
    cast = PPOModels(cast.policy, cast.reference, cast.initial, exact_values(cast), cast.rewards, None)
    found = step_gradient(cast, advantage={"gae_lambda": lam, "normalize": "none"})
    exact = exact_gradient(objective(cast.policy, cast.reference, BETA), cast.policy)
    torch.testing.assert_close(found, -exact / STEPS, rtol=1e-4, atol=1e-5)


def test_gae_gradient_with_wrong_critic_is_exact_at_lambda_1() -> None:
    errors = []
    for lam in (1.0, 0.0):
        cast = actors(quarters(0.75), critic=Table(1, 5))
        found = step_gradient(cast, advantage={"gae_lambda": lam, "normalize": "none"})
        exact = exact_gradient(objective(cast.policy, cast.reference, BETA), cast.policy)
        errors.append(float((found + exact / STEPS).abs().max()))
    assert errors[0] < 1e-6 and errors[1] > 0.05


def visits(policy: Any) -> Tensor:
    """(STATES,) how likely each state is to be passed, held fixed."""
    likely = torch.zeros(STATES, dtype=torch.float64)
    for row, response in enumerate(RESPONSES):
        for state, _ in path(response):
            likely[state] += float(log_probabilities(policy)[row].sum().exp().detach())
    return likely


@pytest.mark.parametrize("critic_lambda", [1.0, 0.5])
def test_critic_gradient_is_exact_at_its_own_lambda_of_1(critic_lambda: float) -> None:
    """A wrong critic is drawn to the true values, whatever the λ of the policy; below 1 its own errors are in the targets."""
    cast = actors(quarters(0.75), critic=Table(1, 5))
    step_gradient(cast, advantage={"gae_lambda": 0.4, "critic_lambda": critic_lambda})
    weight = cast.critic.score.weight
    exact = visits(cast.policy) * (weight.detach() - exact_values(cast).score.weight.detach())[0] / STEPS
    error = float((weight.grad[0] - exact).abs().max())
    assert error < 1e-6 if critic_lambda == 1 else error > 0.05


KL_CHOICES = [
    {"placement": "reward", "estimator": "k1"},
    *({"placement": "loss", "estimator": name} for name in ("k1", "k2", "k3")),
    *({"placement": "loss", "estimator": name, "unbiased_gradient": False} for name in ("k2", "k3")),
]
"""Every accepted choice."""


def test_the_spec_accepts_these_choices_and_no_others() -> None:
    accepted = []
    for placement in ("reward", "loss"):
        for unbiased in (True, False):
            for estimator in ("k1", "k2", "k3"):
                choice: dict[str, Any] = {"placement": placement, "estimator": estimator}
                choice |= {} if unbiased else {"unbiased_gradient": False}
                with suppress(ValidationError):
                    KLSpec.model_validate(choice)
                    accepted.append(choice)
    assert accepted == KL_CHOICES


def documented_kl(choice: dict[str, Any], policy: Any, reference: Any, states_of: Any = None) -> Tensor:
    """The KL whose gradient docs/explanation/ppo.md states.

    In the reward it is that of whole responses. In the loss it is that of each token with the states held fixed, and of
    the reversed pair for the plain k3.
    """
    if choice["placement"] == "reward":
        return -objective(policy, reference, 1.0) + objective(policy, reference, 0.0)
    own, theirs = (torch.log_softmax(p.score.weight.T, -1) for p in (policy, reference))
    if choice == {"placement": "loss", "estimator": "k3", "unbiased_gradient": False}:
        own, theirs = theirs, own
    return (visits(states_of or policy)[:, None] * own.exp() * (own - theirs)).sum()


@pytest.mark.parametrize("choice", KL_CHOICES, ids=lambda choice: "-".join(map(str, choice.values())))
@pytest.mark.parametrize(("distance", "nats"), [(0.07, 0.0007), (0.25, 0.01), (0.6, 0.06), (2.0, 0.4)])
def test_kl_choice_has_the_documented_gradient(choice: dict[str, Any], distance: float, nats: float) -> None:
    """Nothing else is optimised here: every score is 0. `distance` is how far the reference lies, which is `nats`."""
    cast = actors(quarters(0.25))
    step = torch.randn(2, STATES, generator=torch.Generator().manual_seed(7), dtype=torch.float64)
    cast.reference.score.weight.data = cast.policy.score.weight.detach() + distance * step
    cast = replace(cast, rewards=Rewards([WeightedReward("table", 1.0, TableReward([0.0] * 8))]))
    kl = documented_kl(choice, cast.policy, cast.reference)
    assert float(kl.detach()) == pytest.approx(nats, rel=0.5)
    exact = exact_gradient(kl, cast.policy)
    found = step_gradient(
        cast, kl={"coef": BETA, **choice}, advantage={"estimator": "reward_to_go", "normalize": "none"},
        policy_loss={"kind": "unclipped"},
    )  # fmt: skip
    error = float((found - BETA * exact / STEPS).norm() / (BETA * exact / STEPS).norm())
    assert error < 1e-4


@pytest.mark.parametrize("choice", KL_CHOICES[1:], ids=lambda choice: "-".join(map(str, choice.values())))
def test_tokens_of_another_sampler_are_weighed_in_the_kl_too(choice: dict[str, Any]) -> None:
    """The states are then the sampler's; the KL of each is the policy's own."""
    sampler, cast = quarters(0.25), actors(Table(2, 3))
    cast = replace(cast, rewards=Rewards([WeightedReward("table", 1.0, TableReward([0.0] * 8))]))
    spec = spec_of(
        kl={"coef": BETA, **choice}, advantage={"estimator": "sequence", "normalize": "none"},
        policy_loss={"kind": "unclipped"}, rollout={"importance_cap": 1e6},
    )  # fmt: skip
    context = context_of(cast, spec, CODEC)
    drawn = sample_responses(context, [PROMPT] * ALL, REPRESENTATIVE, sampler)
    found = gradient_on(score(context, [PROMPT] * ALL, drawn), cast, spec)
    exact = exact_gradient(documented_kl(choice, cast.policy, cast.reference, states_of=sampler), cast.policy)
    torch.testing.assert_close(found, BETA * exact / STEPS, rtol=1e-5, atol=1e-6)
    assert exact.abs().max() > 0.1


def test_the_entropy_bonus_adds_the_gradient_of_the_entropy() -> None:
    cast = actors(quarters(0.25))
    found = step_gradient(
        cast, advantage={"estimator": "sequence", "normalize": "none"}, kl={"coef": 0.0},
        policy_loss={"kind": "unclipped", "entropy_coef": 0.7},
    )  # fmt: skip
    own = torch.log_softmax(cast.policy.score.weight.T, -1)
    entropy = -(visits(cast.policy)[:, None] * own.exp() * own).sum()
    exact = exact_gradient(objective(cast.policy, cast.reference, 0.0) + 0.7 * entropy, cast.policy)
    torch.testing.assert_close(found, -exact / STEPS, rtol=1e-5, atol=1e-6)


def test_least_squares_gradient_is_that_of_the_regression() -> None:
    cast = actors(quarters(0.25))
    found = step_gradient(
        cast, 1.3, advantage={"estimator": "sequence", "normalize": "none", "baseline": "optimal_value"},
        policy_loss={"kind": "least_squares", "beta": 0.4}, kl={"coef": 0.0},
    )  # fmt: skip
    own, theirs = log_probabilities(cast.policy).sum(1), log_probabilities(cast.reference).sum(1)
    gaps = 0.4 * (own - theirs) - (torch.tensor(SCORES, dtype=torch.float64) - 1.3)
    exact = exact_gradient((own.detach().exp() * gaps**2).sum(), cast.policy)
    torch.testing.assert_close(found, exact, rtol=1e-5, atol=1e-6)
