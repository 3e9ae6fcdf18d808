"""PPO's update: several passes over one batch of experience, in minibatches, one optimizer step each."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import torch
from torch import Tensor

from trainer.errors import Diverged
from trainer.hangs import phase
from trainer.models.sequences import masked_mean
from trainer.ppo.experience import Experience
from trainer.ppo.kl import KLCoefficients, old_policy_kl
from trainer.ppo.learners import Learners
from trainer.ppo.losses import log_ratios
from trainer.ppo.minibatch import Minibatch, PerToken
from trainer.ppo.ptx import Pretraining
from trainer.randomness import generator
from trainer.rollout.batch import response_logprobs
from trainer.rollout.context import PPOContext
from trainer.spec import GuardsSpec, PPOSpec


@dataclass(frozen=True)
class UpdateResult:
    """The outcome of one update."""

    experience: Experience
    """The experience that was learned from, now with π_old."""
    history: list[dict[str, float]]
    """Metrics of each minibatch, in order: without a gradient norm if its step was not taken, empty if it was skipped."""
    last_pass: PerToken | None
    """Values of each token in the last pass over its response; None if only the critic learned."""
    cut_steps_left: int
    """Optimizer steps that remain at a cut learning rate."""
    rate_factor: float
    """Factor of the learning rates at the last step."""
    stopped_early: bool
    seconds: float
    critic_passes: Sequence[Sequence[dict[str, float]]] = ()
    """Metrics as in `history`, for each pass of a critic that learns apart. Else empty: `history` has its figures."""

    @property
    def moved_nothing(self) -> bool:
        """Whether every step was skipped."""
        return bool(self.history) and not any(self.history)

    @property
    def skipped(self) -> int:
        """Steps that were skipped."""
        return sum(not entry for entry in chain(self.history, *self.critic_passes))


@phase("update")
def update(
    context: PPOContext,
    experience: Experience,
    learners: Learners,
    coefficients: KLCoefficients,
    iteration: int,
    cut_steps_left: int = 0,
    pretraining: Pretraining | None = None,
) -> UpdateResult:
    """Train the policy and the critic on the batch: in the same steps, or the critic in passes of its own after the policy.

    A minibatch with a loss or gradient that is not finite moves no weight. Then `learners.on_not_finite` either returns,
    and the minibatch is skipped, or raises. A gradient that overflowed in float16 always skips the minibatch.
    """
    began = time.perf_counter()
    spec, history, old_BR = context.spec, list[dict[str, float]](), experience.scored.old_logprobs_BR
    only_critic, factor, stopped_early = spec.only_critic_learns(iteration), 1.0, False
    last_pass, count, apart = _no_pass(experience.advantages_BR), len(experience.scored.batch), spec.critic_learns_apart
    learning = learners.policy_alone() if apart else learners
    plan = () if apart and only_critic else minibatches(count, spec, iteration, context.seed)
    for step, rows in enumerate(plan):
        minibatch = Minibatch.select(experience, rows, spec, coefficients)
        entry: dict[str, float] = {}
        history.append(entry)
        try:
            metrics, tokens = minibatch.accumulate(learning, only_critic)
            for values_BR, found_BR in zip(last_pass, tokens, strict=True):
                values_BR[minibatch.rows_B] = found_BR.to(values_BR)
            if old_BR is None:  # the only step of this iteration, over all rows
                old_BR = torch.empty_like(tokens.old_logprobs_BR)
                old_BR[minibatch.rows_B] = tokens.old_logprobs_BR
            entry |= metrics
            approxkl = entry.get("approxkl", 0.0)
            if exceeds_target_kl(approxkl, spec.guards):
                learning.drop_gradients()
                stopped_early = True
                break
            cut_steps_left = steps_at_cut_rate(cut_steps_left, approxkl, spec.guards)
            factor = spec.guards.lr_cut_factor if cut_steps_left else 1.0
            if pretraining is not None and not only_critic:
                entry["ptx_loss"] = pretraining.accumulate(learning.policy.model, iteration, step)
            if norms := learning.take_step(iteration, factor, only_critic):
                entry |= norms
                cut_steps_left = max(0, cut_steps_left - 1)
            else:  # it overflowed in float16
                entry.clear()
        except Diverged as error:
            _skip_or_raise(learning, iteration, error)
            entry.clear()
    if old_BR is None:  # the only step was skipped: the policy is still π_old
        old_BR = response_logprobs(context, learners.policy.model, experience.scored.batch)
    experience = replace(experience, scored=replace(experience.scored, old_logprobs_BR=old_BR))
    critic_passes = _train_critic(context, experience, learners.in_turn(), coefficients, iteration) if apart else ()
    last = None if only_critic else last_pass
    seconds = time.perf_counter() - began
    return UpdateResult(experience, history, last, cut_steps_left, factor, stopped_early, seconds, critic_passes)


def _train_critic(
    context: PPOContext, experience: Experience, learners: Learners, coefficients: KLCoefficients, iteration: int
) -> Sequence[Sequence[dict[str, float]]]:
    """Train a critic that learns apart from the policy. Return the metrics of each pass, as `UpdateResult.history` has them."""
    spec, found = context.spec.of_critic, list[list[dict[str, float]]]()
    for steps in passes(len(experience.scored.batch), spec, iteration, context.seed):
        found.append([])
        for rows in steps:
            entry: dict[str, float] = {}
            found[-1].append(entry)
            try:
                minibatch = Minibatch.select(experience, rows, spec, coefficients)
                entry |= minibatch.accumulate(learners, only_critic=True)[0]
                if norms := learners.take_step(iteration, 1.0, only_critic=True):
                    entry |= norms
                else:
                    entry.clear()
            except Diverged as error:
                _skip_or_raise(learners, iteration, error)
                entry.clear()
    return found


def _skip_or_raise(learners: Learners, iteration: int, error: Diverged) -> None:
    """Drop the gradients of a step that is not finite, if it may be skipped."""
    learners.on_not_finite(iteration + 1, error)
    learners.drop_gradients()


def _no_pass(like_BR: Tensor) -> PerToken:
    """No clip, and no number: a minibatch that was skipped leaves its tokens so."""
    unknown_BR = torch.full_like(like_BR, torch.nan)
    return PerToken(torch.zeros_like(like_BR, dtype=torch.bool), unknown_BR, unknown_BR.clone(), unknown_BR.clone())


def passes(count: int, spec: PPOSpec, iteration: int, seed: int) -> Iterator[Sequence[list[int]]]:
    """Yield the rows of each optimizer step of each pass, at least one row; each pass has its own random order.

    A pass has at most `minibatches` steps, also where fewer responses than `batch_size` have a value.
    """
    for epoch in range(spec.epochs):
        order_B = torch.randperm(count, generator=generator(seed, "minibatches", iteration, epoch))
        yield [rows_B.tolist() for rows_B in order_B.split(-(-count // spec.minibatches))]


def minibatches(count: int, spec: PPOSpec, iteration: int, seed: int) -> Iterator[list[int]]:
    """Yield the rows of each optimizer step, pass by pass."""
    return chain.from_iterable(passes(count, spec, iteration, seed))


def exceeds_target_kl(approxkl: float, spec: GuardsSpec) -> bool:
    """Whether early stopping ends the iteration before this minibatch's step."""
    return spec.target_kl is not None and approxkl > spec.target_kl


def steps_at_cut_rate(left: int, approxkl: float, spec: GuardsSpec) -> int:
    """Optimizer steps at a cut rate from this one on. The count starts again whenever the KL exceeds the threshold."""
    return spec.lr_cut_steps if spec.lr_cut_kl is not None and approxkl > spec.lr_cut_kl else left


def kl_to_old_policy(context: PPOContext, experience: Experience) -> float | None:
    """KL(π_old ‖ π) after the update, in nats per token, by a forward pass of its own; None if no controller needs it."""
    if context.spec.policy_loss.old_kl_target is None and not context.spec.rate_adapts:
        return None
    scored, mask_BR = experience.scored, experience.scored.batch.mask_BR
    logprobs_BR = response_logprobs(context, context.models.policy, scored.batch)
    return float(masked_mean(old_policy_kl(log_ratios(logprobs_BR, scored.logprobs_BR, mask_BR)), mask_BR))
