"""The gradient of the kinds that read the ratio of the whole response, or fix it, against an enumeration, after the policy has moved."""

from math import prod
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

ALL = len(REPRESENTATIVE)
LOW, HIGH, BETA, CAP, GAP = 0.04, 0.06, 0.3, 1.2, 0.5
CORRECTIONS: list[dict[str, Any]] = [
    {"kind": "none"},
    {"kind": "truncated"},
    {"kind": "mask", "epsilon_low": 0.3, "epsilon_high": 0.5},
    {"kind": "sequence_truncated"},
    {"kind": "sequence_mask", "epsilon_low": 0.1, "epsilon_high": 0.25},
    {"denominator": "sampler"},
    {"kind": "sequence_mask", "epsilon_low": 0.1, "epsilon_high": 0.25, "denominator": "sampler"},
]


def policies(gap: float = 0.0) -> tuple[Table, Table, Table]:
    """The policy of this pass, π_old, and the sampler, which differs from π_old by `gap`."""
    sampler, old, now = quarters(0.25), Table(2, 3), Table(2, None)
    old.score.weight.data = sampler.score.weight.detach() + gap * old.score.weight.detach()
    noise = torch.randn(old.score.weight.shape, generator=torch.Generator().manual_seed(10), dtype=torch.float64)
    now.score.weight.data = old.score.weight.detach() + 0.3 * noise
    return now, old, sampler


def found_gradient(loss: dict[str, Any], gap: float = 0.0, **options: Any) -> Tensor:
    """The gradient of a pass after π_old has become the policy of this pass."""
    now, old, sampler = policies(gap)
    kind = {"clip_range": LOW, "clip_range_high": HIGH} | loss
    spec = spec_of(epochs=1, policy_loss=kind, **{"kl": {"coef": 0.0}} | options)
    cast = actors(old)
    context = context_of(cast, spec, CODEC)
    drawn = sample_responses(context, [PROMPT] * ALL, REPRESENTATIVE, sampler)
    scored = score(context, [PROMPT] * ALL, drawn)
    experience = build_experience(context, scored, kl_coef=spec.kl.coef, optimal_values=None)
    old.score.weight.data = now.score.weight.detach().clone()
    Minibatch.select(experience, list(range(ALL)), spec, KLCoefficients(0.0, 1.0)).accumulate(
        Learners.build(cast, spec), only_critic=False
    )
    return old.score.weight.grad


def factor(correction: dict[str, Any], old_ratios: list[float], ratios: list[float], t: int) -> float:
    """f of token t, from the formulas of the guide. With a bypass a mask reads the ratios of this pass."""
    bypass, kind = correction.get("denominator") == "sampler", correction.get("kind", "none")
    read = ratios if bypass else old_ratios
    ratio = prod(read) ** (1 / STEPS) if kind.startswith("sequence") else read[t]
    if kind.endswith("mask") and not 1 - correction["epsilon_low"] <= ratio <= 1 + correction["epsilon_high"]:
        return 0.0
    if bypass or kind == "none":
        return 1.0
    return min(ratio, CAP) if kind.endswith("truncated") else ratio


def weight_of(kind: str, ratios: list[float], t: int, advantage: float) -> float:
    """w of token t: s unless the clip ends the gradient of the response (GSPO), or the clipped ratio (CISPO)."""
    if kind == "cispo":
        return min(max(ratios[t], 1 - LOW), 1 + HIGH)
    ratio = prod(ratios) ** (1 / STEPS)
    return 0.0 if (ratio > 1 + HIGH if advantage > 0 else ratio < 1 - LOW) else ratio


def by_definition(kind: str, advantages: Tensor, correction: dict[str, Any] | None = None, gap: float = 0.0) -> Tensor:
    """E over the sampler's responses of f·A·w·∇log π, w from the formulas of the papers: −∇ of the loss."""
    (now, old, sampler), correction = policies(gap), correction or {}
    own, before, by = (log_probabilities(table) for table in (now, old, sampler))
    bypass, total = correction.get("denominator") == "sampler", torch.zeros((), dtype=torch.float64)
    for row in range(len(RESPONSES)):
        below = by if bypass else before
        ratios = (own - below).detach().exp()[row].tolist()
        old_ratios = (before - by).detach().exp()[row].tolist()
        likely = float(by[row].detach().sum().exp())
        for t in range(STEPS):
            advantage, f = float(advantages[row, t]), factor(correction, old_ratios, ratios, t)
            weight = weight_of(kind, ratios, t, advantage)
            total = total + likely * f * weight * advantage * own[row, t] / STEPS
    return exact_gradient(total, now)


def whole_scores() -> Tensor:
    return torch.tensor(SCORES, dtype=torch.float64)[:, None].expand(-1, STEPS)


WHOLE = {"estimator": "sequence", "normalize": "none"}


@pytest.mark.parametrize("correction", CORRECTIONS, ids=lambda value: "-".join(map(str, value.values())))
@pytest.mark.parametrize("kind", ["gspo", "cispo"])
def test_gradient_is_that_of_the_definition(kind: str, correction: dict[str, Any]) -> None:
    capped = {"importance_cap": CAP} if "truncated" in correction.get("kind", "") else {}
    rollout = {"correction": correction} | capped
    found = found_gradient({"kind": kind}, GAP, advantage=WHOLE, rollout=rollout)
    exact = by_definition(kind, whole_scores(), correction, GAP)
    assert float((found + exact).abs().max()) < 1e-6
    assert float(exact.abs().max()) > 0.02


@pytest.mark.parametrize("kind", ["gspo", "cispo"])
def test_each_token_learns_from_its_own_advantage(kind: str) -> None:
    """With the KL in the reward, the rewards to come differ between the tokens of a response."""
    _, old, _ = policies()
    found = found_gradient(
        {"kind": kind}, advantage={"estimator": "reward_to_go", "normalize": "none"}, kl={"coef": BETA}
    )
    gaps = log_probabilities(old).detach() - log_probabilities(actors(old).reference).detach()
    to_come = whole_scores() - BETA * gaps.flip(1).cumsum(1).flip(1)
    exact = by_definition(kind, to_come)
    assert float((found + exact).abs().max()) < 1e-6
    spread = by_definition(kind, to_come.mean(1, keepdim=True).expand(-1, STEPS))
    assert float((exact - spread).abs().max()) > 1e-3


def test_gspo_gradient_is_that_of_its_objective() -> None:
    """Zheng et al. (2025), eq. 5: s is differentiated as a whole there."""
    now, old, _ = policies()
    own, before = log_probabilities(now).sum(1), log_probabilities(old).sum(1).detach()
    ratio, scores = ((own - before) / STEPS).exp(), torch.tensor(SCORES, dtype=torch.float64)
    terms = torch.minimum(ratio * scores, ratio.clamp(1 - LOW, 1 + HIGH) * scores)
    assert bool(((ratio > 1 + HIGH) & (scores > 0)).any()) and bool(((ratio < 1 - LOW) & (scores < 0)).any())
    exact = exact_gradient((before.exp() * terms).sum(), now)
    found = found_gradient({"kind": "gspo"}, advantage=WHOLE)
    assert float((found + exact).abs().max()) < 1e-6
