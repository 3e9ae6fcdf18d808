"""PPO's update: several passes over one batch of experience, in minibatches."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from trainer.distributed import SINGLE, World
from trainer.errors import Diverged
from trainer.models import Model
from trainer.models.sequences import masked_mean
from trainer.ppo.experience import Experience
from trainer.ppo.kl import old_policy_kl
from trainer.ppo.learners import Learners
from trainer.ppo.losses import log_ratios
from trainer.ppo.minibatch import Coefficients, Minibatch
from trainer.ppo.ptx import Pretraining
from trainer.randomness import generator
from trainer.rollout.batch import logprobs_of
from trainer.spec import GuardsSpec, PPOSpec


@dataclass(frozen=True)
class UpdateResult:
    """What an update did."""

    experience: Experience
    """What it learnt from, π_old included."""
    history: list[dict[str, float]]
    """Of each minibatch, in order; one whose step was not taken has no gradient norm, one left out nothing at all."""
    clipped_BR: Tensor
    """Where a clip decided the policy's loss, in the last pass that came to each response."""
    cut_steps_left: int
    rate_factor: float
    """Of the learning rates, at the last step."""
    stopped_early: bool


def update(
    experience: Experience,
    learners: Learners,
    spec: PPOSpec,
    iteration: int,
    seed: int,
    coefficients: Coefficients,
    cut_left: int = 0,
    pretraining: Pretraining | None = None,
) -> UpdateResult:
    """Train whoever learns on the batch. `cut_left` optimizer steps more are taken at a cut rate.

    A minibatch with a loss or gradient that is not finite moves nobody; `learners.leave_out` says whether the rest goes on.
    """
    history: list[dict[str, float]] = []
    clipped_BR = torch.zeros_like(experience.advantages_BR, dtype=torch.bool)
    old_BR = experience.scored.old_logprobs_BR
    only_critic, factor, stopped_early = spec.only_critic_learns(iteration), 1.0, False
    for step, rows in enumerate(minibatches(len(experience.scored.batch), spec, iteration, seed)):
        minibatch = Minibatch.of(experience, rows, spec, coefficients)
        entry: dict[str, float] = {}
        history.append(entry)
        try:
            figures, tokens = minibatch.accumulate(learners, only_critic)
            clipped_BR[minibatch.rows_B] = tokens.clipped_BR
            if old_BR is None:  # this is the only step, of all rows
                old_BR = torch.empty_like(tokens.old_logprobs_BR)
                old_BR[minibatch.rows_B] = tokens.old_logprobs_BR
            entry |= figures
            approxkl = entry.get("approxkl", 0.0)
            if went_too_far(approxkl, spec.guards):
                learners.forget()
                stopped_early = True
                break
            cut_left = cut_steps_left(cut_left, approxkl, spec.guards)
            factor = spec.guards.lr_cut_factor if cut_left else 1.0
            if pretraining is not None and not only_critic:
                entry["ptx_loss"] = pretraining.accumulate(learners.policy.model, iteration, step)
            entry |= learners.take_step(iteration, factor, only_critic)
            cut_left = max(0, cut_left - 1)
        except Diverged as trouble:
            learners.leave_out(iteration + 1, trouble)
            learners.forget()
            entry.clear()
    if old_BR is None:  # the only step was left out: the policy is still π_old
        old_BR = logprobs_of(
            learners.policy.model, experience.scored.batch, spec.temperature, spec, learners.policy.world
        )
    experience = replace(experience, scored=replace(experience.scored, old_logprobs_BR=old_BR))
    return UpdateResult(experience, history, clipped_BR, cut_left, factor, stopped_early)


def minibatches(count: int, spec: PPOSpec, iteration: int, seed: int) -> Iterator[list[int]]:
    """Yield the rows of each optimizer step, at least one; every pass has an order of its own."""
    for epoch in range(spec.epochs):
        order_B = torch.randperm(count, generator=generator(seed, "minibatches", iteration, epoch))
        for rows_B in order_B.split(max(1, count // spec.minibatches)):
            yield rows_B.tolist()


def moved_from_old_policy(experience: Experience, policy: Model, spec: PPOSpec, world: World = SINGLE) -> float | None:
    """KL(π_old ‖ π) after the update, in nats per token, by a pass of its own; None where no β follows it."""
    if spec.policy_loss.old_kl_target is None:
        return None
    scored, mask_BR = experience.scored, experience.scored.batch.mask_BR
    logprobs_BR = logprobs_of(policy, scored.batch, spec.temperature, spec, world)
    return float(masked_mean(old_policy_kl(log_ratios(logprobs_BR, scored.logprobs_BR, mask_BR)), mask_BR))


# Brakes inside an iteration, on a minibatch's KL to the sampling policy. Pure functions.
def went_too_far(approxkl: float, spec: GuardsSpec) -> bool:
    """Whether the iteration ends here, before this minibatch's step."""
    return spec.target_kl is not None and approxkl > spec.target_kl


def cut_steps_left(left: int, approxkl: float, spec: GuardsSpec) -> int:
    """Optimizer steps at a cut rate from this one on: counted anew whenever the KL is above the threshold."""
    return spec.lr_cut_steps if spec.lr_cut_kl is not None and approxkl > spec.lr_cut_kl else left
