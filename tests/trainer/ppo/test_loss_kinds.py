"""The tables of policy losses: no kind lacks a part that the log, the metrics and the health rules ask for."""

import math
from dataclasses import replace
from typing import get_args

import pytest
import torch
from torch import Tensor

from tests.trainer.ppo.test_update_steps import by_hand
from tests.trainer.ppo.tools import iterate, spec_of
from tests.trainer.stage_tools import new_codec
from trainer.health.rules import RULES
from trainer.metrics import METRICS
from trainer.ppo.iteration_log import token_tables, update_metrics
from trainer.ppo.kl import KLCoefficients
from trainer.ppo.losses import LOSSES, PolicyTokens, StepMean, TokenPolicyLoss, policy_loss
from trainer.ppo.minibatch import Minibatch, PerToken
from trainer.spec import PolicyLossSpec, PPOSpec
from trainer.spec.ppo_loss import LOSS_KINDS, LossName

KINDS = get_args(LossName)
OF_EVERY_KIND = {"kind", "entropy_coef", "aggregation"}
MASK = torch.tensor([[True, True, False], [True, True, True]])
ADVANTAGES = torch.tensor([[2.0, 2.0, 0.0], [-1.0, -1.0, -1.0]])


def ppo_of(kind: LossName) -> PPOSpec:
    """Four optimizer steps, without the spec's check that the advantage fits the loss."""
    return spec_of().model_copy(update={"policy_loss": PolicyLossSpec(kind=kind)})


def moved_tokens(mask_BR: Tensor, logprobs_BR: Tensor | None = None) -> PolicyTokens:
    """A policy that has tripled the probability of what was good, and cut that of what was bad to a third."""
    moved_BR = math.log(3) * torch.where(ADVANTAGES < 0, -1.0, 1.0) if logprobs_BR is None else logprobs_BR
    return PolicyTokens(moved_BR, torch.zeros(2, 3), torch.full((2, 3), 0.3), ADVANTAGES, mask_BR)


def share_of(kind: LossName, tokens: PolicyTokens, weight: float = 1.0) -> tuple[Tensor, Tensor | None]:
    mean = StepMean.over(tokens.mask_BR.sum(1), "token_mean", 0)
    return policy_loss(PolicyLossSpec(kind=kind)).share(tokens, weight, mean, slice(0, 2))


def minibatch_metrics(kind: LossName) -> tuple[dict[str, Tensor], PerToken]:
    minibatch, part = by_hand()
    minibatch = replace(minibatch, spec=ppo_of(kind))
    moved_BR = minibatch.experience.scored.logprobs_BR + math.log(3)
    _, metrics, tokens = minibatch._policy_terms(moved_BR, torch.zeros(2, 3), part, torch.tensor([0, 1]))
    return metrics, tokens


def test_both_tables_name_every_kind_of_the_spec() -> None:
    assert list(LOSS_KINDS) == list(LOSSES) == list(KINDS)


def test_every_field_belongs_to_all_kinds_or_is_an_option() -> None:
    options = {name for kind in LOSS_KINDS.values() for name in kind.options}
    assert options == set(PolicyLossSpec.model_fields) - OF_EVERY_KIND


@pytest.mark.parametrize("kind", KINDS)
def test_aggregation_of_a_kind_holds_in_an_optimizer_step(kind: LossName) -> None:
    experience = by_hand()[0].experience
    lengths = experience.scored.batch.completion_lengths_B
    assert len(set(lengths.tolist())) > 1
    mean = Minibatch.select(experience, list(range(len(lengths))), ppo_of(kind), KLCoefficients(0.0, 1.0)).mean
    expected = StepMean.over(lengths, LOSS_KINDS[kind].aggregation or "token_mean", 0)
    assert torch.equal(mean.weights_B, expected.weights_B) and torch.equal(mean.divisor, expected.divisor)


@pytest.mark.parametrize("kind", KINDS)
def test_kind_reports_clipped_tokens_if_it_has_a_clip(kind: LossName) -> None:
    metrics, tokens = minibatch_metrics(kind)
    clipped = LOSS_KINDS[kind].clips
    assert ("clipfrac" in metrics and float(metrics["clipfrac"]) > 0) == clipped
    assert bool(tokens.clipped_BR.any()) == clipped


@pytest.mark.parametrize("kind", KINDS)
def test_token_table_has_a_clip_column_if_kind_clips(kind: LossName) -> None:
    _, _, result = iterate(spec_of(epochs=1, minibatches=1))
    table = token_tables(result, new_codec().tokenizer, ppo_of(kind))[0]
    assert all((row.clipped is not None) == LOSS_KINDS[kind].clips for row in table)


@pytest.mark.parametrize("kind", KINDS)
def test_rule_of_the_clip_fraction_applies_if_kind_clips(kind: LossName) -> None:
    assert RULES["clipfrac_zero"].applies(ppo_of(kind), 1) == LOSS_KINDS[kind].clips


@pytest.mark.parametrize("kind", KINDS)
def test_metrics_of_a_kind_are_measured_and_explained(kind: LossName) -> None:
    metrics, _ = minibatch_metrics(kind)
    own = LOSSES[kind].metrics
    assert set(policy_loss(PolicyLossSpec(kind=kind)).measure(moved_tokens(MASK))) == set(own) <= set(metrics)
    logged = update_metrics([{name: float(value) for name, value in metrics.items()}])
    explained = {metric.name for metric in METRICS if metric.stage == "ppo"}
    assert set(own.values()) <= set(logged) & explained


@pytest.mark.parametrize("kind", KINDS)
def test_only_losses_of_tokens_take_importance_weights(kind: LossName) -> None:
    loss, heavy = (float(share_of(kind, moved_tokens(MASK), weight)[0]) for weight in (1.0, 2.0))
    assert heavy == pytest.approx(2 * loss if LOSS_KINDS[kind].per_token else loss)
    assert issubclass(LOSSES[kind], TokenPolicyLoss) == LOSS_KINDS[kind].per_token


@pytest.mark.parametrize("kind", KINDS)
def test_loss_trains_every_token_and_no_pad(kind: LossName) -> None:
    logprobs = torch.tensor([[0.05, 0.05, math.nan], [-0.05, -0.05, -0.05]], requires_grad=True)
    loss, clipped = share_of(kind, moved_tokens(MASK, logprobs))
    (gradient,) = torch.autograd.grad(loss, logprobs)
    assert torch.equal(gradient != 0, MASK)
    assert clipped is None or not clipped[~MASK].any()


@pytest.mark.parametrize("kind", KINDS)
def test_kind_that_holds_the_reference_depends_on_it(kind: LossName) -> None:
    tokens = moved_tokens(MASK)
    near, far = (
        share_of(kind, replace(tokens, reference_logprobs_BR=torch.full((2, 3), value)))[0] for value in (0.3, 0.9)
    )
    assert (float(near) != float(far)) == LOSS_KINDS[kind].holds_reference
    assert "beta" in LOSS_KINDS[kind].options or not LOSS_KINDS[kind].holds_reference
