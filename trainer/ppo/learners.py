"""Who learns in PPO, each with its optimizer."""

from dataclasses import dataclass

from torch import Tensor

from trainer.learner import Learner
from trainer.ppo.actors import Actors
from trainer.ppo.value_head import ValueHead
from trainer.spec import PPOSpec


@dataclass(frozen=True)
class Learners:
    """The policy, and the critic: a learner of its own, or a head that learns with the policy, or none."""

    policy: Learner
    critic: Learner | None
    value_head: ValueHead | None

    @classmethod
    def of(cls, actors: Actors, spec: PPOSpec) -> "Learners":
        head = actors.critic if isinstance(actors.critic, ValueHead) else None
        policy = Learner(actors.policy, spec, spec.steps, eps=spec.adam_eps, head=head)
        if actors.critic is None or head is not None:
            return cls(policy, None, head)
        return cls(
            policy, Learner(actors.critic, spec, spec.steps, peak=spec.critic.learning_rate, eps=spec.adam_eps), None
        )

    def state(self) -> dict[str, dict[str, Tensor]]:
        """Optimizer moments by name."""
        optimizers = {"policy_optimizer": self.policy.state()}
        return optimizers if self.critic is None else optimizers | {"critic_optimizer": self.critic.state()}

    def take_step(self, iteration: int, factor: float, only_critic: bool) -> dict[str, float]:
        """One optimizer step of everyone who has a gradient, at `factor` × the rates of `iteration`; the gradient norms."""
        norms = {}
        if not only_critic or self.value_head is not None:
            norms["grad_norm"] = self.policy.update(iteration, factor)
        if self.critic is not None:
            norms["critic_grad_norm"] = self.critic.update(iteration, factor)
        return norms

    def forget(self) -> None:
        """Drop all accumulated gradients."""
        for learner in (self.policy, self.critic):
            if learner is not None:
                learner.forget()
