"""The gradient of one optimizer step, micro-batch by micro-batch.

Shapes: B responses, R response positions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from trainer.distributed.sharding import in_step
from trainer.models.sequences import (
    Batch,
    completion_logprobs,
    completion_logprobs_and_values,
    completion_values,
    masked_sum,
    on_device,
)
from trainer.optim.learner import require_finite_number
from trainer.optim.micro_batches import Limits
from trainer.ppo.experience import Experience
from trainer.ppo.kl import kl_loss, old_policy_kl
from trainer.ppo.learners import Learners
from trainer.ppo.losses import StepMean, least_squares_loss, log_ratios, policy_loss, value_loss
from trainer.rollout.batch import importance_weights
from trainer.spec import PPOSpec

Sums = dict[str, Tensor]
Figures = dict[str, float]
_MINIMISED = "minimised"
"""Among the sums, all that the policy minimises; not a metric, as it is only asked whether it is finite."""


@dataclass(frozen=True)
class Coefficients:
    """The weights that may change between iterations."""

    kl: float
    """β of the KL to the reference, where it sits in the loss."""
    old_kl: float
    """β of the KL to the old policy, for `kl_penalty`."""


@dataclass(frozen=True)
class Part:
    """Some responses of an optimizer step, each tensor cut to the longest of them."""

    batch: Batch
    mask_BR: Tensor
    old_logprobs_BR: Tensor | None
    """None where this pass works them out itself."""
    reference_logprobs_BR: Tensor
    advantages_BR: Tensor
    old_values_BR: Tensor | None
    returns_BR: Tensor
    sampler_logprobs_BR: Tensor | None

    @classmethod
    def of(cls, experience: Experience, rows: Sequence[int]) -> "Part":
        scored, batch = experience.scored, experience.scored.batch.select(rows)
        mask_BR, rows_B = batch.mask_BR, on_device(rows, experience.advantages_BR.device)

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
            cut_any(experience.values_BR),
            cut(experience.returns_BR),
            cut_any(scored.sampler_logprobs_BR),
        )


class PerToken(NamedTuple):
    """Figures of each token from the step's forward pass, (B, R) each, 0 outside the mask."""

    clipped_BR: Tensor
    """True where a clip decided the policy's loss."""
    old_logprobs_BR: Tensor
    """log π_old, where this pass is the one that works it out; else 0."""


@dataclass(frozen=True)
class Minibatch:
    """The responses of one optimizer step, and how their losses are averaged over all of it."""

    experience: Experience
    rows: list[int]
    rows_B: Tensor
    """The same, on the device."""
    spec: PPOSpec
    coefficients: Coefficients
    mean: StepMean
    token_mean: StepMean

    @classmethod
    def of(cls, experience: Experience, rows: list[int], spec: PPOSpec, coefficients: Coefficients) -> "Minibatch":
        rows_B = on_device(rows, experience.advantages_BR.device)
        lengths_B = experience.scored.batch.completion_lengths_B[rows_B]
        mean = StepMean.over(lengths_B, spec.policy_loss.aggregation, spec.max_new_tokens)
        return cls(experience, rows, rows_B, spec, coefficients, mean, StepMean.over(lengths_B, "token_mean", 0))

    def accumulate(self, learners: Learners, only_critic: bool) -> tuple[Figures, PerToken]:
        """Add the gradients of the whole step; return its metrics and the figures of each token.

        The metrics are read from the device once, after the last micro-batch. Raises Diverged, on all processes, where a
        loss is not finite; the gradients are then to be dropped.
        """
        sums: Sums = {}
        world, device, scored = learners.policy.world, self.rows_B.device, self.experience.scored
        old_BR = torch.zeros_like(scored.reference_logprobs_BR[self.rows_B])
        clipped_BR = torch.zeros_like(old_BR, dtype=torch.bool)
        lengths = [scored.batch.lengths[row] for row in self.rows]
        mine = world.balanced_rows(lengths)
        learning = [None if only_critic else learners.policy.model, learners.critic and learners.critic.model]
        for at_once in in_step(Limits.from_spec(self.spec).split([lengths[row] for row in mine]), world, *learning):
            places = [mine[row] for row in at_once]
            where, part = on_device(places, device), Part.of(self.experience, [self.rows[place] for place in places])
            if only_critic:
                metrics = self._critic_alone(learners, part, where)
            else:
                metrics, found = self._everyone(learners, part, where)
                width = part.mask_BR.shape[1]
                clipped_BR[where, :width], old_BR[where, :width] = found
            for name, value in metrics.items():
                sums[name] = sums[name] + value if name in sums else value
        figures = _finite(world.sum_numbers(sums))

        def gathered(own_BR: Tensor) -> Tensor:
            return world.gather_rows(own_BR[on_device(mine, device)] if mine else None, mine, len(self.rows), device)

        clipped_BR = gathered(clipped_BR)
        return figures, PerToken(clipped_BR, gathered(old_BR) if scored.old_logprobs_BR is None else old_BR)

    def _everyone(self, learners: Learners, part: Part, where: Tensor) -> tuple[Sums, PerToken]:
        if learners.value_head is not None:
            return self._on_one_trunk(learners, part, where)
        if learners.critic is None:
            return self._policy_alone(learners, part, where)
        (metrics, tokens), value_metrics = learners.pair(
            lambda: self._policy_alone(learners, part, where), lambda: self._critic_alone(learners, part, where)
        )
        return metrics | value_metrics, tokens

    def _policy_alone(self, learners: Learners, part: Part, where: Tensor) -> tuple[Sums, PerToken]:
        policy, temperature = learners.policy.model, self.spec.temperature
        logprobs_BR, entropy_BR = completion_logprobs(policy, part.batch, temperature, with_entropy=True)
        assert entropy_BR is not None  # asked for
        loss, metrics, tokens = self._policy_terms(logprobs_BR, entropy_BR, part, where)
        loss.backward()
        return metrics, tokens

    def _on_one_trunk(self, learners: Learners, part: Part, where: Tensor) -> tuple[Sums, PerToken]:
        """Policy and value head from one pass of the trunk."""
        assert learners.value_head is not None
        logprobs_BR, entropy_BR, values_BR = completion_logprobs_and_values(
            learners.policy.model, learners.value_head, part.batch, self.spec.temperature
        )
        policy_loss_, metrics, tokens = self._policy_terms(logprobs_BR, entropy_BR, part, where)
        value_loss_, value_metrics = self._value_terms(values_BR, part, where)
        (policy_loss_ + self.spec.critic.coef * value_loss_).backward()
        return metrics | value_metrics, tokens

    def _critic_alone(self, learners: Learners, part: Part, where: Tensor) -> Sums:
        """In a warm-up the policy is not touched, so of a value head's trunk nothing is either."""
        if learners.value_head is not None:
            values_BR = completion_values(learners.value_head, part.batch, trunk_learns=False)
            loss, metrics = self._value_terms(values_BR, part, where)
            loss = self.spec.critic.coef * loss
        else:
            assert learners.critic is not None  # the spec refuses a warm-up without a critic
            loss, metrics = self._value_terms(completion_values(learners.critic.model, part.batch), part, where)
        loss.backward()
        return metrics

    def _policy_terms(
        self, logprobs_BR: Tensor, entropy_BR: Tensor, part: Part, where: Tensor
    ) -> tuple[Tensor, Sums, PerToken]:
        """The loss that the policy minimises, its metrics, and the figures of each token."""
        spec, mask_BR = self.spec.policy_loss, part.mask_BR
        # before the only step of an iteration the policy is π_old itself, and every ratio is exactly 1
        old_BR = logprobs_BR.detach() if part.old_logprobs_BR is None else part.old_logprobs_BR
        weights_BR = self._importance(old_BR, part)
        if spec.kind == "least_squares":
            clipped_BR = torch.zeros_like(mask_BR)
            losses_B = least_squares_loss(
                logprobs_BR, part.reference_logprobs_BR, part.advantages_BR, mask_BR, spec.beta
            )
            loss = losses_B.sum() / len(self.rows_B)
        else:
            loss_BR, clipped_BR = policy_loss(
                spec, logprobs_BR, old_BR, part.advantages_BR, mask_BR, self.coefficients.old_kl
            )
            loss = self.mean.share(loss_BR * weights_BR, mask_BR, where)
        metrics = {"policy_loss": loss.detach()}
        if self.spec.kl.placement == "loss" and self.coefficients.kl:
            kl_BR = kl_loss(
                self.spec.kl.estimator,
                logprobs_BR,
                part.reference_logprobs_BR,
                old_BR,
                self.spec.kl.unbiased_gradient,
            )
            kl = self.mean.share(kl_BR * weights_BR, mask_BR, where)
            loss, metrics["kl_loss"] = loss + self.coefficients.kl * kl, kl.detach()
        if spec.entropy_coef:
            loss = loss - spec.entropy_coef * self.mean.share(entropy_BR, mask_BR, where)
        metrics[_MINIMISED] = loss.detach()
        metrics |= self._policy_metrics(logprobs_BR, old_BR, entropy_BR, clipped_BR, part)
        return loss, metrics, PerToken(clipped_BR, old_BR)

    def _importance(self, old_logprobs_BR: Tensor, part: Part) -> Tensor | float:
        """What each token's loss is multiplied by: 1 where tokens are not weighed."""
        cap = self.experience.scored.importance_cap
        if cap is None or part.sampler_logprobs_BR is None:
            return 1.0
        return importance_weights(old_logprobs_BR, part.sampler_logprobs_BR, cap)

    @torch.no_grad()
    def _policy_metrics(
        self, logprobs_BR: Tensor, old_BR: Tensor, entropy_BR: Tensor, clipped_BR: Tensor, part: Part
    ) -> Sums:
        """Means over the step's tokens. `approxkl` is ½(log ρ)² (k2, Schulman 2020)."""
        mask_BR, tokens = part.mask_BR, self.token_mean.divisor
        log_ratio_BR = log_ratios(logprobs_BR, old_BR, mask_BR)
        metrics = {
            "approxkl": masked_sum(0.5 * log_ratio_BR**2, mask_BR) / tokens,
            "ratio": masked_sum(log_ratio_BR.exp(), mask_BR) / tokens,
            "entropy": masked_sum(entropy_BR, mask_BR) / tokens,
        }
        if self.spec.policy_loss.kind == "clipped":
            metrics["clipfrac"] = masked_sum(clipped_BR.float(), mask_BR) / tokens
        if self.spec.policy_loss.kind == "kl_penalty":
            metrics["old_kl"] = masked_sum(old_policy_kl(log_ratio_BR), mask_BR) / tokens
        return metrics

    def _value_terms(self, values_BR: Tensor, part: Part, where: Tensor) -> tuple[Tensor, Sums]:
        assert part.old_values_BR is not None  # there is a critic
        loss_BR, clipped_BR = value_loss(
            values_BR, part.old_values_BR, part.returns_BR, part.mask_BR, self.spec.critic.value_clip_range
        )
        loss = self.token_mean.share(loss_BR, part.mask_BR, where)
        clipfrac = self.token_mean.share(clipped_BR.float(), part.mask_BR, where)
        return loss, {"value_loss": loss.detach(), "value_clipfrac": clipfrac}


def _finite(figures: Figures) -> Figures:
    """The metrics alone. Raises Diverged where a loss is not finite: of one micro-batch, then of their sum too."""
    for name, loss in ((_MINIMISED, "policy loss"), ("value_loss", "value loss")):
        require_finite_number(figures.get(name, 0.0), loss)
    return {name: value for name, value in figures.items() if name != _MINIMISED}
