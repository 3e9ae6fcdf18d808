"""The gradient of each correction against an enumeration of the sampler's eight responses."""

from typing import Any

import pytest
import torch
from torch import Tensor

from tests.trainer.ppo.test_toy_gradient import exact_gradient, spec_of
from tests.trainer.ppo.toy import (
    CODEC,
    PROMPT,
    REPRESENTATIVE,
    RESPONSES,
    SCORES,
    STEPS,
    Table,
    actors,
    log_probabilities,
    quarters,
)
from tests.trainer.stage_tools import context_of
from trainer.ppo.experience import build_experience
from trainer.ppo.kl import KLCoefficients
from trainer.ppo.learners import Learners
from trainer.ppo.minibatch import Minibatch
from trainer.rollout.batch import sample_responses, score
from trainer.rollout.context import PPOModels

ALL = len(REPRESENTATIVE)
CHOICES: list[dict[str, Any]] = [
    {"kind": "none"},
    {"kind": "truncated"},
    {"kind": "mask", "epsilon_low": 0.3, "epsilon_high": 0.5},
    {"kind": "sequence_truncated"},
    {"kind": "sequence_mask", "epsilon_low": 0.1, "epsilon_high": 0.25},
    {"denominator": "sampler"},
    {"kind": "mask", "epsilon_low": 0.3, "epsilon_high": 0.5, "denominator": "sampler"},
    {"kind": "sequence_mask", "epsilon_low": 0.1, "epsilon_high": 0.25, "denominator": "sampler"},
    {"kind": "truncated", "denominator": "interpolated"},
    {"kind": "mask", "epsilon_low": 0.3, "epsilon_high": 0.5, "denominator": "interpolated"},
    {"kind": "sequence_truncated", "denominator": "interpolated"},
]
AGE = 3
"""Age of the responses, for the interpolation: log π_prox = ¼ log μ + ¾ log π."""
CAP = 1.2


def gradient(cast: PPOModels, sampler: Table, moved: Tensor, aggregation: str, correction: dict[str, Any]) -> Tensor:
    """The gradient of the update's pass after the policy has moved by `moved` since it was π_old."""
    capped = {"importance_cap": CAP} if "truncated" in correction.get("kind", "") else {}
    spec = spec_of(
        kl={"coef": 0.0}, epochs=1, advantage={"estimator": "sequence", "normalize": "none"},
        policy_loss={"kind": "unclipped", "aggregation": aggregation}, rollout={"correction": correction, "staleness": 4 if correction.get("denominator") == "interpolated" else None} | capped,
    )  # fmt: skip
    context = context_of(cast, spec, CODEC)
    drawn = sample_responses(context, [PROMPT] * ALL, REPRESENTATIVE, sampler)
    experience = build_experience(
        context, score(context, [PROMPT] * ALL, drawn, age=AGE), kl_coef=0.0, optimal_values=None
    )
    cast.policy.score.weight.data += moved
    Minibatch.select(experience, list(range(ALL)), spec, KLCoefficients(0.0, 1.0)).accumulate(
        Learners.build(cast, spec), only_critic=False
    )
    return cast.policy.score.weight.grad


def by_definition(policy: Table, old: Table, sampler: Table, correction: dict[str, Any]) -> Tensor:
    """E over the sampler's responses of the sum of f·(π/denominator)·score over tokens, from the formulas of the guide."""
    now, before, by = log_probabilities(policy), log_probabilities(old).detach(), log_probabilities(sampler).detach()
    bypass, kind = correction.get("denominator") == "sampler", correction.get("kind", "none")
    total = torch.zeros((), dtype=torch.float64)
    for row in range(len(RESPONSES)):
        if correction.get("denominator") == "interpolated":
            before = 0.25 * by + 0.75 * now.detach()
        above = now.detach() if bypass else before
        ratios = [float((above[row, t] - by[row, t]).exp()) for t in range(STEPS)]
        if kind.startswith("sequence"):
            ratios = [(ratios[0] * ratios[1] * ratios[2]) ** (1 / 3)] * STEPS
        low, high = 1 - correction.get("epsilon_low", 0.5), 1 + correction.get("epsilon_high", 1.0)
        for t, ratio in enumerate(ratios):
            inside = low <= ratio <= high
            factor = 1.0 if bypass or kind == "none" else ratio
            factor = min(factor, CAP) if kind.endswith("truncated") else factor
            factor = 0.0 if kind.endswith("mask") and not inside else factor
            below = by if bypass else before
            total = total + float(by[row].sum().exp()) * factor * (now[row, t] - below[row, t]).exp() * SCORES[row]
    return total


@pytest.mark.parametrize("aggregation", ["token_mean", "sequence_mean", "fixed_length"])
@pytest.mark.parametrize("correction", CHOICES, ids=lambda value: "-".join(map(str, value.values())))
def test_correction_has_the_gradient_of_its_definition(correction: dict[str, Any], aggregation: str) -> None:
    generator = torch.Generator().manual_seed(11)
    sampler, old = quarters(0.25), Table(2, 3)
    old.score.weight.data = sampler.score.weight.detach() + 0.5 * old.score.weight.detach()
    moved = 0.2 * torch.randn(old.score.weight.shape, generator=generator, dtype=torch.float64)
    policy, now = Table(2, None), Table(2, None)
    policy.score.weight.data = old.score.weight.detach().clone()
    now.score.weight.data = old.score.weight.detach() + moved
    found = gradient(actors(policy), sampler, moved, aggregation, correction)
    exact = exact_gradient(by_definition(now, old, sampler, correction), now)
    assert float((found + exact / STEPS).abs().max()) < 1e-6
    assert float(exact.abs().max()) > 0.05


def test_choices_differ_in_their_gradients() -> None:
    """So that no two kinds can be exchanged without a failure of the test above."""
    sampler, old = quarters(0.25), Table(2, 3)
    old.score.weight.data = sampler.score.weight.detach() + 0.5 * old.score.weight.detach()
    found = [exact_gradient(by_definition(old, old, sampler, choice), old) for choice in CHOICES]
    distances = [float((a - b).abs().max()) for i, a in enumerate(found[:5]) for b in found[:i]]
    assert min(distances) > 1e-3


def test_masked_tokens_have_no_entropy_gradient_either() -> None:
    """With a band that no token is in, nothing at all is learned."""
    spec = spec_of(
        kl={"coef": 0.3, "placement": "loss", "estimator": "k3"}, epochs=1,
        advantage={"estimator": "sequence", "normalize": "none"}, policy_loss={"entropy_coef": 0.5},
        rollout={"correction": {"kind": "mask", "epsilon_low": 1e-9, "epsilon_high": 1e-9}},
    )  # fmt: skip
    cast = actors(Table(2, 3))
    context = context_of(cast, spec, CODEC)
    drawn = sample_responses(context, [PROMPT] * ALL, REPRESENTATIVE, quarters(0.25))
    experience = build_experience(context, score(context, [PROMPT] * ALL, drawn), kl_coef=0.3, optimal_values=None)
    minibatch = Minibatch.select(experience, list(range(ALL)), spec, KLCoefficients(0.3, 1.0))
    minibatch.accumulate(Learners.build(cast, spec), only_critic=False)
    assert float(cast.policy.score.weight.grad.abs().max()) == 0


def test_bypass_measures_the_update_against_the_old_policy() -> None:
    """`approxkl` and the ratio stay those of π/π_old: 0 and 1 on the first minibatch."""
    spec = spec_of(
        kl={"coef": 0.0}, advantage={"estimator": "sequence", "normalize": "none"},
        rollout={"correction": {"denominator": "sampler"}},
    )  # fmt: skip
    cast = actors(Table(2, 3))
    context = context_of(cast, spec, CODEC)
    drawn = sample_responses(context, [PROMPT] * ALL, REPRESENTATIVE, quarters(0.25))
    experience = build_experience(context, score(context, [PROMPT] * ALL, drawn), kl_coef=0.0, optimal_values=None)
    minibatch = Minibatch.select(experience, list(range(ALL)), spec, KLCoefficients(0.0, 1.0))
    metrics, tokens = minibatch.accumulate(Learners.build(cast, spec), only_critic=False)
    assert (metrics["ratio"], metrics["approxkl"]) == (pytest.approx(1.0), pytest.approx(0.0, abs=1e-12))
    torch.testing.assert_close(tokens.old_logprobs_BR, experience.scored.logprobs_BR.to(tokens.old_logprobs_BR))
