"""The experience of one iteration: rewards per token, values, advantages and returns of a scored batch."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from trainer.models import Model, present
from trainer.models.heads import learned_outputs, scalar_head
from trainer.models.sequences import Batch, completion_values, masked_whiten, state_values, value_outputs
from trainer.optim.micro_batches import BatchLimits
from trainer.ppo.advantages import (
    gae,
    group_deviations,
    group_means,
    group_places,
    held_after_the_end,
    length_adaptive_lambda,
    rewards_to_go,
)
from trainer.ppo.critic_heads import HeadValues, highest, lowest, owners
from trainer.rollout.batch import ScoredBatch, forward_in_parts
from trainer.rollout.context import PPOContext
from trainer.rollout.refill import differs
from trainer.rollout.shaping import scaled_to_unit_variance, shaped_scores, shaped_tokens, token_rewards
from trainer.spec import CriticHeadsSpec, PPOSpec, TeacherSpec

_GROUP_STD_EPS = 1e-4
"""Added to a group's standard deviation, as in TRL: equal scores give no advantage, and rounding no large one."""


@dataclass(frozen=True)
class Experience:
    """The data that one PPO iteration learns from. Everything per token is 0 outside the mask."""

    scored: ScoredBatch
    shaped_B: Tensor
    """The shaped score: the sum of the rewards on the response's tokens without the KL."""
    rewards_BR: Tensor
    values_BR: Tensor | None
    """V of the state before each token; None without a critic."""
    advantages_BR: Tensor
    returns_BR: Tensor
    """The targets of the critic; without a critic, the returns before the baseline."""
    heads: HeadValues | None = None
    """The values of each of several critics; None of one critic."""
    entropy_kept_BR: Tensor | None = None
    """False at the tokens that the entropy bonus leaves out; None: it leaves out none."""
    masked_BR: Tensor | None = None
    """True at the tokens whose advantage was masked; None: none was."""
    value_scale: float = 1.0
    """σ, by which the errors of the critic are divided (`ppo.critic.normalization`)."""

    @property
    def disagreement_shares(self) -> dict[str, float]:
        """The shares of the tokens that the disagreement of several critics has chosen, as metrics."""
        mask_BR, found = self.scored.batch.mask_BR, dict[str, float]()
        if self.masked_BR is not None:
            found["policy/masked_advantages"] = float(self.masked_BR[mask_BR].float().mean())
        if self.entropy_kept_BR is not None:
            found["policy/filtered_entropy"] = 1 - float(self.entropy_kept_BR[mask_BR].float().mean())
        return found


def learnable(scored: ScoredBatch, spec: PPOSpec, optimal_values: Sequence[float] | None = None) -> ScoredBatch | None:
    """The responses that an iteration learns from; None without any.

    A response is left out if it has no total, or if V* of its prompt is the baseline and unknown (NaN). It is also left
    out if it is compared with its group and no other response of the group is left, or, with `ppo.rollout.refill`, none with
    another score.
    """
    rows = scored.rewards.complete
    if optimal_values is not None:
        rows = [row for row in rows if not math.isnan(optimal_values[row])]
    if spec.compares_in_groups:
        groups, refill = group_places(rows, spec.samples_per_prompt), spec.rollout.refill
        groups = [[rows[place] for place in places] for places in groups if len(places) > 1]
        if refill is not None:
            totals = scored.rewards.totals
            groups = [group for group in groups if differs([totals[row] for row in group], refill.tolerance)]
        rows = [row for group in groups for row in group]
    return scored.select(rows) if rows else None


@torch.no_grad()
def build_experience(
    context: PPOContext,
    scored: ScoredBatch,
    *,
    kl_coef: float,
    score_scale: float = 1.0,
    optimal_values: Sequence[float] | None = None,
) -> Experience:
    """Shape the scores, add the KL if it is part of the reward, and compute values, advantages and returns.

    `optimal_values` holds V* of each response's prompt, for `ppo.advantage.baseline` = "optimal_value".
    """
    spec, critic = context.spec, context.models.critic
    mask_BR = scored.batch.mask_BR
    ends_B, tokens_BR = _shaped(scored, spec, score_scale)
    kl_BR = scored.kl_BR if spec.kl.in_reward else torch.zeros_like(scored.reference_logprobs_BR)
    rewards_BR = token_rewards(ends_B, kl_BR, mask_BR, kl_coef)
    shaped_B = ends_B
    if tokens_BR is not None:
        rewards_BR, shaped_B = rewards_BR + tokens_BR, ends_B + tokens_BR.sum(1)
    if spec.shaping.whiten_rewards:
        rewards_BR = scaled_to_unit_variance(rewards_BR, mask_BR)
    if critic is None:
        values_BR = heads = None
        advantages_BR, returns_BR = _against_a_baseline(rewards_BR, mask_BR, spec, optimal_values, scored.rows)
    else:
        values_BR, after_B, heads = _values(critic, scored, context)
        lam = policy_lambda(scored.batch.completion_lengths_B, spec)
        advantages_BR, returns_BR = gae(rewards_BR, values_BR, mask_BR, spec.advantage.gamma, lam, after_B)
        if (critic_lam := spec.critic_lambda) is not None:
            _, returns_BR = gae(rewards_BR, values_BR, mask_BR, spec.advantage.gamma, critic_lam, after_B)
    if spec.advantage.normalize == "whiten":
        advantages_BR = masked_whiten(advantages_BR, mask_BR, spec.advantage.whiten_floor)
    found = Experience(scored, shaped_B, rewards_BR, values_BR, advantages_BR, returns_BR, heads)
    if heads is not None and spec.critic.heads is not None:
        found = _by_disagreement(found, heads, spec.critic.heads)
    return found if spec.teacher is None else _with_teacher(found, spec.teacher)


def _with_teacher(experience: Experience, spec: TeacherSpec) -> Experience:
    """Add `coef`·Σₖ discountᵏ·(log π_teacher − log π_old) of the tokens from each one on to its advantage.

    The discount 0 leaves the token's own log-ratio. Its expected product with ∇log π is −∇KL(π ‖ π_teacher) of the token's
    distribution, with the states as constants. This is on-policy distillation as in GKD (Agarwal et al. 2024), which does not
    differentiate the sampling. The discount 1 is the policy gradient of the KL of whole responses (Gu et al. 2023, MiniLLM).
    """
    kl_BR, mask_BR = experience.scored.teacher_kl_BR, experience.scored.batch.mask_BR
    assert kl_BR is not None  # the models have the teacher that the spec names
    log_ratios_BR = torch.where(mask_BR, -kl_BR, torch.zeros_like(kl_BR))
    later_BR = rewards_to_go(log_ratios_BR, mask_BR, spec.discount) if spec.discount else log_ratios_BR
    return replace(experience, advantages_BR=experience.advantages_BR + spec.coef * later_BR)


def _by_disagreement(experience: Experience, heads: HeadValues, spec: CriticHeadsSpec) -> Experience:
    """Drop the advantages on which the critics agree most, and the entropy bonus where they agree least."""
    mask_BR, advantages_BR = experience.scored.batch.mask_BR, experience.advantages_BR
    masked_BR = kept_BR = None
    if spec.mask_advantages is not None:
        masked_BR = lowest(heads.disagreement_BR, mask_BR, spec.mask_advantages)
        advantages_BR = advantages_BR.masked_fill(masked_BR, 0.0)
    if spec.filter_entropy is not None:
        kept_BR = ~highest(heads.disagreement_BR, mask_BR, spec.filter_entropy)
    return replace(experience, advantages_BR=advantages_BR, entropy_kept_BR=kept_BR, masked_BR=masked_BR)


def _shaped(scored: ScoredBatch, spec: PPOSpec, scale: float) -> tuple[Tensor, Tensor | None]:
    """The shaped reward of each response's last token (B,), and of each token (B, R) if a reward is per token."""
    ends_B, tokens_BR, finished_B = scored.ends_B, scored.tokens_BR, scored.finished_B
    if scored.is_unscored:
        return ends_B, None
    if spec.advantage.bootstrap_truncated:  # the value after the cut replaces the score
        ends_B = torch.where(finished_B, ends_B, torch.zeros_like(ends_B))
    lengths_B, longest = scored.batch.completion_lengths_B, spec.max_new_tokens
    ends_B = shaped_scores(ends_B, finished_B, lengths_B, spec.shaping, longest, scale)
    return ends_B, None if tokens_BR is None else shaped_tokens(tokens_BR, finished_B, spec.shaping, scale)


def _values(critic: Model, scored: ScoredBatch, context: PPOContext) -> tuple[Tensor, Tensor | None, HeadValues | None]:
    """V before each token (B, R), and the values of each of several critics.

    With `bootstrap_truncated`, also V after the last token of each cut-off response (B,).
    """
    batch, spec, size = scored.batch, context.spec, BatchLimits.from_spec(context.spec)
    several, bootstraps = spec.critic.heads, spec.advantage.bootstrap_truncated

    def forward(part: Batch) -> Tensor:
        if bootstraps:
            return state_values(critic, part, scalar_head if several is None else learned_outputs)
        return completion_values(critic, part) if several is None else value_outputs(critic, part)

    with present(critic):
        states = forward_in_parts(forward, batch, size, context.world)
    before, heads, after_B = states, None, None
    if bootstraps:
        mask = batch.mask_BR if several is None else batch.mask_BR[..., None]
        before = torch.where(mask, states[:, :-1], torch.zeros_like(states[:, :-1]))
    if several is not None:
        heads = HeadValues(before, owners(scored, spec, several))
        before, states = heads.mean_BR, states.mean(-1)
    if bootstraps:
        after_B = states.gather(1, batch.completion_lengths_B[:, None]).squeeze(1)
        after_B = torch.where(scored.finished_B, torch.zeros_like(after_B), after_B)
    return before, after_B, heads


def policy_lambda(lengths_B: Tensor, spec: PPOSpec) -> float | Tensor:
    """λ of the advantages: one number, or one per response (B,)."""
    alpha = spec.advantage.length_adaptive
    return spec.advantage.gae_lambda if alpha is None else length_adaptive_lambda(lengths_B, alpha)


def _against_a_baseline(
    rewards_BR: Tensor,
    mask_BR: Tensor,
    spec: PPOSpec,
    optimal_values: Sequence[float] | None,
    rows: Sequence[int] | None,
) -> tuple[Tensor, Tensor]:
    """Advantages and returns without a critic: the return from each token on, or of the whole response, less a baseline."""
    to_go_BR = rewards_to_go(rewards_BR, mask_BR, spec.advantage.gamma)
    whole_B, returns_BR = to_go_BR[:, 0], _returns(to_go_BR, mask_BR, spec)
    advantages_BR = returns_BR - _baseline(returns_BR, spec, optimal_values, rows)
    if spec.advantage.normalize == "group_std":
        deviations_B = group_deviations(whole_B, spec.samples_per_prompt, rows)
        advantages_BR = advantages_BR / (deviations_B[:, None] + _GROUP_STD_EPS)
    nothing_BR = torch.zeros_like(to_go_BR)
    return torch.where(mask_BR, advantages_BR, nothing_BR), torch.where(mask_BR, returns_BR, nothing_BR)


def _returns(to_go_BR: Tensor, mask_BR: Tensor, spec: PPOSpec) -> Tensor:
    """The return of each token for an estimator without a critic, (B, R), continued after the end of the response."""
    match spec.advantage.estimator:
        case "sequence":
            return to_go_BR[:, :1].expand_as(to_go_BR)
        case "reward_to_go":
            return held_after_the_end(to_go_BR, mask_BR)
        case "gae":
            raise AssertionError("GAE has a critic")


def _baseline(
    returns_BR: Tensor, spec: PPOSpec, optimal_values: Sequence[float] | None, rows: Sequence[int] | None
) -> Tensor:
    """The baseline that is subtracted from the returns: (B, R), or broadcast to it."""
    match spec.advantage.baseline:
        case "none":
            return torch.zeros_like(returns_BR)
        case "batch_mean":
            return returns_BR.mean(0, keepdim=True)
        case "optimal_value":
            assert optimal_values is not None  # computed before the first iteration
            return returns_BR.new_tensor(optimal_values)[:, None]
        case "leave_one_out":
            return group_means(returns_BR, spec.samples_per_prompt, leave_one_out=True, rows=rows)
        case "group_mean":
            return group_means(returns_BR, spec.samples_per_prompt, rows=rows)
