"""Who learns in PPO, each with its optimizer."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from torch import Tensor

from trainer.distributed.cpu_threads import SEQUENTIAL, PairedExecutor
from trainer.errors import Diverged
from trainer.models.heads import ValueHead
from trainer.optim.learner import Learner
from trainer.rollout.context import PPOModels
from trainer.spec import PPOSpec

LeaveOut = Callable[[int, Diverged], None]
"""Hears of a loss or gradient of an iteration (1-based) that is not finite; returns if the step is just to be left out."""


def never(step: int, trouble: Diverged) -> None:
    """No step is left out: the run has diverged."""
    raise trouble


@dataclass(frozen=True)
class Learners:
    """The policy, and the critic: a learner of its own, or a head that learns with the policy, or none."""

    policy: Learner
    critic: Learner | None
    value_head: ValueHead | None
    leave_out: LeaveOut = never
    pair: PairedExecutor = SEQUENTIAL
    """How the policy and a separate critic share the time."""

    @classmethod
    def of(cls, actors: PPOModels, spec: PPOSpec) -> "Learners":
        head = actors.critic if isinstance(actors.critic, ValueHead) else None
        policy = Learner(actors.policy, spec, spec.steps, eps=spec.adam_eps, head=head, world=actors.world)
        if actors.critic is None or head is not None:
            return cls(policy, None, head)
        rate = spec.critic.learning_rate
        critic = Learner(actors.critic, spec, spec.steps, peak=rate, eps=spec.adam_eps, world=actors.world)
        return cls(policy, critic, None, pair=actors.pair)

    def state(self) -> dict[str, dict[str, Tensor]]:
        """Optimizer moments by name."""
        optimizers = {"policy_optimizer": self.policy.state()}
        return optimizers if self.critic is None else optimizers | {"critic_optimizer": self.critic.state()}

    def take_step(self, iteration: int, factor: float, only_critic: bool) -> dict[str, float]:
        """One optimizer step of everyone who has a gradient, at `factor` × the rates of `iteration`; the gradient norms.

        Raises Diverged, no one having moved, when a gradient is not finite.
        """
        policy = self.policy if not only_critic or self.value_head is not None else None

        def clip(learner: Learner | None) -> float | None:
            return None if learner is None else learner.clip(iteration)

        def step(learner: Learner | None) -> None:
            if learner is not None:
                learner.take_step(iteration, factor)

        # all are looked at before any moves: a step is taken whole or not at all
        norms = zip(
            ("grad_norm", "critic_grad_norm"), self.pair(lambda: clip(policy), lambda: clip(self.critic)), strict=True
        )
        found = {name: norm for name, norm in norms if norm is not None}
        self.pair(lambda: step(policy), lambda: step(self.critic))
        return found

    def at(self, rate_factor: float, leave_out: LeaveOut) -> "Learners":
        """The same with all rates multiplied, who say of what is not finite to `leave_out`."""
        for learner in (self.policy, self.critic):
            if learner is not None:
                learner.peak *= rate_factor
        return replace(self, leave_out=leave_out)

    def forget(self) -> None:
        """Drop all accumulated gradients."""
        for learner in (self.policy, self.critic):
            if learner is not None:
                learner.forget()
