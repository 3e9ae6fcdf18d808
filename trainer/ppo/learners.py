"""The models that learn in PPO, each with its optimizer."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from torch import Tensor

from trainer.distributed.cpu_threads import SEQUENTIAL, PairedExecutor
from trainer.errors import Diverged
from trainer.models.heads import ValueHead
from trainer.optim.learner import Learner
from trainer.rollout.context import PPOModels
from trainer.spec import PPOSpec

OnNotFinite = Callable[[int, Diverged], None]
"""Called with the iteration (1-based) if a loss or gradient is not finite. Returns if the optimizer step may be skipped."""


def always_raise(step: int, error: Diverged) -> None:
    """Skip no optimizer step: the run has diverged."""
    raise error


@dataclass(frozen=True)
class Learners:
    """The policy and the critic: a learner of its own, or a head that learns with the policy, or none."""

    policy: Learner
    critic: Learner | None
    value_head: ValueHead | None
    on_not_finite: OnNotFinite = always_raise
    pair: PairedExecutor = SEQUENTIAL
    """Runs the policy's and a separate critic's work in turn or at the same time."""

    @classmethod
    def build(cls, models: PPOModels, spec: PPOSpec, scales: "Learners | None" = None) -> "Learners":
        """Create fresh optimizers for the models that learn. `scales`: learners whose loss scales they take over."""
        head = models.critic if isinstance(models.critic, ValueHead) else None
        policy = Learner(models.policy, spec, spec.steps, eps=spec.adam_eps, head=head, world=models.world)
        policy.follow_scale(None if scales is None else scales.policy)
        if models.critic is None or head is not None:
            return cls(policy, None, head)
        critic = Learner(models.critic, spec.of_critic, spec.steps, eps=spec.adam_eps, world=models.world)
        critic.follow_scale(None if scales is None else scales.critic)
        return cls(policy, critic, None, pair=models.pair)

    def policy_alone(self) -> "Learners":
        """The learners without the critic, for passes of the policy alone."""
        return replace(self.in_turn(), critic=None)

    def in_turn(self) -> "Learners":
        """The same learners, of which never two work at the same time."""
        return replace(self, pair=SEQUENTIAL)

    def state(self) -> dict[str, dict[str, Tensor]]:
        """Return the optimizer moments by name, for a checkpoint."""
        optimizers = {"policy_optimizer": self.policy.state()}
        return optimizers if self.critic is None else optimizers | {"critic_optimizer": self.critic.state()}

    def take_step(self, iteration: int, factor: float, only_critic: bool) -> dict[str, float]:
        """Take one optimizer step of every model with a gradient, at `factor` × the iteration's rates.

        Returns the gradient norms, or {} if a gradient overflowed in float16 and the step was left out. Raises Diverged, before
        any weight moves, if a gradient is not finite otherwise.
        """
        policy = self.policy if not only_critic or self.value_head is not None else None

        def clip(learner: Learner | None) -> float | None:
            return None if learner is None else learner.clip(iteration)

        def step(learner: Learner | None) -> None:
            if learner is not None:
                learner.take_step(iteration, factor)

        # all gradients are checked before any weight moves, so that a step is taken whole or not at all
        norms = zip(
            ("grad_norm", "critic_grad_norm"), self.pair(lambda: clip(policy), lambda: clip(self.critic)), strict=True
        )
        finite = {name: norm for name, norm in norms if norm is not None}
        if math.inf in finite.values():
            self.drop_gradients()
            return {}
        self.pair(lambda: step(policy), lambda: step(self.critic))
        return finite

    @property
    def scale_metrics(self) -> dict[str, float]:
        """The loss scales and the steps left out so far; {} unless the models compute in float16."""
        critic = {} if self.critic is None else self.critic.scale_metrics
        return self.policy.scale_metrics | {f"critic_{name}": value for name, value in critic.items()}

    def retune(self, policy: float, critic: float) -> None:
        """Take these peak learning rates of the policy and of a separate critic from the next step on."""
        self.policy.peak = policy
        if self.critic is not None:
            self.critic.peak = critic

    def drop_gradients(self) -> None:
        """Drop all accumulated gradients."""
        for learner in (self.policy, self.critic):
            if learner is not None:
                learner.forget()
