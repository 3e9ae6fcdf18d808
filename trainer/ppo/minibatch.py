"""The gradient of one optimizer step, micro-batch by micro-batch."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from trainer.distributed.sharding import in_step
from trainer.models.sequences import (
    Batch,
    completion_logprobs,
    completion_logprobs_and_values,
    masked_sum,
    on_device,
    value_outputs,
)
from trainer.models.value_bins import bin_loss, outside
from trainer.optim.learner import require_finite_number
from trainer.optim.loss_scale import backward
from trainer.optim.micro_batches import BatchLimits
from trainer.ppo.critic_heads import of_owners
from trainer.ppo.experience import Experience
from trainer.ppo.kl import KLCoefficients, kl_loss
from trainer.ppo.learners import Learners
from trainer.ppo.losses import PolicyLoss, PolicyTokens, StepMean, policy_loss, value_loss
from trainer.rollout.correction import CorrectedTokens
from trainer.spec import PPOSpec

Sums = dict[str, Tensor]
Metrics = dict[str, float]
_MINIMISED = "minimised"
"""Key of the policy's whole loss among the sums. It is only checked for being finite and is no metric."""


@dataclass(frozen=True)
class MicroBatch:
    """Some responses of an optimizer step. Each tensor is cut to the longest of them."""

    batch: Batch
    mask_BR: Tensor
    old_logprobs_BR: Tensor | None
    """None if this pass computes them itself."""
    reference_logprobs_BR: Tensor
    advantages_BR: Tensor
    old_values_BR: Tensor | None
    """Those of the critic that learns from the response."""
    returns_BR: Tensor
    sampler_logprobs_BR: Tensor | None
    entropy_kept_BR: Tensor | None = None
    owners_B: Tensor | None = None
    """The one of several critics that learns from each response."""

    @classmethod
    def select(cls, experience: Experience, rows: Sequence[int]) -> "MicroBatch":
        """Take these rows of the experience."""
        scored, batch = experience.scored, experience.scored.batch.select(rows)
        mask_BR, rows_B = batch.mask_BR, on_device(rows, experience.advantages_BR.device)
        heads = experience.heads

        def cut(values_BR: Tensor) -> Tensor:
            return values_BR[rows_B, : mask_BR.shape[1]]

        def cut_any(values_BR: Tensor | None) -> Tensor | None:
            return None if values_BR is None else cut(values_BR)

        return cls(
            batch,
            mask_BR,
            cut_any(scored.old_logprobs_BR),
            cut(scored.reference_logprobs_BR),
            cut(experience.advantages_BR),
            cut_any(experience.values_BR if heads is None else heads.own_BR),
            cut(experience.returns_BR),
            cut_any(scored.sampler_logprobs_BR),
            cut_any(experience.entropy_kept_BR),
            None if heads is None else heads.owners_B[rows_B],
        )


class PerToken(NamedTuple):
    """Values of each token from the step's forward pass, (B, R) each, 0 outside the mask."""

    clipped_BR: Tensor
    """True where a clip decided the policy's loss."""
    old_logprobs_BR: Tensor
    """log π_old, also if this pass computes it."""
    logprobs_BR: Tensor
    """log π of this pass."""
    entropy_BR: Tensor
    """Entropy of π's distribution at the token."""


@dataclass(frozen=True)
class Minibatch:
    """The responses of one optimizer step, and how their losses are averaged over the step."""

    experience: Experience
    rows: list[int]
    rows_B: Tensor
    """The same rows, on the device."""
    spec: PPOSpec
    coefficients: KLCoefficients
    mean: StepMean
    token_mean: StepMean
    positive_mean: StepMean | None
    """Over the tokens of the responses of `ppo.positive_examples`."""

    @classmethod
    def select(
        cls, experience: Experience, rows: list[int], spec: PPOSpec, coefficients: KLCoefficients
    ) -> "Minibatch":
        """Take these rows of the experience."""
        rows_B = on_device(rows, experience.advantages_BR.device)
        lengths_B = experience.scored.batch.completion_lengths_B[rows_B]
        mean = StepMean.over(lengths_B, spec.policy_loss.averages_by, spec.max_new_tokens)
        token_mean, positive_mean = StepMean.over(lengths_B, "token_mean", 0), None
        if spec.positive_examples is not None:
            positive_B = experience.scored.totals_B[rows_B] > spec.positive_examples.above
            positive_mean = StepMean(positive_B.float(), (positive_B * lengths_B).sum().clamp(min=1))
        return cls(experience, rows, rows_B, spec, coefficients, mean, token_mean, positive_mean)

    def accumulate(self, learners: Learners, only_critic: bool) -> tuple[Metrics, PerToken]:
        """Add the gradients of the whole step. Return its metrics and the values of each token.

        The metrics are read from the device once, after the last micro-batch. The values are 0 if only the critic learns.
        Raises Diverged on all processes if a loss is not finite; the caller then drops the gradients.
        """
        sums: Sums = {}
        world, device, scored = learners.policy.world, self.rows_B.device, self.experience.scored
        rows_BR = scored.reference_logprobs_BR[self.rows_B]
        tokens_BR4 = rows_BR.new_zeros((*rows_BR.shape, len(PerToken._fields)))
        lengths = [scored.batch.lengths[row] for row in self.rows]
        mine = world.balanced_rows(lengths)
        learning = [None if only_critic else learners.policy.model, learners.critic and learners.critic.model]
        for at_once in in_step(
            BatchLimits.from_spec(self.spec).split([lengths[row] for row in mine]), world, *learning
        ):
            places = [mine[row] for row in at_once]
            where, part = (
                on_device(places, device),
                MicroBatch.select(self.experience, [self.rows[place] for place in places]),
            )
            if only_critic:
                added = self._backward_critic(learners, part, where)
            else:
                added, tokens = self._backward(learners, part, where)
                width = part.mask_BR.shape[1]
                tokens_BR4[where, :width] = torch.stack([values_BR.to(rows_BR) for values_BR in tokens], dim=2)
            for name, value in added.items():
                sums[name] = sums[name] + value if name in sums else value
        metrics = _finite(world.sum_numbers(sums))
        own_BR4 = tokens_BR4[on_device(mine, device)] if mine else None
        clipped_BR, *others_BR = world.gather_rows(own_BR4, mine, len(self.rows), device).unbind(2)
        return metrics, PerToken(clipped_BR.bool(), *others_BR)

    def _backward(self, learners: Learners, part: MicroBatch, where: Tensor) -> tuple[Sums, PerToken]:
        if learners.value_head is not None:
            return self._backward_shared_trunk(learners, part, where)
        if learners.critic is None:
            return self._backward_policy(learners, part, where)
        (metrics, tokens), value_metrics = learners.pair(
            lambda: self._backward_policy(learners, part, where), lambda: self._backward_critic(learners, part, where)
        )
        return metrics | value_metrics, tokens

    def _backward_policy(self, learners: Learners, part: MicroBatch, where: Tensor) -> tuple[Sums, PerToken]:
        policy, temperature = learners.policy.model, self.spec.temperature
        logprobs_BR, entropy_BR = completion_logprobs(policy, part.batch, temperature, with_entropy=True)
        assert entropy_BR is not None  # asked for
        loss, metrics, tokens = self._policy_terms(logprobs_BR, entropy_BR, part, where)
        backward(loss, policy)
        return metrics, tokens

    def _backward_shared_trunk(self, learners: Learners, part: MicroBatch, where: Tensor) -> tuple[Sums, PerToken]:
        """Train the policy and the value head by one pass of their trunk."""
        assert learners.value_head is not None
        logprobs_BR, entropy_BR, outputs = completion_logprobs_and_values(
            learners.policy.model, learners.value_head, part.batch, self.spec.temperature
        )
        policy_loss_, metrics, tokens = self._policy_terms(logprobs_BR, entropy_BR, part, where)
        value_loss_, value_metrics = self._value_terms(outputs, part, where)
        backward(policy_loss_ + self.spec.critic.coef * value_loss_, learners.policy.model)
        return metrics | value_metrics, tokens

    def _backward_critic(self, learners: Learners, part: MicroBatch, where: Tensor) -> Sums:
        """A value head trains without its trunk here: only a warm-up calls this for one, and it leaves the policy as it is."""
        if learners.value_head is not None:
            outputs = value_outputs(learners.value_head, part.batch, trunk_learns=False)
            loss, metrics = self._value_terms(outputs, part, where)
            backward(self.spec.critic.coef * loss, learners.policy.model)  # whose learner has the head
        else:
            assert learners.critic is not None  # the spec refuses a warm-up without a critic
            loss, metrics = self._value_terms(value_outputs(learners.critic.model, part.batch), part, where)
            backward(loss, learners.critic.model)
        return metrics

    def _policy_terms(
        self, logprobs_BR: Tensor, entropy_BR: Tensor, part: MicroBatch, where: Tensor
    ) -> tuple[Tensor, Sums, PerToken]:
        """Return the loss that the policy minimises, its metrics, and the values of each token."""
        spec, mask_BR = self.spec.policy_loss, part.mask_BR
        # in the only step of an iteration the policy is π_old itself, and every ratio is exactly 1
        old_BR = logprobs_BR.detach() if part.old_logprobs_BR is None else part.old_logprobs_BR
        denominator_BR, weights_BR, kept_BR = self._correct(logprobs_BR, old_BR, part)
        tokens = PolicyTokens(logprobs_BR, denominator_BR, part.reference_logprobs_BR, part.advantages_BR, mask_BR)
        kind = policy_loss(spec, self.coefficients.old_policy)
        loss, clipped_BR = kind.share(tokens, weights_BR, self.mean, where)
        metrics = {"policy_loss": loss.detach()}
        if self.spec.kl.placement == "loss" and self.coefficients.reference:
            kl_BR = kl_loss(
                self.spec.kl.estimator,
                logprobs_BR,
                part.reference_logprobs_BR,
                denominator_BR,
                self.spec.kl.unbiased_gradient,
            )
            kl = self.mean.share(kl_BR * weights_BR, mask_BR, where)
            loss, metrics["kl_loss"] = loss + self.coefficients.reference * kl, kl.detach()
        if spec.entropy_coef:
            kept_BR = kept_BR if part.entropy_kept_BR is None else kept_BR * part.entropy_kept_BR
            loss = loss - spec.entropy_coef * self.mean.share(entropy_BR * kept_BR, mask_BR, where)
        if self.spec.positive_examples is not None and self.positive_mean is not None:
            imitation = self.positive_mean.share(-logprobs_BR, mask_BR, where)
            loss, metrics["positive_loss"] = loss + self.spec.positive_examples.coef * imitation, imitation.detach()
        metrics[_MINIMISED] = loss.detach()
        moved = replace(tokens, old_logprobs_BR=old_BR)
        metrics |= self._policy_metrics(kind, moved, entropy_BR, clipped_BR)
        clipped_BR = torch.zeros_like(mask_BR) if clipped_BR is None else clipped_BR
        return loss, metrics, PerToken(clipped_BR, old_BR, logprobs_BR.detach(), entropy_BR.detach())

    def _correct(self, logprobs_BR: Tensor, old_logprobs_BR: Tensor, part: MicroBatch) -> CorrectedTokens:
        """Return the denominator of the loss's ratio and the weight of each token; π_old and 1 without a correction."""
        correction, sampler_BR = self.experience.scored.correction, part.sampler_logprobs_BR
        if correction is None or sampler_BR is None:
            return CorrectedTokens(old_logprobs_BR, 1.0, 1.0)
        return correction.apply(logprobs_BR, old_logprobs_BR, sampler_BR, part.mask_BR)

    @torch.no_grad()
    def _policy_metrics(
        self, kind: PolicyLoss, tokens: PolicyTokens, entropy_BR: Tensor, clipped_BR: Tensor | None
    ) -> Sums:
        """Return means over the step's tokens. `approxkl` is ½(log ρ)² (k2, Schulman 2020)."""
        log_ratio_BR = tokens.log_ratio_BR
        values = {"approxkl": 0.5 * log_ratio_BR**2, "ratio": log_ratio_BR.exp(), "entropy": entropy_BR}
        if clipped_BR is not None:
            values["clipfrac"] = clipped_BR.float()
        values |= kind.measure(tokens)
        divisor = self.token_mean.divisor
        return {name: masked_sum(values_BR, tokens.mask_BR) / divisor for name, values_BR in values.items()}

    def _value_terms(self, outputs: Tensor, part: MicroBatch, where: Tensor) -> tuple[Tensor, Sums]:
        """Return the value loss of a critic's `value_outputs`, and its metrics."""
        assert part.old_values_BR is not None  # there is a critic
        critic = self.spec.critic
        if part.owners_B is not None:
            outputs = of_owners(outputs, part.owners_B)
        if (bins := critic.classification) is not None:
            loss_BR, counted_BR = bin_loss(outputs, part.returns_BR, bins), outside(part.returns_BR, bins)
        else:
            # in units of σ: μ cancels in the errors
            scale, clip_range = self.experience.value_scale, critic.value_clip_range
            clip_range = None if clip_range is None else clip_range * scale
            loss_BR, counted_BR = value_loss(outputs, part.old_values_BR, part.returns_BR, part.mask_BR, clip_range)
            loss_BR = loss_BR / scale**2
        loss = self.token_mean.share(loss_BR, part.mask_BR, where)
        share = self.token_mean.share(counted_BR.float(), part.mask_BR, where)
        return loss, {"value_loss": loss.detach(), "value_clipfrac" if bins is None else "outside_bins": share}


def _finite(metrics: Metrics) -> Metrics:
    """Return the metrics without the whole loss. Raises Diverged if a loss is not finite; one micro-batch suffices."""
    for name, loss in ((_MINIMISED, "policy loss"), ("value_loss", "value loss")):
        require_finite_number(metrics.get(name, 0.0), loss)
    return {name: value for name, value in metrics.items() if name != _MINIMISED}
